"""Outboxes with facts, and what the tables of them hold."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

import tidelog
from tidelog.connectors.lake.delta.library import storage_options
from tidelog.connectors.lake.iceberg.library import catalog
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.tables import Lake
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader, OutboxRow
from tidelog.plans.data.facts import Record

from .golden import Golden, stored

PROGRAM = """
timeline rational, unit 1 s, resolution 1.
output hot, seen, on.
hot(S, V) :- temp(S, V).
seen(S) :- temp(S, _).
on :- temp(_, _).
"""

Fill = Callable[..., str]


def fill_outbox(
    path: Path | str,
    node: str,
    records: Sequence[Record],
    program: str = PROGRAM,
    frontier: int = 0,
    *,
    holds_changes: bool = False,
) -> str:
    """Put facts into the outbox of a node, in one commit; returns its directory."""
    clock = iter(range(1_700_000_000_000_000, 1_800_000_000_000_000, 1_000_000)).__next__
    plan = tidelog.compile(program)
    with Outbox(os.fspath(path), plan, node=node, clock=clock, holds_changes=holds_changes) as outbox:
        outbox.append(records, frontier)
        outbox.commit(b"")
    return os.fspath(path)


def facts(seed: int, number: int) -> list[Record]:
    """Facts of a few rows that touch, overlap, come late and come twice."""
    draw = random.Random(seed)
    found: list[Record] = []
    for place in range(number):
        low = max(0, 2 * place + draw.randrange(-40, 4))
        high = low + draw.randrange(0, 9)
        row = draw.choice([("hot", ("a b", 1)), ("hot", ("a b", 1.5)), ("seen", ("x",)), ("seen", (1,)), ("on", ())])
        found.append((*row, low, high))
    return found


def rows_of(*paths: str) -> list[tuple[str, OutboxRow]]:
    """What outboxes hold, each row with its node."""
    found = []
    for path in paths:
        with OutboxReader(path) as reader:
            found += [(reader.schema().node, row) for row in reader.read(reader.first() - 1, 100_000)]
    return found


def is_taken(box: str) -> bool:
    """Whether all that an outbox had is acknowledged."""
    with OutboxReader(box) as reader:
        return reader.first() == reader.last() + 1


def table_rows(tables: str | Path, predicate: str) -> list[dict[str, Any]]:
    """The rows of a table, as a reader of Delta Lake or of Iceberg sees them."""
    uri = open_lake(os.fspath(tables)).uri(predicate)
    if os.fspath(tables).startswith("iceberg:"):
        name, _, rest = uri.partition(".")
        loaded: list[dict[str, Any]] = catalog(name).load_table(rest).scan().to_arrow().to_pylist()
        return loaded
    found: list[dict[str, Any]] = DeltaTable(uri, storage_options=storage_options(uri)).to_pyarrow_table().to_pylist()
    return found


def read_tables(tables: str | Path) -> Golden:
    """All tables, as they are compared with the golden ones."""
    lake: Lake = open_lake(os.fspath(tables))
    found: Iterable[tuple[str, list[dict[str, Any]]]] = ((name, table_rows(tables, name)) for name in lake.predicates())
    return {key: each for predicate, rows in found for key, each in stored(rows, predicate).items()}

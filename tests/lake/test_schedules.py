"""Several who write one table, in drawn orders: each commits after others have, behind what it has read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog.connectors.lake.conditions import parse_conditions
from tidelog.connectors.lake.deleting import delete
from tidelog.connectors.lake.delta.table import DeltaLakeTable
from tidelog.connectors.lake.iceberg.table import IcebergTable
from tidelog.connectors.lake.intervals import Run, coalesce
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.upkeep import compact

from .filling import table_rows
from .homes import Home, Kind
from .test_tables import parcel, row, schema, writer

BOXES = ("old", "new")
"""Two outboxes of one node, as one has that was given another program: each is taken by another process."""


def _overtaken(change: Callable[..., Any], others: Callable[[], None]) -> Callable[..., Any]:
    """A change of a table, which others come before."""

    def late(self: Any, *rest: Any) -> Any:
        others()
        return change(self, *rest)

    return late


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@drawn(50)
@given(
    facts=st.lists(st.tuples(st.sampled_from(BOXES), st.integers(0, 12), st.integers(0, 3)), min_size=2, max_size=9),
    order=st.lists(st.sampled_from([*BOXES, "compact", "delete"]), max_size=6),
    turn=st.sampled_from([BOXES, (*BOXES, "compact")]),
)
def test_rows_of_one_node_in_two_outboxes_are_merged(
    kind: Kind,
    facts: list[tuple[str, int, int]],
    order: list[str],
    turn: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Between the reading and the commit of one that writes or compacts, others write, compact or delete: rows that touch
    are one in the end, each fact counts once, and of another node no row comes back."""
    waiting: dict[str, list[tuple[int, int]]] = {box: [] for box in BOXES}
    for box, low, length in facts:
        waiting[box].append((low, low + length))
    told = dict.fromkeys(BOXES, 0)
    steps = list(order)

    def step(what: str, *, by_another: bool = False) -> None:
        table = open_lake(place).open("hot")
        if what in BOXES and told[what] < len(waiting[what]):
            told[what] += 1
            number = told[what]
            rows = [row(each, *waiting[what][each - 1]) for each in range(1, number + 1)]  # none is acknowledged yet
            one = writer(place) if by_another else writers[what]
            one.write([parcel(rows, of=schema(box=what, timeline="integer"))])
        elif table is not None and what == "compact":
            compact(table, 1 << 20)
        elif table is not None and what == "delete":
            delete(table, [parse_conditions("node = 'other'")])

    def be_overtaken() -> None:
        if steps:
            step(steps.pop(), by_another=True)  # no ingester begins a batch within one of its own

    with pytest.MonkeyPatch.context() as patch:
        place = Home(kind, tmp_path_factory.mktemp("homes") / "own", patch).tables
        writer(place).write([parcel([row(1, 0, 40)], of=schema("other", "third", timeline="integer"))])
        writers = {box: writer(place) for box in BOXES}
        for table in (DeltaLakeTable, IcebergTable):
            for name in ("replace", "compact"):
                patch.setattr(table, name, _overtaken(getattr(table, name), be_overtaken))
        while any(told[box] < len(waiting[box]) for box in BOXES):
            for what in turn:
                step(what)
        step("delete")
        found = [(each["start"], each["end"]) for each in table_rows(place, "hot")]
    runs = [Run((), str(low), str(high), False, False, 1, 1, None, 1, "") for each in waiting.values() for low, high in each]
    assert sorted(found) == sorted((run.start, run.end) for run in coalesce(runs, integer=True))

"""The file of an outbox: its tables, and what is read and written in them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from tidelog.connectors.store.stored_file import META, StoredFile, encode
from tidelog.plans.data.facts import PredicateSchema
from tidelog.plans.data.forms import OUTBOX_FILE
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan

_TABLES = (
    'CREATE TABLE facts (seq INTEGER PRIMARY KEY, predicate TEXT NOT NULL, arguments TEXT NOT NULL, start TEXT, "end" TEXT, '
    "start_open INTEGER NOT NULL, end_open INTEGER NOT NULL, horizon TEXT, emitted_at INTEGER NOT NULL, "
    "bytes INTEGER NOT NULL, checksum INTEGER NOT NULL)",
    META,
)
"""The facts, each with the bytes of all facts up to it; and `meta`."""


FILE = "outbox.sqlite"
"""What an outbox is called in its folder."""


class OutboxRow(NamedTuple):
    """A derived fact as the outbox holds it.

    `seq` counts from 1 without a gap. `arguments` is a JSON array; `start` and `end` are exact numbers as text (`5/2`), None
    where the interval has no end on that side. The stream was complete before `horizon` (a number as text, or `inf`) when
    the fact was told; None if nothing was promised yet. `emitted_at` is in microseconds since 1970, UTC.
    """

    seq: int
    predicate: str
    arguments: str
    start: str | None
    end: str | None
    start_open: bool
    end_open: bool
    horizon: str | None
    emitted_at: int


class OutboxPredicate(msgspec.Struct, frozen=True):
    """An output predicate: its arity, and the fields and types that the program declares (none if it does not)."""

    arity: int
    fields: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class OutboxSchema(msgspec.Struct, frozen=True):
    """What the facts of an outbox look like, and whose they are.

    `node` names the process that derived them, `identity` this very outbox (another one, even in the same directory, has
    another). `timeline` is `integer` or `rational`; `unit` is the exact number of seconds, as text, that the number 1 stands
    for, times then counting from 1970 (UTC), or None where the program does not say. With `holds_changes`, a row without an
    `end` says no more than that it begins, and another says later when it has ended.
    """

    node: str
    identity: str
    timeline: str
    unit: str | None
    predicates: dict[str, OutboxPredicate]
    holds_changes: bool = False

    def check_facts(self, place: str) -> None:
        """SpecError where the rows of this outbox are changes, of which no one can tell what holds until they have ended."""
        if self.holds_changes:
            raise SpecError(
                f"outbox `{place}` holds changes: only `--emit intervals`, `final` and `points` fill it with facts"
            )


def describe(plan: Plan, node: str, identity: str, *, holds_changes: bool = False) -> OutboxSchema:
    """The schema of the outbox of a plan."""
    unit = None if plan.timeline.unit is None else str(plan.timeline.unit)
    known = plan.schema.predicates
    outputs = {name: _describe_predicate(known[name]) for name in plan.told}
    return OutboxSchema(node, identity, plan.timeline.kind, unit, outputs, holds_changes)


def _describe_predicate(schema: PredicateSchema) -> OutboxPredicate:
    return OutboxPredicate(schema.arity, schema.fields, tuple(schema.types))


class OutboxFile(StoredFile):
    """One connection to an outbox's file. Used by one thread at a time."""

    what, file, form, tables = "outbox", FILE, OUTBOX_FILE, _TABLES

    def insert(self, rows: list[tuple[OutboxRow, int]]) -> None:
        """Store facts, each with the bytes of all up to it."""
        statement = "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.executemany(statement, ((*row, total, _row_checksum(row, total)) for row, total in rows))

    def facts(self, after: int, limit: int) -> Iterator[tuple[OutboxRow, int]]:
        """The facts behind a number, in order, each with the bytes of all up to it. ConnectorError where one is missing,
        or is not what was written. Within `reading` or `transaction`."""
        last = min(self.number("next_seq") - 1, after + limit)
        cursor = self.execute("SELECT * FROM facts WHERE seq > ? AND seq <= ? ORDER BY seq", (after, last))
        try:
            for expected in range(after + 1, last + 1):
                columns = cursor.fetchone()
                if columns is None or columns[0] != expected:
                    raise self.damaged(f"fact number {expected} is missing")
                yield self._checked(columns)
        finally:
            cursor.close()

    def total(self, seq: int) -> int:
        """The bytes of all facts up to this one, which is there. Within `reading` or `transaction`."""
        ((_, total),) = self.facts(seq - 1, 1)
        return total

    def _checked(self, columns: tuple[Any, ...]) -> tuple[OutboxRow, int]:
        seq, predicate, arguments, start, end, left, right, horizon, emitted_at, total, checksum = columns
        row = OutboxRow(seq, predicate, arguments, start, end, bool(left), bool(right), horizon, emitted_at)
        if _row_checksum(row, total) != checksum:
            raise self.damaged(f"fact number {row.seq} is not what was written")
        return row, total


def _row_checksum(row: OutboxRow, total: int) -> int:
    return zlib.crc32(encode((row, total)))

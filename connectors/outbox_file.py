"""The file of an outbox: its tables, how it is opened, and what is read and written in it.

SQLite, since one file holds facts, positions and state in one transaction, and a reader in another process sees only what
is committed. In WAL mode with `synchronous=FULL` a commit is on the disk before it counts, and readers and the writer do
not wait for each other; both survive a killed process and a power failure.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from tidelog.plans.errors import ConnectorError, SpecError
from tidelog.plans.facts import PredicateSchema
from tidelog.plans.plan import Plan

FORMAT = 1
"""The version of the tables."""
_WAITING = 30.0
"""How many seconds one transaction waits for another: both are short."""
_WAL_BYTES = 64_000_000
"""To what size the write-ahead log is cut once all of it has been taken over."""

_TABLES = (
    'CREATE TABLE facts (seq INTEGER PRIMARY KEY, predicate TEXT NOT NULL, arguments TEXT NOT NULL, start TEXT, "end" TEXT, '
    "start_open INTEGER NOT NULL, end_open INTEGER NOT NULL, horizon TEXT, emitted_at INTEGER NOT NULL, "
    "bytes INTEGER NOT NULL)",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
)
"""The facts, each with the bytes of all facts up to it; and what else there is to know, by name."""

MetaValue = str | int | bytes


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
    outputs = {name: _describe_predicate(known[name]) for name in plan.outputs}
    return OutboxSchema(node, identity, plan.timeline.kind, unit, outputs, holds_changes)


def _describe_predicate(schema: PredicateSchema) -> OutboxPredicate:
    return OutboxPredicate(schema.arity, schema.fields, tuple(schema.types))


class OutboxFile:
    """One connection to an outbox's file. Used by one thread at a time.

    Every method raises ConnectorError where the file is damaged or the disk is full. `create` makes the file where there is
    none; without it that is a SpecError.
    """

    def __init__(self, folder: str, *, create: bool = False) -> None:
        self.folder = folder
        path = os.path.join(folder, FILE)
        if not create and not os.path.isfile(path):
            raise SpecError(f"there is no outbox in `{folder}`")
        with self.watched():
            self._connection = sqlite3.connect(path, timeout=_WAITING, isolation_level=None, check_same_thread=False)
            try:
                self._configure(create)
            except BaseException:
                self._connection.close()
                raise

    def _configure(self, create: bool) -> None:
        if create and self.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
            raise ConnectorError(f"outbox `{self.folder}`: its file system does not let processes share a file in memory")
        self.execute("PRAGMA synchronous=FULL")
        self.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")
        if not self.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            if not create:  # the process that was to make it has not come so far
                raise SpecError(f"there is no outbox in `{self.folder}`")
            return
        version = self.get("format")
        if version != FORMAT:
            raise SpecError(f"outbox `{self.folder}` has format {version!r}, and this version reads {FORMAT}")

    @property
    def is_new(self) -> bool:
        """Whether it has no tables yet."""
        return not self.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()

    def create(self, values: dict[str, MetaValue]) -> None:
        """Make the tables, and what `meta` begins with, all at once."""
        with self.transaction():
            for statement in _TABLES:
                self.execute(statement)
            self.put({"format": FORMAT, "next_seq": 1, "acked": 0, "acked_bytes": 0, **values})

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def insert(self, rows: list[tuple[OutboxRow, int]]) -> None:
        """Store facts, each with the bytes of all up to it."""
        statement = "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.executemany(statement, ((*row, total) for row, total in rows))

    def get(self, key: str) -> MetaValue | None:
        row = self.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def number(self, key: str) -> int:
        """A number of `meta`; ConnectorError where it is none."""
        value = self.get(key)
        if not isinstance(value, int):
            raise ConnectorError(f"outbox `{self.folder}` is damaged: `{key}` is missing")
        return value

    def text(self, key: str) -> str:
        """A text of `meta`; ConnectorError where it is none."""
        value = self.get(key)
        if not isinstance(value, str):
            raise ConnectorError(f"outbox `{self.folder}` is damaged: `{key}` is missing")
        return value

    def put(self, values: dict[str, MetaValue]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, or nothing."""
        with self.watched():
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it already
                    self.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read inside is of one moment."""
        with self.watched():
            self.execute("BEGIN")
            try:
                yield
            finally:
                self.execute("ROLLBACK")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """What SQLite raises inside, as a ConnectorError."""
        try:
            yield
        except sqlite3.Error as error:
            raise ConnectorError(f"outbox `{self.folder}`: {error}") from error

    def close(self) -> None:
        with self.watched():
            self._connection.close()

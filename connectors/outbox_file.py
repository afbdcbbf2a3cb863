"""The file of an outbox: its tables, how it is opened, and what is read and written in it.

SQLite, since one file holds facts, positions and state in one transaction, and a reader in another process sees only what
is committed. In WAL mode with `synchronous=FULL` a commit is on the disk before it counts, and readers and the writer do
not wait for each other; both survive a killed process and a power failure. Each fact, and whatever else is stored, has a
checksum, since SQLite has none: what a disk gives back is what was written, or is told to be damaged.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec

from tidelog.connectors.outbox_lock import identity
from tidelog.plans.errors import ConnectorError, SpecError
from tidelog.plans.facts import PredicateSchema
from tidelog.plans.plan import Plan

FORMAT = 2
"""The version of the tables."""
_WAITING = 30.0
"""How many seconds one transaction waits for another: both are short."""
_WAL_BYTES = 64_000_000
"""To what size the write-ahead log is cut once all of it has been taken over."""

_TABLES = (
    'CREATE TABLE facts (seq INTEGER PRIMARY KEY, predicate TEXT NOT NULL, arguments TEXT NOT NULL, start TEXT, "end" TEXT, '
    "start_open INTEGER NOT NULL, end_open INTEGER NOT NULL, horizon TEXT, emitted_at INTEGER NOT NULL, "
    "bytes INTEGER NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value, checksum INTEGER NOT NULL) WITHOUT ROWID",
)
"""The facts, each with the bytes of all facts up to it; and what else there is to know, by name."""

MetaValue = str | int | bytes
V = TypeVar("V", str, int, bytes)

_encode = msgspec.msgpack.Encoder().encode

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
        self._paths = (path, f"{path}-wal")
        self.is_new = False
        """Whether it has no tables yet."""
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
        if create and self.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
            raise ConnectorError(f"outbox `{self.folder}`: its file system does not let processes share a file in memory")
        self.execute("PRAGMA synchronous=FULL")
        self.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")
        tables = self.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
        self.is_new = not tables
        if self.is_new and not create:  # the process that was to make it has not come so far
            raise SpecError(f"there is no outbox in `{self.folder}`")
        if tables:
            self._check_format(tables)
        self._identities = {path: identity(path) for path in self._paths}

    def _check_format(self, tables: list[tuple[str]]) -> None:
        (version,) = self.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() or (None,)
        if version is not None and version != FORMAT:
            hint = "let what it holds be taken with the version that wrote it, then choose another directory"
            raise SpecError(f"outbox `{self.folder}` has format {version!r}, and this version reads {FORMAT}: {hint}")
        if version is None or tables != [(statement,) for statement in _TABLES]:
            raise self.damaged("its tables are not those that were made")

    def create(self, values: dict[str, MetaValue]) -> None:
        """Make the tables, and what `meta` begins with, all at once."""
        with self.transaction():
            for statement in _TABLES:
                self.execute(statement)
            self.put({"format": FORMAT, "commits": 0, "next_seq": 1, "acked": 0, "acked_bytes": 0, **values})

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def damaged(self, what: str) -> ConnectorError:
        """The error for contents that are not what was written."""
        return ConnectorError(f"outbox `{self.folder}` is damaged: in `{FILE}`, {what}")

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

    def _get(self, key: str, kind: type[V]) -> V:
        """What `meta` holds; ConnectorError where it is missing, or not what was written."""
        row = self.execute("SELECT value, checksum FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise self.damaged(f"`{key}` is missing")
        if not isinstance(row[0], kind) or _meta_checksum(key, row[0]) != row[1]:
            raise self.damaged(f"`{key}` is not what was written")
        return row[0]

    def number(self, key: str) -> int:
        """A number of `meta`; ConnectorError where it is none."""
        return self._get(key, int)

    def text(self, key: str) -> str:
        """A text of `meta`; ConnectorError where it is none."""
        return self._get(key, str)

    def blob(self, key: str) -> bytes:
        """Bytes of `meta`; ConnectorError where there are none."""
        return self._get(key, bytes)

    def put(self, values: dict[str, MetaValue]) -> None:
        rows = ((key, value, _meta_checksum(key, value)) for key, value in values.items())
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", rows)

    def check(self) -> None:
        """ConnectorError where its files have gone, or others stand in their place: what was written would be lost."""
        for path, before in self._identities.items():
            now = identity(path)
            if before is None:  # the log is made when it is needed
                self._identities[path] = now
            elif now != before:
                name = os.path.basename(path)
                raise ConnectorError(f"outbox `{self.folder}`: `{name}` was removed while it was in use")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, or nothing."""
        self.check()
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
        self.check()
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
        except (sqlite3.Error, UnicodeError) as error:  # a text, or a message about one, may be damaged as well
            raise ConnectorError(f"outbox `{self.folder}`: {error}") from error

    def close(self) -> None:
        with self.watched():
            self._connection.close()


def _row_checksum(row: OutboxRow, total: int) -> int:
    return zlib.crc32(_encode((row, total)))


def _meta_checksum(key: str, value: MetaValue) -> int:
    data = value if isinstance(value, bytes) else _encode(value)
    return zlib.crc32(data, zlib.crc32(_encode((key, type(value).__name__))))

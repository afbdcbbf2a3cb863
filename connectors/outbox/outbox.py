"""The outbox: derived facts in a directory, numbered without a gap, kept until whoever reads them acknowledges them.

One process writes (`Outbox`), others read and acknowledge (`OutboxReader`). With each commit the writer stores facts and the
state from which it can go on, in one transaction: so after a crash no fact is missing and none is there twice.
"""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Literal

import msgspec

from tidelog.connectors.formats.formatting import exact_ends
from tidelog.connectors.outbox.file import OutboxFile, OutboxRow, OutboxSchema, describe
from tidelog.connectors.outbox.spec import MAX_BYTES, MAX_ROWS
from tidelog.connectors.store.stored_lock import WriterLock, commits_noted
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import is_same_program, pack_plan, unpack_plan

__all__ = ["Outbox", "OutboxReader", "OutboxRow", "OutboxSchema"]

READ_ROWS = 10_000
"""How many facts one call of `read` returns at most, unless told otherwise."""
_ROW_BYTES = 64
"""What a fact counts besides its text."""
MAX_CHECKPOINT = 900_000_000
"""How many bytes a checkpoint may have: SQLite holds up to a billion in one value."""
_DELETED_AT_ONCE = 10_000

Clock = Callable[[], int]


def _now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000


class Outbox:
    """The writer's side: `append` facts, then `commit` them together with a checkpoint.

    There is one writer at a time: SpecError where another process has it open, or where it was filled by another program,
    under another name (`node`, by default the host's), or with changes where now it is not
    (`holds_changes`), or the other way round. It holds up to `max_bytes` and `max_rows`, more only by what one commit
    brings; `full` is what to do then: `block` the stream until there is room, or `stop`.
    ConnectorError where the file is damaged or the disk is full; then nothing of that commit is stored.
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        path: str,
        plan: Plan,
        *,
        node: str | None = None,
        max_bytes: int = MAX_BYTES,
        max_rows: int = MAX_ROWS,
        full: Literal["block", "stop"] = "block",
        holds_changes: bool = False,
        clock: Clock = _now,
    ) -> None:
        self.name = path
        self.full = full
        self._holds_changes = holds_changes
        self._max_bytes, self._max_rows, self._clock = max_bytes, max_rows, clock
        self._encoder = _RowEncoder(plan.timeline)
        self._pending: list[tuple[OutboxRow, int]] = []
        self._lock = WriterLock(path, OutboxFile.what)
        try:
            self._file = OutboxFile(path, create=True)
            try:
                self._begin(plan, node)
            except BaseException:
                self._file.close()
                raise
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, plan: Plan, node: str | None) -> None:
        file = self._file
        if file.is_new:
            file.check_commits(0, commits_noted(self.name, file.what))
            name, identity = node or socket.gethostname() or "localhost", uuid.uuid4().hex
            schema = describe(plan, name, identity, holds_changes=self._holds_changes)
            text = msgspec.json.encode(schema).decode()
            file.create(
                {
                    "next_seq": 1,
                    "acked": 0,
                    "acked_bytes": 0,
                    "node": schema.node,
                    "plan": pack_plan(plan),
                    "schema": text,
                    "bytes": 0,
                }
            )
        with file.reading():
            if not is_same_program(unpack_plan(file.blob("plan"), f"outbox `{self.name}`", plan), plan):
                raise SpecError(f"outbox `{self.name}` was filled by another program: choose another directory")
            if _schema_of(file).holds_changes != self._holds_changes:
                raise SpecError(f"outbox `{self.name}` was filled with another `emit`: go on with the same")
            if node not in (None, file.text("node")):
                raise SpecError(f"outbox `{self.name}` is that of node `{file.text('node')}`, not of `{node}`")
            self._commits, self._next, self._bytes = file.number("commits"), file.number("next_seq"), file.number("bytes")
            file.check_commits(self._commits, commits_noted(self.name, file.what))
            if self._next - 1 > file.number("acked") and file.total(self._next - 1) != self._bytes:
                raise file.damaged("`bytes` is not that of the last fact")
        file.empty_log()

    @property
    def pending(self) -> int:
        """How many facts wait to be committed."""
        return len(self._pending)

    def append(self, records: Sequence[Record], frontier: int) -> None:
        """Take facts that became known when the stream was complete up to `frontier` (encoded); stored with `commit`.

        ValueError for changes, unless it holds them, and for anything else where it does. DataError where one cannot be
        stored: then none is taken.
        """
        if not records:
            return
        if isinstance(records[0], ChangeRecord) != self._holds_changes:
            raise ValueError(
                f"outbox `{self.name}` expects {'changes' if self._holds_changes else 'facts'}: say so at its begin"
            )
        now, horizon = self._clock(), self._encoder.horizon(frontier)
        first = self._next + len(self._pending)
        for row in [self._encoder.row(seq, record, horizon, now) for seq, record in enumerate(records, first)]:
            self._bytes += _size(row)
            self._pending.append((row, self._bytes))

    def commit(self, checkpoint: bytes) -> None:
        """Store what was appended, and the checkpoint in place of the last, at once and for good."""
        if len(checkpoint) > MAX_CHECKPOINT:
            raise ConnectorError(f"outbox `{self.name}`: the state has {len(checkpoint)} bytes, {MAX_CHECKPOINT} at most")
        self._lock.check()
        following = self._next + len(self._pending)
        with self._file.transaction():
            self._file.insert(self._pending)
            self._file.put(
                {"commits": self._commits + 1, "next_seq": following, "bytes": self._bytes, "checkpoint": checkpoint}
            )
        self._next = following
        self._commits += 1
        self._pending.clear()
        self._lock.note(self._commits)

    def checkpoint(self) -> bytes | None:
        """The last one committed; None before the first."""
        with self._file.watched():
            return self._file.blob("checkpoint") if self._commits else None

    def check(self) -> None:
        """ConnectorError where its files have been removed."""
        self._lock.check()
        self._file.check()

    def has_room(self) -> bool:
        """Whether it holds less than it may; with what is pending."""
        file = self._file
        with file.reading():
            acked, acked_bytes = file.number("acked"), file.number("acked_bytes")
        rows = self._next + len(self._pending) - 1 - acked
        return self._bytes - acked_bytes < self._max_bytes and rows < self._max_rows

    def close(self) -> None:
        """Give it up: what was appended and not committed is dropped."""
        try:
            self._file.close()
        finally:
            self._lock.close()

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class OutboxReader:
    """The reader's side: facts in their order, and the acknowledgement that they have been taken.

    SpecError where there is no outbox, ConnectorError where it is damaged. Used by one thread at a time.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        noted = commits_noted(path, OutboxFile.what)
        self._file = OutboxFile(path)
        try:
            with self._file.watched():
                self._file.check_commits(self._file.number("commits"), noted)
        except BaseException:
            self._file.close()
            raise

    def schema(self) -> OutboxSchema:
        """What the facts look like, and whose they are."""
        with self._file.watched():
            return _schema_of(self._file)

    def first(self) -> int:
        """The number of the first fact that is not acknowledged; one beyond the last where all are."""
        with self._file.watched():
            return self._file.number("acked") + 1

    def last(self) -> int:
        """The number of the last fact; 0 where there was none."""
        with self._file.watched():
            return self._file.number("next_seq") - 1

    def read(self, after: int, limit: int = READ_ROWS, most_bytes: int | None = None) -> list[OutboxRow]:
        """The facts behind number `after`, `limit` at most, in order; none if there are none yet.

        With `most_bytes` only as many as have so many bytes, but one at least. ValueError for a number below 0 or a limit
        below 1, ConnectorError where facts behind `after` are acknowledged already: they are gone.
        """
        check_bounds(after, limit)
        with self._file.reading():
            acked = self._file.number("acked")
            if after < acked:
                raise ConnectorError(
                    f"outbox `{self.name}`: facts up to {acked} are acknowledged, and gone; asked for {after + 1}"
                )
            return self._rows(after, limit, most_bytes)

    def _rows(self, after: int, limit: int, most_bytes: int | None) -> list[OutboxRow]:
        found: list[OutboxRow] = []
        bound: int | None = None
        for row, total in self._file.facts(after, limit):
            if found and bound is not None and total > bound:
                break
            if not found and most_bytes is not None:
                bound = total - _size(row) + most_bytes
            found.append(row)
        return found

    def acknowledge(self, upto: int) -> None:
        """All facts up to this number have been taken, and may go. Nothing if they have gone already.

        ValueError for a number beyond the last.
        """
        file = self._file
        with file.transaction():
            if upto > (last := file.number("next_seq") - 1):
                raise ValueError(f"the last fact is number {last}, got {upto}")
            if upto > file.number("acked"):
                file.put({"acked": upto, "acked_bytes": file.total(upto)})
        self._delete()

    def _delete(self) -> None:
        """Delete what is acknowledged, in transactions that are short, since the writer waits for them."""
        statement = "DELETE FROM facts WHERE seq <= ? AND seq < (SELECT min(seq) FROM facts) + ?"
        deleted = _DELETED_AT_ONCE
        while deleted == _DELETED_AT_ONCE:
            with self._file.transaction():
                deleted = self._file.execute(statement, (self._file.number("acked"), _DELETED_AT_ONCE)).rowcount

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> OutboxReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _schema_of(file: OutboxFile) -> OutboxSchema:
    try:
        return msgspec.json.decode(file.text("schema"), type=OutboxSchema)
    except msgspec.MsgspecError as error:
        raise ConnectorError(f"outbox `{file.folder}` is damaged: its schema cannot be read: {error}") from error


def check_bounds(after: int, limit: int) -> None:
    """ValueError unless facts can be read behind this number, up to so many."""
    if after < 0 or limit < 1:
        raise ValueError(f"`after` is 0 or more and `limit` 1 or more, got {after} and {limit}")


class _RowEncoder:
    """Records as rows: exact times as text, arguments as JSON."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._encode = msgspec.json.Encoder().encode

    def horizon(self, frontier: int) -> str | None:
        """Before which time all is known; None where nothing is."""
        if frontier <= NEG:
            return None
        return "inf" if frontier >= POS else self._timeline.format_point(frontier + 1)

    def row(self, seq: int, record: Record, horizon: str | None, now: int) -> OutboxRow:
        predicate, values, lo, hi = record
        try:
            arguments = self._encode(values).decode()
        except (ValueError, TypeError, OverflowError) as error:
            raise DataError(f"it cannot be encoded: {error}") from None
        return OutboxRow(seq, predicate, arguments, *exact_ends(self._timeline, lo, hi), horizon, now)


def _size(row: OutboxRow) -> int:
    """What a fact counts, in bytes."""
    return _ROW_BYTES + len(row.predicate.encode()) + len(row.arguments.encode())

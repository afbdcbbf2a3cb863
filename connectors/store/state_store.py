"""A durable run's directory: its state, its journal of accepted input, and the answers that sinks are owed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Literal

from tidelog.connectors.store.stored_file import META, MetaValue, StoredFile
from tidelog.connectors.store.stored_lock import WriterLock, commits_noted
from tidelog.connectors.store.stored_snapshots import TABLES, StoredSnapshots, row_checksum
from tidelog.plans.data.forms import STATE_FILE
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.durability import Changes, Input, Keep, Kept, Told

FILE = "state.sqlite"
"""What the state is called in its folder."""
PRIVATE = 0o700
"""Who may look into the folder of a state, which holds all that was read: its owner alone."""
_DELETED_AT_ONCE = 1000
"""How many blocks one commit deletes at most."""
_MICROSECONDS = 1_000_000

_TABLES = (
    "CREATE TABLE answers (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, bytes INTEGER NOT NULL, data BLOB NOT NULL, "
    "checksum INTEGER NOT NULL)",
    "CREATE TABLE journal (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, facts INTEGER NOT NULL, at INTEGER NOT NULL, "
    "bytes INTEGER NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL)",
    META,
    *TABLES,
)
"""Answers and events by their numbers, each block with the bytes of all up to it; the snapshots."""


_NUMBERS = ("journal", "journal_bytes", "answers", "answers_bytes")
_FIRST = {
    "journal": "SELECT * FROM journal ORDER BY first LIMIT 1",
    "answers": "SELECT * FROM answers ORDER BY first LIMIT 1",
}
_HOLDING = {
    "journal": "SELECT * FROM journal WHERE first <= ? ORDER BY first DESC LIMIT 1",
    "answers": "SELECT * FROM answers WHERE first <= ? ORDER BY first DESC LIMIT 1",
}
_BEHIND = "SELECT * FROM answers WHERE first >= ? ORDER BY first LIMIT 1"


class StateFile(StoredFile):
    """The file of a state."""

    what, file, form, tables = "state", FILE, STATE_FILE, _TABLES


class StateDirectory:
    """Where a run is stored. One process has it open at a time: SpecError where another one has.

    ConnectorError where the file is damaged or the disk is full; of a commit that fails nothing is stored. With `read_only`,
    nothing is locked or written, and SpecError says that there is no state; another process may go on writing.
    """

    def __init__(
        self, path: str, *, read_only: bool = False, clock: Callable[[], int] = lambda: time.time_ns() // 1000
    ) -> None:
        self.name = path
        self._clock = clock
        self._lock = None if read_only else WriterLock(path, StateFile.what, PRIVATE)
        try:
            self._open(path, read_only=read_only)
        except BaseException:
            if self._lock is not None:
                self._lock.close()
            raise

    def _open(self, path: str, *, read_only: bool) -> None:
        noted = commits_noted(path, StateFile.what)
        self.file = file = StateFile(path, create=not read_only)
        self._snapshots = StoredSnapshots(file)
        try:
            if file.is_new:
                file.check_commits(0, noted)
                file.create({"head": b"", "plan": b"", "parts": b"", **dict.fromkeys(_NUMBERS, 0)})
            with file.reading():
                self._commits = file.number("commits")
                file.check_commits(self._commits, noted)
            if not read_only:
                file.empty_log()
            with file.reading():
                self._bytes, self._answer_bytes = file.number("journal_bytes"), file.number("answers_bytes")
        except BaseException:
            file.close()
            raise

    def head(self) -> bytes | None:
        """What the last commit stored as its head; None before the first."""
        with self.file.reading():
            return self.file.blob("head") if self._commits else None

    def plan(self) -> bytes:
        """What was last stored as the plan that the state belongs to; nothing before the first commit."""
        with self.file.reading():
            return self.file.blob("plan")

    def terms(self) -> bytes:
        """Who has led the run, as it was last stored; nothing where no lease was ever needed."""
        with self.file.reading():
            return self.file.blob("terms") if self.file.has("terms") else b""

    @property
    def commits(self) -> int:
        """How many commits are stored."""
        return self._commits

    def copy_to(self, path: str) -> None:
        """Write a file with all of it, as of the last commit, while others read and write. ConnectorError for what fails."""
        other = StateFile(self.name)
        try:
            with other.watched():
                other.execute("VACUUM INTO ?", (path,))
        finally:
            other.close()

    def commit(self, changes: Changes) -> Kept:
        """Store all of it at once and for good, or nothing."""
        if self._lock is None:
            raise ConnectorError(f"state `{self.name}` was opened to be read")
        self._lock.check()
        file, total, answers = self.file, self._bytes, self._answer_bytes
        now = self._clock()
        values: dict[str, MetaValue] = {"commits": self._commits + 1, "head": changes.head}
        if changes.plan is not None:
            values["plan"] = changes.plan
        if changes.terms is not None:
            values["terms"] = changes.terms
        with file.transaction():
            for block in changes.journal:
                total += len(block.data)
                row = (block.first, block.last, block.facts, now, total, block.data)
                file.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, row_checksum(*row)))
                values |= {"journal": block.last, "journal_bytes": total}
            for told in changes.answers:
                answers += len(told.data)
                stored = (told.first, told.last, answers, told.data)
                file.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", (*stored, row_checksum(*stored)))
                values |= {"answers": told.last, "answers_bytes": answers}
            if changes.parts is not None:
                values["parts"] = self._snapshots.store(changes.parts, changes.snapshot, changes.older)
            file.put(values)
            self._delete_answers(changes, answers)
            self._delete_journal(changes, total)
            kept = self._kept(changes.answers_from)
        self._commits += 1
        self._bytes, self._answer_bytes = total, answers
        self._lock.note(self._commits)
        return kept

    def kept(self) -> Kept:
        """Which answers are stored."""
        with self.file.reading():
            return self._kept()

    def _kept(self, first: int = 0) -> Kept:
        """The answers from the block on that holds a number, or that is the first behind it."""
        row = self._block("answers", first) or self.file.execute(_BEHIND, (first,)).fetchone()
        if row is None:
            return Kept(self.file.number("answers") + 1, 0)
        return Kept(row[0], self.file.number("answers_bytes") - row[2] + len(row[3]))

    def _delete_answers(self, changes: Changes, total: int) -> None:
        """Drop the answers that all have taken, and those that are too many."""
        first = changes.answers_from if changes.told_from is None else min(changes.answers_from, changes.told_from)
        self.file.execute("DELETE FROM answers WHERE first <= ? AND last < ?", (first, first))
        if changes.answers_most is not None:
            query = "SELECT first, bytes FROM answers ORDER BY first LIMIT ?"
            for first, upto in self.file.execute(query, (_DELETED_AT_ONCE,)).fetchall():
                if upto > total - changes.answers_most:
                    break
                self.file.execute("DELETE FROM answers WHERE first = ?", (first,))

    def _delete_journal(self, changes: Changes, total: int) -> None:
        """Drop the input that nobody needs any more, the oldest first, and not much at once."""
        keep = changes.keep or Keep(0.0)
        now = self._clock()
        oldest = None if keep.seconds is None else now - round(keep.seconds * _MICROSECONDS)
        most = None if keep.size is None else total - keep.size

        def is_gone(at: int, upto: int) -> bool:
            is_old = oldest is not None and (at <= oldest or at > now)  # what is of the future was stored by a wrong clock
            return is_old or (most is not None and upto <= most)

        gone = 0
        until = self._up_to_snapshot(changes.journal_from, is_gone) if self._snapshots.events() else changes.journal_from
        query = "SELECT last, at, bytes FROM journal WHERE last < ? ORDER BY first LIMIT ?"
        for last, at, upto in self.file.execute(query, (until, _DELETED_AT_ONCE)).fetchall():
            if not is_gone(at, upto):
                break
            gone = last
        if gone:
            self.file.execute("DELETE FROM journal WHERE first <= ?", (gone,))

    def _up_to_snapshot(self, until: int, is_gone: Callable[[int, int], bool]) -> int:
        """Where older snapshots are kept, input goes up to one of them: so what is kept can be told again.

        The number of the first event that stays; the snapshots before it go.
        """
        found = 1
        for event in self._snapshots.events():
            block = self.file.execute("SELECT at, bytes FROM journal WHERE last = ?", (event,)).fetchone()
            if event < until and (block is None or is_gone(*block)):
                found = event + 1
        self._snapshots.drop_before(found - 1)
        return found

    # --- reading --------------------------------------------------------------------------------------------------------

    def parts(self, event: int | None = None, names: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """The parts of the last snapshot, or of that as of an event. ConnectorError where one is not what was written."""
        with self.file.reading():
            yield from self._snapshots.parts(event, names)

    def snapshots(self) -> list[int]:
        """Of which events older snapshots are kept, in order; that of the last one may be among them."""
        with self.file.reading():
            return self._snapshots.events()

    def begin(self) -> int:
        """The number of the first event that is in the journal; 1 before the first commit."""
        with self.file.reading():
            (first,) = self.file.execute("SELECT min(first) FROM journal").fetchone()
            return first or self.file.number("journal") + 1

    def journal(self, first: int = 0) -> Iterator[Input]:
        """The blocks of the journal that hold the event number `first`, and those behind, in order; all with 0.

        ConnectorError where one of them is missing, or is not what was written.
        """
        following, last = first, 0
        while True:
            with self.file.reading():
                last = last or self.file.number("journal")
                row = self._block("journal", following)
            if following > last or (row is None and not following):
                return
            if row is None:
                raise self.file.damaged(f"event number {following} of the journal is missing")
            *values, checksum = row
            if row_checksum(*values) != checksum:
                raise self.file.damaged(f"the events from number {row[0]} on are not what was written")
            yield Input(row[0], row[1], row[2], row[3], row[5])
            following = row[1] + 1

    def _block(self, table: Literal["journal", "answers"], number: int) -> tuple[Any, ...] | None:
        """The block of a table that holds a number, or the first one with 0."""
        if not number:
            row = self.file.execute(_FIRST[table]).fetchone()
        else:
            row = self.file.execute(_HOLDING[table], (number,)).fetchone()
        found: tuple[Any, ...] | None = row
        return None if found is not None and found[1] < number else found

    def answers(self, first: int) -> Told | None:
        """The block that holds the answer number `first`; None where it is not stored."""
        with self.file.reading():
            row = self._block("answers", first)
            if row is None:
                if first <= self.file.number("answers"):
                    raise self.file.damaged(f"answer number {first} is missing")
                return None
        *values, checksum = row
        if row_checksum(*values) != checksum:
            raise self.file.damaged(f"the answers from number {row[0]} on are not what was written")
        return Told(row[0], row[1], row[3])

    def check(self) -> None:
        """ConnectorError where its files have been removed."""
        if self._lock is not None:
            self._lock.check()
        self.file.check()

    def close(self) -> None:
        """Give it up; what was not committed is dropped."""
        try:
            self.file.close()
        finally:
            if self._lock is not None:
                self._lock.close()

    def __enter__(self) -> StateDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

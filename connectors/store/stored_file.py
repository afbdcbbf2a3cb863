"""A file of one folder in SQLite: how it is opened, what `meta` knows, and how all that is damaged is told.

SQLite, since one file holds all that belongs together, and a reader in another process sees only what is committed. In WAL
mode with `synchronous=FULL` a commit is on the disk before it counts, and readers and the writer do not wait for each
other; both survive a killed process and a power failure. Whatever is stored has a checksum, since SQLite has none: what a
disk gives back is what was written, or is told to be damaged.
"""

from __future__ import annotations

import glob
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from tidelog.connectors.store.stored_lock import identity
from tidelog.plans.data.forms import Form, check_form, written_by
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

_WAITING = 30.0
"""How many seconds one transaction waits for another: both are short."""
_WAL_BYTES = 64_000_000
"""To what size the write-ahead log is cut once all of it has been taken over."""
_MOST_NAMED = 5
"""How many folders a message names."""
META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value, checksum INTEGER NOT NULL) WITHOUT ROWID"
"""What else there is to know, by name: a table that each file has."""

MetaValue = str | int | bytes
V = TypeVar("V", str, int, bytes)

encode = msgspec.msgpack.Encoder().encode


class StoredFile:
    """One connection to a file. Used by one thread at a time.

    `what` names it to people (`outbox`), `form` is that of its `tables`. Every method raises ConnectorError where the file
    is damaged or the disk is full. `create` makes the file where there is none, and brings one of an older version up to
    date; without it both are a SpecError.
    """

    what: str
    file: str
    form: Form
    tables: tuple[str, ...]

    def __init__(self, folder: str, *, create: bool = False) -> None:
        self.folder = folder
        path = os.path.join(folder, self.file)
        self._paths = (path, f"{path}-wal")
        self.is_new = False
        """Whether it has no tables yet."""
        if not create and not os.path.isfile(path):
            raise self._missing()
        with self.watched():
            self._connection = sqlite3.connect(path, timeout=_WAITING, isolation_level=None, check_same_thread=False)
            try:
                self._configure(create)
            except BaseException:
                self._connection.close()
                raise

    def _missing(self) -> SpecError:
        """Says that it is not there, and which folders within the folder have one: a gateway has one for each program."""
        within = sorted(os.path.dirname(path) for path in glob.iglob(os.path.join(glob.escape(self.folder), "*", self.file)))
        told = f"; there is one in {', '.join(f'`{path}`' for path in within[:_MOST_NAMED])}" if within else ""
        return SpecError(f"there is no {self.what} in `{self.folder}`{told}")

    def _configure(self, create: bool) -> None:
        if create and self.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
            raise ConnectorError(
                f"{self.what} `{self.folder}`: its file system does not let processes share a file in memory"
            )
        self.execute("PRAGMA synchronous=FULL")
        self.execute("PRAGMA secure_delete=ON").fetchone()  # what is to be forgotten is not left in free pages
        self.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")
        tables = self._tables()
        self.is_new = not tables
        if self.is_new and not create:  # the process that was to make it has not come so far
            raise self._missing()
        self._identities = {path: identity(path) for path in self._paths}
        if tables:
            self._check_form(writes=create)

    def _tables(self) -> list[tuple[str]]:
        return self.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name").fetchall()

    def _check_form(self, *, writes: bool) -> None:
        found, writer = (self._noted(key) for key in ("format", "writer"))
        if found is None:
            raise self.damaged("its tables are not those that were made")
        check_form(self.form, found, f"{self.what} `{self.folder}`", str(writer or ""))
        if writes and (found, writer) != (self.form.version, written_by()):
            self._bring_up(int(found))
        elif found != self.form.version:
            by = f"{self.what} `{self.folder}` was written by an older version of tidelog"
            raise SpecError(f"{by}: start what fills it with this version, which brings it up to date, before it is read")
        if self._tables() != [(statement,) for statement in self.tables]:
            raise self.damaged("its tables are not those that were made")

    def _noted(self, key: str) -> int | str | None:
        """What `meta` says of the form, whatever else is wrong with the file."""
        row = self.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def _bring_up(self, found: int) -> None:
        """Make this version's tables of those of an older one, and note who writes from now on."""
        with self.transaction():
            for number in range(found, self.form.version):
                for statement in self.form.tables[number]:
                    self.execute(statement)
            self.put({"format": self.form.version, "writer": written_by()})

    def create(self, values: Mapping[str, MetaValue]) -> None:
        """Make the tables, and what `meta` begins with, all at once."""
        with self.transaction():
            for statement in self.tables:
                self.execute(statement)
            self.put({"format": self.form.version, "writer": written_by(), "commits": 0, **values})

    def execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, tuple(values))

    def damaged(self, what: str) -> ConnectorError:
        """The error for contents that are not what was written."""
        return ConnectorError(f"{self.what} `{self.folder}` is damaged: in `{self.file}`, {what}")

    def check_commits(self, stored: int, noted: int) -> None:
        """ConnectorError where less is stored than the writer has noted."""
        if stored < noted:
            raise self.damaged(f"{stored} commits are left of {noted}")

    def _get(self, key: str, kind: type[V]) -> V:
        """What `meta` holds; ConnectorError where it is missing, or not what was written."""
        row = self.execute("SELECT value, checksum FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise self.damaged(f"`{key}` is missing")
        if not isinstance(row[0], kind) or _meta_checksum(key, row[0]) != row[1]:
            raise self.damaged(f"`{key}` is not what was written")
        return row[0]

    def has(self, key: str) -> bool:
        """Whether `meta` holds something under a key that not every file has."""
        return self._noted(key) is not None

    def number(self, key: str) -> int:
        """A number of `meta`; ConnectorError where it is none."""
        return self._get(key, int)

    def text(self, key: str) -> str:
        """A text of `meta`; ConnectorError where it is none."""
        return self._get(key, str)

    def blob(self, key: str) -> bytes:
        """Bytes of `meta`; ConnectorError where there are none."""
        return self._get(key, bytes)

    def put(self, values: Mapping[str, MetaValue]) -> None:
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
                raise ConnectorError(f"{self.what} `{self.folder}`: `{name}` was removed while it was in use")

    def empty_log(self) -> None:
        """Write what the log holds into the file itself, as far as nobody reads it.

        Where bringing the log to the disk has failed, and the process ended for that, the system still shows what may not
        be on the disk, and takes it for written.
        """
        with self.watched():
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

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
            raise ConnectorError(f"{self.what} `{self.folder}`: {error}") from error

    def close(self) -> None:
        with self.watched():
            self._connection.close()


def _meta_checksum(key: str, value: MetaValue) -> int:
    data = value if isinstance(value, bytes) else encode(value)
    return zlib.crc32(data, zlib.crc32(encode((key, type(value).__name__))))

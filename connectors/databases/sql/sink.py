"""Answers as rows of a database, each exactly once: with them it stores up to which answer it has come."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup

from tidelog.connectors.databases.sql.database import Connection, Database, Parameters, Refused
from tidelog.connectors.databases.sql.tables import DELIVERY, Statement, Table, Unfit
from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import GivingUp
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer, Interrupted

logger = logging.getLogger("tidelog")

TOGETHER = 1_000
"""How many answers are written in one transaction at most."""
_Row = tuple[AnyAnswer, Statement, Parameters]


class SqlSink(GivingUp):
    """Writes each answer to the table of its output: what is told of an interval again replaces its end.

    Answers are written together, in one transaction, when no more are at hand. With them the number of the last one is
    stored under the `key` of the sink: what comes again, after a kill or a lost connection, is known by that. An answer that
    the database will never take is a dead letter, as `encoder` writes it, and the others are written. `tables` has that of
    each output.
    """

    promise: Promise = "exactly once"
    takes_back = True

    def __init__(
        self,
        database: Database,
        tables: Mapping[str, Table],
        encoder: Encoder,
        *,
        name: str,
        key: str,
        choice: Choice | None = None,
    ) -> None:
        self.name = name
        self.is_connected = False
        """Whether the database has taken, or refused for good, what it was given last."""
        self._database, self._tables, self._key = database, tables, key
        self._encoder, self._choice = encoder, Choice() if choice is None else choice
        mark = database.mark
        self._note = (
            f"INSERT INTO {DELIVERY} (sink, run, last) VALUES ({mark}, {mark}, {mark}) "  # noqa: S608 - nothing of others
            "ON CONFLICT (sink) DO UPDATE SET run = excluded.run, last = excluded.last"
        )
        self._connection: Connection | None = None
        self._tasks: TaskGroup
        self._rows: list[_Row] = []
        self._run = ""
        self._heading: Heading | None = None
        self._given = self._confirmed = self._held = 0

    async def __aenter__(self) -> SqlSink:
        opening = _Opening()
        try:
            connection = await anyio.to_thread.run_sync(self._open, opening, abandon_on_cancel=True)
        except BaseException:
            opening.is_given_up = True
            raise
        self._connection = connection
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(_stop_when_cancelled, connection)
        self.is_connected = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if not any(exc):
                await anyio.to_thread.run_sync(self._write, connection)
        finally:
            self.is_connected = False
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(None, None, None)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(connection.close)

    def _open(self, opening: _Opening) -> Connection:
        """Connect, and see to the tables. Runs in a thread, as all that follows with a connection."""
        connection = self._database.connect()
        try:
            with connection.transaction():
                connection.lock()
                if connection.table(DELIVERY) is None:
                    types = self._database.types
                    columns = (
                        f"sink {types['text']} PRIMARY KEY, run {types['text']} NOT NULL, last {types['integer']} NOT NULL"
                    )
                    connection.execute(f"CREATE TABLE {DELIVERY} ({columns})")
                for table in self._tables.values():
                    table.create(connection)
            self._held = self._find_held(connection)
            if opening.is_given_up:
                connection.close()
        except BaseException as error:
            connection.close()
            if isinstance(error, Refused):
                raise ConnectorError(f"{self._database.place}: the tables cannot be made: {error}") from error
            raise
        return connection

    def _find_held(self, connection: Connection) -> int:
        """Up to which answer of this run the tables hold all."""
        statement = f"SELECT run, last FROM {DELIVERY} WHERE sink = {self._database.mark}"  # noqa: S608 - nothing of others
        run, last = next(iter(connection.rows(statement, (self._key,))), ("", 0))
        if run != self._run:
            return 0
        if last < self._confirmed:
            told = f"holds answers of `{self._key}` up to {last}, and {self._confirmed} were written: is it an older copy?"
            way = f"To go on without them, delete that row of {DELIVERY}"
            raise ConnectorError(f"{self._database.place} {told} {way}")
        return int(last)

    # --- the run ---------------------------------------------------------------------------------------------------------

    def resume(self, run: str, taken: int, standing: dict[str, Any] | None) -> int:
        """Go on behind the answer number `taken`; what the database holds behind it is known once it is there."""
        self._run, self._given, self._confirmed = run, taken, taken
        return taken

    def standing(self) -> dict[str, Any]:
        """The database knows itself where it stands."""
        return {}

    def check(self) -> None:
        """A table that has been removed is made again when the connection is."""

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    def confirmed(self) -> int:
        """The number of the last answer that is stored."""
        return self._confirmed

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Take these; waits while so many wait that they are written. Raises Interrupted where the database is lost."""
        await anyio.lowlevel.checkpoint()
        begin, last = 0, 0
        if self._heading is not None and answers:
            self._run, last = self._heading.run, self._heading.first + len(answers) - 1
            begin = max(0, max(self._held, self._given) - self._heading.first + 1)  # those before are written already
            if begin >= len(answers):
                self._given = max(self._given, last)
        lost: Interrupted | None = None
        for at in range(begin, len(answers), TOGETHER):
            for answer, reason in self._add(answers[at : at + TOGETHER]):
                await self._give_up(answer, reason, self._encoder)
            if last:
                self._given = min(last, last - len(answers) + at + TOGETHER)
            if len(self._rows) >= TOGETHER and lost is None:
                try:
                    await anyio.to_thread.run_sync(self.secure)
                except Interrupted as error:
                    lost = error  # whoever cuts it off takes it that all of these are kept
        if lost is not None:
            lost.kept = len(self._rows)
            raise lost
        if not answers and self._rows:  # left by a connection that was lost
            await anyio.to_thread.run_sync(self.secure)

    def _add(self, answers: Sequence[AnyAnswer]) -> list[tuple[AnyAnswer, str]]:
        """Take these to be written; returns those that no table can hold, each with the reason."""
        letters: list[tuple[AnyAnswer, str]] = []
        for answer in map(self._choice, answers):
            if answer is None:
                continue
            if isinstance(answer, tuple):
                try:
                    self._rows.append((answer, *self._tables[answer[0]].row(answer)))
                except Unfit as error:
                    letters.append((answer, str(error)))
            else:
                letters.append((answer, "a question has no table: leave it out of the sink's `predicates`"))
        return letters

    def secure(self) -> None:
        """Write what was given. In a worker thread; Interrupted where the database is lost."""
        if self._connection is not None:
            self._write(self._connection)

    # --- in a thread -----------------------------------------------------------------------------------------------------

    def _write(self, connection: Connection) -> None:
        if not self._rows and self._given <= self._confirmed:
            return
        try:
            try:
                self._store(connection, self._rows)
            except Refused:
                self._rows = self._without_poison(connection)
                self._store(connection, self._rows)
        except OSError as error:
            self.is_connected = False
            raise Interrupted(str(error), error, kept=len(self._rows), progressed=False) from error
        self._rows = []
        self._confirmed = max(self._confirmed, self._given)
        self.is_connected = True

    def _store(self, connection: Connection, rows: Sequence[_Row]) -> None:
        """Write all of these rows, and up to which answer they go, or nothing."""
        ordered = sorted(rows, key=lambda row: row[1].table)  # which keeps the order within a table
        with connection.transaction():
            for statement, some in groupby(ordered, key=lambda row: row[1]):
                connection.execute_all(statement.text, [parameters for _, _, parameters in some])
            if self._heading is not None:
                connection.execute(self._note, (self._key, self._run, max(self._given, self._held)))

    def _without_poison(self, connection: Connection) -> list[_Row]:
        """The rows that can be written; each other one is a dead letter. Nothing is written yet."""
        good: list[_Row] = []
        letters: list[tuple[AnyAnswer, str]] = []
        try:
            with connection.transaction():
                for row in self._rows:
                    try:
                        with connection.transaction():
                            connection.execute_all(row[1].text, [row[2]])
                        good.append(row)
                    except Refused as error:
                        letters.append((row[0], f"the database refuses it: {error}"))
                raise _Tried
        except _Tried:
            pass
        for answer, reason in letters:
            anyio.from_thread.run(self._give_up, answer, reason, self._encoder)
        return good


class _Opening:
    """One attempt to connect."""

    is_given_up = False
    """Whether nobody waits for it any more."""


async def _stop_when_cancelled(connection: Connection) -> None:
    """Who cancels a sink does not wait for a database: a thread that does is let go."""
    try:
        await anyio.sleep_forever()
    finally:
        connection.stop()


class _Tried(Exception):
    """Leaves a transaction in which rows were only tried."""

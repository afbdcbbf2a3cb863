"""Facts of a predicate become rows of its table: maximal intervals, each fact once, in one commit.

Why once: a commit says, for each outbox, up to which number its facts are in the table. What comes again is below that
number, and is passed over; of two processes that write the same facts at the same moment one is told, and finds them there.
What touches rows that are there takes their place in the same commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.columns import NEEDED, column_in, has_dates_in, table_schema, widened
from tidelog.connectors.lake.intervals import Run, coalesce
from tidelog.connectors.lake.rows import arguments_of, rows_table, runs_of
from tidelog.connectors.lake.tables import Keep, Lake, Table
from tidelog.connectors.lake.times import TimeColumn
from tidelog.connectors.lake.upkeep import insist, keep_up
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

_TIME = "tidelog.time"
"""The property of a table that says how nodes count time; with the name of a node behind it, how that one does."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Facts of one predicate from one outbox, in order: all that it has up to number `upto`, from where it was left."""

    schema: OutboxSchema
    column: ArgumentColumn
    rows: Sequence[OutboxRow]
    upto: int


def counted(schema: OutboxSchema) -> str:
    """How an outbox's node counts time, as a property says it."""
    return schema.timeline if schema.unit is None else f"{schema.timeline} {schema.unit}"


class TableWriter:
    """Writes the table of one predicate, which is made with the first facts. `dates` says whether times are dates."""

    def __init__(self, lake: Lake, predicate: str, *, dates: bool) -> None:
        self.predicate = predicate
        self._lake, self._dates = lake, dates
        self._uri = lake.uri(predicate)
        self._table: Table | None = None
        self._is_looked_at = False

    def look(self) -> Table | None:
        """The newest version of the table; None where there is none."""
        self._is_looked_at = True
        if self._table is None:
            self._table = self._lake.open(self.predicate)
        else:
            self._table.refresh()
        return self._table

    def seen(self) -> Table | None:
        """The table as it was when it was looked at last: there may be newer versions."""
        return self._table if self._is_looked_at else self.look()

    def check(self, schema: OutboxSchema, column: ArgumentColumn) -> None:
        """SpecError where facts of this outbox cannot be rows of the table, with what contradicts."""
        table = self.seen()
        if table is None:
            return
        found = table.schema()
        try:
            known = column_in(found, ("node", *NEEDED, "last_seq"))
        except SpecError as error:
            raise SpecError(f"the table `{self._uri}`: {error}") from None
        if has_dates_in(found) != self._dates:
            kinds = ("numbers", "dates")
            raise SpecError(
                f"times in the table `{self._uri}` are {kinds[not self._dates]}, and those of node `{schema.node}` "
                f"{kinds[self._dates]}: choose another place for the tables"
            )
        widened(self.predicate, known, column, f"at node `{schema.node}`")
        self._deviating(table, schema)

    def known(self, outbox: str) -> int | None:
        """Up to which number the table has the facts of an outbox; None where it knows nothing of it."""
        table = self.seen()
        return None if table is None else table.upto(outbox)

    def write(self, parcels: Sequence[Parcel]) -> None:
        """Write facts, all or none of them; those that the table has count no more.

        ConnectorError where that cannot be, SpecError where they are not of columns that the table can have.
        """
        insist(lambda: self._write(parcels))

    def add(self, runs: Sequence[Run], column: ArgumentColumn, times: dict[str, tuple[str, str | None]]) -> None:
        """Add rows whose facts no commit tells, each with the node as the first of its key, as `write` does.

        `times` has the timeline and the unit of each node.
        """
        schemas = [OutboxSchema(node, "", *counting, {}) for node, counting in times.items()]
        insist(lambda: self._add(runs, column, schemas))

    def _add(self, runs: Sequence[Run], column: ArgumentColumn, schemas: Sequence[OutboxSchema]) -> None:
        table, since = self._prepared([(schema, column) for schema in schemas])
        self._commit(table, runs, {schema.node: schema for schema in schemas}, {}, since)

    def _write(self, parcels: Sequence[Parcel]) -> None:
        fresh = list(self._fresh(self.look(), parcels))
        if not fresh:
            return
        table, since = self._prepared([(parcel.schema, parcel.column) for parcel in fresh])
        found = column_in(table.schema())
        runs = [run for parcel in fresh for run in self._runs(parcel, found)]
        upto = {parcel.schema.identity: parcel.upto for parcel in fresh}
        self._commit(table, runs, {parcel.schema.node: parcel.schema for parcel in fresh}, upto, since)

    def _fresh(self, table: Table | None, parcels: Sequence[Parcel]) -> Iterator[Parcel]:
        """What of these the table does not have yet."""
        for parcel in parcels:
            known = None if table is None else table.upto(parcel.schema.identity)
            rows = [row for row in parcel.rows if known is None or row.seq > known]
            if rows:
                yield Parcel(parcel.schema, parcel.column, rows, parcel.upto)

    def _prepared(self, added: Sequence[tuple[OutboxSchema, ArgumentColumn]]) -> tuple[Table, int]:
        """The table with the columns that these need, and the last version of it that others are told of."""
        table = self.look()
        since = -1 if table is None else table.version
        if table is None:
            table = self._create(*added[0])
        column = wanted = column_in(table.schema())
        for schema, each in added:
            wanted = widened(self.predicate, wanted, each, f"at node `{schema.node}`")
        if wanted != column:
            table.evolve(self.predicate, column, wanted, table_schema(wanted, self._dates))
        deviating = dict(item for schema, _ in added for item in self._deviating(table, schema).items())
        if deviating:
            table.note(deviating)
        return table, since

    def _create(self, schema: OutboxSchema, column: ArgumentColumn) -> Table:
        self._lake.create(self.predicate, table_schema(column, self._dates), {_TIME: counted(schema)})
        table = self.look()
        if table is None:
            raise ConnectorError(f"cannot write the table `{self._uri}`: it is gone again")
        return table

    def _deviating(self, table: Table, schema: OutboxSchema) -> dict[str, str]:
        """What the table has to say of how a node counts time; SpecError where it has rows that count in another way."""
        properties = table.properties()
        key, own = f"{_TIME}.{schema.node}", counted(schema)
        known = properties.get(key)
        if known == own or (known is None and properties.get(_TIME, own) == own):
            return {}
        if known is not None or table.has_rows(schema.node):
            raise SpecError(
                f"node `{schema.node}` counts time in another way ({own}) than its rows in the table `{self._uri}` "
                f"({known or properties[_TIME]}): choose another place for the tables, or another name for the node"
            )
        return {key: own}

    def _runs(self, parcel: Parcel, target: ArgumentColumn) -> Iterator[Run]:
        """A run for each fact."""
        node, outbox = parcel.schema.node, parcel.schema.identity
        convert = arguments_of(parcel.column, target)
        for row in parcel.rows:
            try:
                key = (node, *convert(row.arguments))
            except ConnectorError as error:
                raise ConnectorError(f"fact {row.seq} of node `{node}`, `{self.predicate}`: {error}") from None
            ends = (row.start, row.end, row.start_open, row.end_open)
            yield Run(key, *ends, row.seq, row.seq, row.horizon, row.emitted_at, outbox)

    def _commit(
        self,
        table: Table,
        runs: Sequence[Run],
        schemas: Mapping[str, OutboxSchema],
        upto: Mapping[str, int],
        since: int,
    ) -> None:
        """Put runs into the table, in the place of those that they touch."""
        times = {node: TimeColumn(schema.unit, self._dates) for node, schema in schemas.items()}
        column = column_in(table.schema())
        columns = table_schema(column, self._dates)
        new: list[Run] = []
        old: dict[Any, set[Run]] = {}
        for is_integer in (True, False):
            own = {node for node, schema in schemas.items() if (schema.timeline == "integer") == is_integer}
            facts = coalesce([run for run in runs if run.key[0] in own], integer=is_integer)
            there = table.touched(columns, facts, times) if facts else {}
            known = {run for each in there.values() for run in each}
            whole = set(coalesce([*known, *facts], integer=is_integer))
            for file, each in there.items():
                if gone := [run for run in each if run not in whole]:
                    old.setdefault(file, set()).update(gone)
            new += sorted(whole - known, key=lambda run: (run.high, run.low, run.last_seq))
        if old or new or upto:
            kept: dict[Any, Keep] = {file: partial(_but, gone) for file, gone in old.items()}
            table.replace(kept, rows_table(new, columns, column, times), upto)
        table.secure(since)
        keep_up(table, since)


def _but(gone: set[Run], batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows but for these, of which few others have the number of the last fact."""
    may = pc.is_in(batch.column("last_seq"), pa.array({run.last_seq for run in gone}, pa.int64()))
    places = pc.indices_nonzero(may)
    is_gone = [run in gone for run in runs_of(batch.take(places))]
    left = pa.array([place for place, flag in zip(places.to_pylist(), is_gone, strict=True) if flag], pa.uint64())
    every = pa.array(range(len(batch)), pa.uint64())
    return batch.filter(pc.invert(pc.is_in(every, left)))

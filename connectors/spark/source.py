"""The data source `tidelog`: facts of outboxes as a stream or a batch of rows, one partition an outbox.

A stream's offset holds, for each outbox (by its identity), the number of the last fact that is planned. Spark writes an
offset down before it runs the batch that ends there, and the outbox keeps what is not acknowledged, so a batch that is run
again has the same rows. `commit` comes when a batch is done for good: that is the acknowledgement.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from tidelog.connectors.lake.arguments import PLAIN, ArgumentColumn, agreed, column_of, parse_fields
from tidelog.connectors.lake.gateways.origins import Origin, read_origins, read_schemas
from tidelog.connectors.lake.gateways.sites import share
from tidelog.connectors.lake.times import has_dates
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.connectors.spark.cluster.shipping import prepare_workers
from tidelog.connectors.spark.columns import FactBatches, fact_type
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS_AT_ONCE = 10_000
_DELAYS = (1.0, 2.0, 4.0, 8.0)
"""How many seconds to wait for a gateway that is out of reach while a batch is being read, each time longer."""

logger = logging.getLogger("tidelog")

Offset = dict[str, int]


def register(spark: SparkSession) -> None:
    """Make the format `tidelog` known to a session: `spark.readStream.format("tidelog")`."""
    prepare_workers(spark)
    spark.dataSource.register(TidelogDataSource)


class TidelogDataSource(DataSource):
    """Facts of outboxes. Its options:

    * `path`: directories of outboxes, separated by commas;
    * `address`: gateways, `http://HOST:PORT/outbox/NAME`, likewise; with `token` or `tokenFile`, and `trusted`, a file of
      certificates to trust in place of the system's;
    * `predicate`: read this one alone, its arguments as a struct where its fields are declared, or given as `fields`, such
      as `sensor: text, value: number`;
    * `maxRowsPerBatch`: how many facts a batch of a stream takes at most;
    * `acknowledge`: whether what a stream's finished batch has read may go; `true` unless `predicate` is given.
    """

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        return self._reading().type

    def reader(self, schema: StructType) -> DataSourceReader:
        return OutboxBatchReader(self._reading())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        predicate = self.options.get("predicate")
        limit = _positive(self.options, "maxRowsPerBatch")
        acknowledge = _boolean(self.options, "acknowledge", default=predicate is None)
        return OutboxStreamReader(self._reading(), limit, acknowledge)

    def _reading(self) -> Reading:
        return Reading(read_origins(self.options), self.options.get("predicate"), self.options.get("fields"))


class Reading:
    """What is read: the outboxes, of which predicate, in which columns. SpecError where that cannot be."""

    def __init__(self, origins: Sequence[Origin], predicate: str | None = None, fields: str | None = None) -> None:
        if fields is not None and predicate is None:
            raise SpecError("`fields` says what the arguments of one predicate are: give `predicate`, too")
        self.origins = tuple(origins)
        self.schemas = read_schemas(origins)
        self.predicate = predicate
        self.dates = has_dates(self.schemas)
        self.arguments = PLAIN if predicate is None else self._column(predicate, fields)

    def _column(self, predicate: str, fields: str | None) -> ArgumentColumn:
        known = [schema.predicates[predicate] for schema in self.schemas if predicate in schema.predicates]
        if not known:
            names = ", ".join(sorted({f"`{name}`" for schema in self.schemas for name in schema.predicates}))
            raise SpecError(f"no outbox holds `{predicate}`; there are {names or 'no predicates'}")
        if fields is None:
            return agreed(predicate, [column_of(each) for each in known])
        column = parse_fields(fields)
        if any(each.arity != len(column.fields) for each in known):
            raise SpecError(f"`{predicate}` takes {known[0].arity} arguments, and `fields` names {len(column.fields)}")
        return column

    @property
    def type(self) -> StructType:
        return fact_type(self.arguments, self.dates)

    def read(self, part: OutboxPart) -> Iterator[pa.RecordBatch]:
        """The facts of a part, in order; ConnectorError where they are gone."""
        batches = FactBatches(part.schema, self.arguments, self.dates)
        after = part.after
        delays = iter(_DELAYS if part.origin.is_remote else ())
        while after < part.upto:
            try:
                for rows in _rows(part, after):
                    after = rows[-1].seq
                    wanted = [row for row in rows if self.predicate in (None, row.predicate)]
                    if wanted:
                        yield batches.batch(wanted)
            except ConnectorError:
                delay = next(delays, None)
                if delay is None:
                    raise
                time.sleep(delay)


def _rows(part: OutboxPart, after: int) -> Iterator[list[OutboxRow]]:
    with part.origin.open() as reader:
        while after < part.upto:
            rows = reader.read(after, min(_ROWS_AT_ONCE, part.upto - after))
            if not rows:
                raise ConnectorError(f"outbox `{part.origin.place}` has no fact {after + 1}")
            after = rows[-1].seq
            yield rows


class OutboxPart(InputPartition):
    """The facts behind number `after`, up to number `upto`, of one outbox."""

    def __init__(self, origin: Origin, schema: OutboxSchema, after: int, upto: int) -> None:
        self.origin = origin
        self.schema = schema
        self.after = after
        self.upto = upto


class OutboxBatchReader(DataSourceReader):
    """All that the outboxes hold now; acknowledges nothing."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def partitions(self) -> list[InputPartition]:
        parts: list[InputPartition] = []
        for origin, schema in zip(self._reading.origins, self._reading.schemas, strict=True):
            with origin.open() as reader:
                parts.append(OutboxPart(origin, schema, reader.first() - 1, reader.last()))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, OutboxPart):  # there are no outboxes
            return iter(())
        return self._reading.read(partition)


class OutboxStreamReader(DataSourceStreamReader):
    """One stream's reader. Spark 4.1 tells `latestOffset` neither the start nor a limit, but it plans every batch with
    `partitions`, after a restart the last one of its log first: so the end of the last plan is where the next batch starts.

    When `latestOffset` is called, what was planned is done. So where there is nothing new, it acknowledges: Spark calls
    `commit` only once it has found more, and a full outbox would wait for that for ever.
    """

    def __init__(self, reading: Reading, limit: int | None, acknowledge: bool) -> None:
        self._reading = reading
        self._limit = limit
        self._acknowledge = acknowledge
        self._origins = {s.identity: (o, s) for o, s in zip(reading.origins, reading.schemas, strict=True)}
        self._initial: Offset = {}
        self._planned: Offset = {}

    def initialOffset(self) -> Offset:
        for identity, (origin, _) in self._origins.items():
            self._initial_of(identity, origin)
        return _ordered(self._initial)

    def _initial_of(self, identity: str, origin: Origin) -> int:
        if identity not in self._initial:
            with origin.open() as reader:
                self._initial[identity] = reader.first() - 1
        return self._initial[identity]

    # From 4.2 on Spark would tell a start and a limit, too, and asks by this form as well; 4.1 has this form alone.
    def latestOffset(self) -> Offset:  # type: ignore[override, unused-ignore]
        begins, lasts = dict(self._planned), {}
        for identity, (origin, _) in self._origins.items():
            begins.setdefault(identity, self._initial_of(identity, origin))
            lasts[identity] = self._last(origin, begins[identity])
        for identity, last in lasts.items():
            if last < begins[identity]:
                raise ConnectorError(
                    f"outbox `{self._origins[identity][0].place}` ends at fact {last}, and the stream has read up to "
                    f"{begins[identity]}: an older copy has been put in its place"
                )
        waiting = {identity: last - begins[identity] for identity, last in lasts.items()}
        if not any(waiting.values()):
            self.commit(self._planned)
        taken = waiting if self._limit is None else share(waiting, self._limit)
        return _ordered({identity: begin + taken.get(identity, 0) for identity, begin in begins.items()})

    def _last(self, origin: Origin, begin: int) -> int:
        """The last fact of an outbox; where a gateway is out of reach, nothing new: it must not hold back the others."""
        try:
            with origin.open() as reader:
                return reader.last()
        except ConnectorError as error:
            if not origin.is_remote:
                raise
            logger.warning("%s", error)
            return begin

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        self._planned = dict(end)
        parts = []
        for identity, upto in end.items():
            after = self._start(identity, start)
            if after >= upto:
                continue
            if identity not in self._origins:
                raise ConnectorError(
                    f"the batch to be run again needs outbox {identity}, which is no longer named in `path`"
                )
            origin, schema = self._origins[identity]
            parts.append(OutboxPart(origin, schema, after, upto))
        return parts

    def _start(self, identity: str, start: Offset) -> int:
        """Where a batch starts in an outbox; at its begin, where the stream did not know it before."""
        if identity in start:
            return start[identity]
        return self._initial_of(identity, self._origins[identity][0]) if identity in self._origins else 0

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, OutboxPart):
            raise TypeError(f"expected a part of an outbox, got {type(partition).__name__}")
        return self._reading.read(partition)

    def commit(self, end: Offset) -> None:
        if not self._acknowledge:
            return
        for identity, upto in end.items():
            if upto > 0 and identity in self._origins:
                self._acknowledge_in(self._origins[identity][0], upto)

    def _acknowledge_in(self, origin: Origin, upto: int) -> None:
        try:
            with origin.open() as reader:
                reader.acknowledge(upto)
        except ConnectorError as error:
            if not origin.is_remote:
                raise
            logger.warning("%s", error)  # the next acknowledgement covers this one


def _ordered(offset: Offset) -> Offset:
    """Spark compares offsets as text."""
    return dict(sorted(offset.items()))


def _positive(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not (text.isdecimal() and len(text) <= 12 and int(text) > 0):
        raise SpecError(f"`{name}` is a whole number above 0, got `{text}`")
    return int(text)


def _boolean(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise SpecError(f"`{name}` is `true` or `false`, got `{text}`")
    return text.lower() == "true"

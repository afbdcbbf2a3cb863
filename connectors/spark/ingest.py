"""The pipeline: facts of many outboxes into one Parquet table a predicate, each fact exactly once.

Why exactly once: Spark runs a batch until it knows that it is done, and facts are acknowledged only then; a batch becomes a
version of the tables, which appears in one step (`tables`); and what a batch adds is a union of intervals, so that a batch
that is in the tables already, because Spark was killed before it knew, changes nothing when it is run again.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.connectors.spark.arguments import PLAIN, ArgumentColumn, agreed, column_of
from tidelog.connectors.spark.cluster.queries import run_query
from tidelog.connectors.spark.gateways import Gateways, unfinished
from tidelog.connectors.spark.origins import NO_ACCESS, Access, Origin, Reader, place_of, source_options
from tidelog.connectors.spark.places import on_this_machine
from tidelog.connectors.spark.source import register
from tidelog.connectors.spark.tables.columns import has_dates
from tidelog.connectors.spark.tables.segments import Partition, runs_of
from tidelog.connectors.spark.tables.tables import Manifest, NodeTime, Segment, TableFields, Tables
from tidelog.connectors.store.syncing import make_folder, replace_file
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROWS = 100_000
"""How many facts a batch takes at most, unless told otherwise."""

_RESULT = "predicate string, node string, segments binary"
_IDENTITY = "tidelog.json"
_LOOKS = 0.5
"""How many seconds pass between two looks at whether a gateway that is waited for may be asked."""

logger = logging.getLogger("tidelog")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the facts of each node become rows. Plain data: it is sent to Spark's workers."""

    dates: bool
    nodes: Mapping[str, NodeTime]
    arguments: Mapping[str, ArgumentColumn]


class Ingestion:
    """One run of the pipeline. Used with `with`: the tables are its own as long as it is open.

    `sources` are directories of outboxes and addresses of gateways (asked with `access`), `fields` declares the arguments of
    predicates (see `parse_fields`). SpecError where gateways do not agree with each other
    or with the tables on what a column is. Gateways that are away join once they answer; `tell` is given a line of each.
    """

    def __init__(
        self,
        sources: Sequence[str],
        tables: str,
        checkpoint: str,
        *,
        rows: int = ROWS,
        fields: Mapping[str, ArgumentColumn] | None = None,
        access: Access = NO_ACCESS,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._gateways = Gateways([Origin(place_of(source), access) for source in sources], tell)
        self._tell = tell
        self._checkpoint = on_this_machine(checkpoint, "checkpoints of `ingest`")
        self._rows = rows
        self._fields = dict(fields or {})
        self._tables = Tables(tables)
        self._writing = threading.Lock()
        self._is_open = False

    def __enter__(self) -> Ingestion:
        self._gateways.ask()
        self._check_facts()
        self._tables.__enter__()
        try:
            self._agree()
            self._identity = _identity(self._checkpoint)
            self._is_open = True
        except BaseException:
            self._tables.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        with self._writing:  # a batch that has begun ends first, and no other begins
            self._is_open = False
            self._tables.__exit__(None, None, None)

    def _check_facts(self) -> None:
        for origin, schema in zip(self._gateways.present, self._gateways.schemas, strict=True):
            schema.check_facts(origin.place)

    def _agree(self) -> None:
        """Take up the schemas of those that are there; SpecError where they, or the tables, contradict each other."""
        gateways = self._gateways
        self._check_facts()
        if gateways.present:
            layout = layout_of(gateways.schemas, self._fields, self._tables.manifest, is_all=gateways.are_all_present)
            with self._writing:
                self._layout = layout

    def start(self, spark: SparkSession, *, every: float = 1.0) -> StreamingQuery:
        """Begin with those that are there; a batch every so many seconds, as long as there are facts. Ends when the query
        is stopped."""
        register(spark)
        facts = (
            spark.readStream.format("tidelog")
            .options(**source_options(self._gateways.present))
            .option("maxRowsPerBatch", str(self._rows))
            .load()
        )
        writer = facts.writeStream.foreachBatch(self._take).option("checkpointLocation", self._checkpoint)
        return writer.trigger(processingTime=f"{round(every * 1000)} milliseconds").start()

    def run(
        self,
        spark: SparkSession,
        *,
        every: float = 1.0,
        once: bool = False,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Write tables until `is_stopped`; with `once` until what those that answer hold is written and acknowledged.

        Returns whether every gateway has joined. ConnectorError where it fails for good: what is written stays, and another
        run goes on behind it. SpecError where a gateway that joins contradicts the others, or the tables.
        """
        while self._wait(is_stopped, once=once):
            try:
                if self._run_present(spark, every, once, is_stopped):
                    break
            except ConnectorError:
                if once or not self._gateways.miss():
                    raise
        return self._gateways.are_all_present

    def _wait(self, is_stopped: Callable[[], bool], *, once: bool) -> bool:
        """Wait until a query can begin; False where it cannot: it `is_stopped`, or is to run `once`."""
        is_told = False
        while not is_stopped():
            known = {schema.identity for schema in self._gateways.schemas}
            is_enough = unfinished(self._checkpoint) <= known
            if self._gateways.are_all_present or (known and is_enough):
                return True
            if not is_told:
                what = "the batch to be run again needs a gateway that is away" if known else "no gateway answers"
                self._tell(f"{what}: {'nothing is written' if once else 'waiting for it'}")
                is_told = True
            if once:
                return False
            sleep(_LOOKS)
            self._join()
        return False

    def _join(self) -> bool:
        before = self._gateways.present
        if not self._gateways.ask():
            return False
        try:
            self._agree()
        except SpecError as error:
            places = ", ".join(f"`{origin.place}`" for origin in self._gateways.present if origin not in before)
            raise SpecError(f"{places} cannot join: {error}") from error
        return True

    def _run_present(self, spark: SparkSession, every: float, once: bool, is_stopped: Callable[[], bool]) -> bool:
        """Run a query over those that are there; False where it has ended since a gateway joins."""
        if once:
            last = self._ends()
            run_query(lambda: self.start(spark, every=0.0), is_stopped, is_done=lambda: self._are_acknowledged(last))
            return True
        joined: list[bool] = []

        def is_joined() -> bool:
            if self._join():
                joined.append(True)
            return bool(joined)

        run_query(lambda: self.start(spark, every=every), is_stopped, is_done=is_joined)
        return not joined

    def _ends(self) -> list[int]:
        return [self._ask(origin, lambda reader: reader.last()) for origin in self._gateways.present]

    def _are_acknowledged(self, last: Sequence[int]) -> bool:
        firsts = (self._ask(origin, lambda reader: reader.first()) for origin in self._gateways.present)
        return all(first > end for first, end in zip(firsts, last, strict=True))

    def _ask(self, origin: Origin, question: Callable[[Reader], int]) -> int:
        with origin.open() as reader:
            return question(reader)

    def _take(self, facts: DataFrame, batch: int) -> None:
        """Make the tables' next version of one batch."""
        with self._writing:
            manifest = self._tables.manifest
            if not self._is_open:
                raise ConnectorError("the tables are closed")
            check_order(manifest, self._identity, batch)
            self._tables.publish(self._following(manifest, batch, self._merge(facts)))

    def _merge(self, facts: DataFrame) -> dict[tuple[str, str], list[Segment]]:
        merging = _Merging(self._layout, self._tables)

        def merge(group: pa.Table) -> pa.Table:  # Spark goes by the arguments of a function, and wants no object
            return merging.merge(group)

        results = facts.groupBy("predicate", "node").applyInArrow(merge, _RESULT).collect()
        decode = msgspec.json.Decoder(list[Segment]).decode
        return {(row.predicate, row.node): decode(bytes(row.segments)) for row in results}

    def _following(self, last: Manifest, batch: int, merged: Mapping[tuple[str, str], Sequence[Segment]]) -> Manifest:
        kept = [segment for segment in last.segments if (segment.predicate, segment.node) not in merged]
        new = [segment for key in sorted(merged) for segment in merged[key]]
        columns = {name: self._layout.arguments.get(name, PLAIN) for name, _ in sorted(merged)}
        tables = {name: TableFields(column.fields, column.types) for name, column in columns.items()}
        return Manifest(
            version=last.version + 1,
            writer=self._tables.writer,
            checkpoint=self._identity,
            batch=batch,
            dates=self._layout.dates,
            nodes={**last.nodes, **self._layout.nodes},
            tables={**last.tables, **tables},
            segments=(*kept, *new),
        )


class _Merging:
    """What a worker does with the facts of one predicate and one node."""

    def __init__(self, layout: Layout, tables: Tables) -> None:
        self._layout = layout
        self._version = tables.manifest.version + 1
        self._store, self._writer = tables.store, tables.writer
        self._segments: dict[tuple[str, str], list[Segment]] = {}
        for segment in tables.manifest.segments:
            self._segments.setdefault((segment.predicate, segment.node), []).append(segment)

    def merge(self, facts: pa.Table) -> pa.Table:
        predicate, node = facts.column("predicate")[0].as_py(), facts.column("node")[0].as_py()
        arguments = self._layout.arguments.get(predicate, PLAIN)
        time = self._layout.nodes[node]
        part = Partition(predicate, node, time, arguments, self._layout.dates, self._store, self._writer, self._version)
        segments = part.merge(runs_of(facts, arguments), self._segments.get((predicate, node), ()))
        text = msgspec.json.encode(segments)
        return pa.table({"predicate": [predicate], "node": [node], "segments": [text]})


def check_order(manifest: Manifest, checkpoint: str, batch: int) -> None:
    """ConnectorError where tables lack what came before a batch of a checkpoint."""
    following = manifest.batch + 1 if manifest.checkpoint == checkpoint else 0
    if batch > following:
        raise ConnectorError(
            f"the checkpoint is at batch {batch}, and the tables lack what was before: they are others, or an older copy; "
            "a new checkpoint goes on from what is not acknowledged"
        )


def layout_of(
    schemas: Sequence[OutboxSchema], fields: Mapping[str, ArgumentColumn], manifest: Manifest, *, is_all: bool = True
) -> Layout:
    """How facts of these outboxes become rows of these tables; SpecError where that cannot be.

    Unless these are all (`is_all`), an outbox that comes later may hold a predicate whose fields are named.
    """
    known: dict[str, list[ArgumentColumn]] = {}
    for schema in schemas:
        for name, predicate in schema.predicates.items():
            column = fields.get(name) or column_of(predicate)
            if column.fields and len(column.fields) != predicate.arity:
                raise SpecError(f"`{name}` takes {predicate.arity} arguments, and {len(column.fields)} fields are named")
            known.setdefault(name, []).append(column)
    for name in fields:
        if is_all and name not in known:
            raise SpecError(f"no outbox holds `{name}`, whose fields are named")
    layout = Layout(
        has_dates(schemas),
        {schema.node: NodeTime(schema.timeline, schema.unit) for schema in schemas},
        {name: agreed(name, columns) for name, columns in known.items()},
    )
    _check_tables(layout, manifest)
    return layout


def _check_tables(layout: Layout, manifest: Manifest) -> None:
    hint = "choose another folder for the tables"
    if manifest.version and manifest.dates != layout.dates:
        kinds = ("numbers", "dates")
        raise SpecError(f"times in the tables are {kinds[manifest.dates]}, these are {kinds[layout.dates]}: {hint}")
    for node, time in layout.nodes.items():
        if manifest.nodes.get(node, time) != time:
            raise SpecError(f"node `{node}` counts time in another way than in the tables: {hint}")
    for name, column in layout.arguments.items():
        table = manifest.tables.get(name)
        if table is not None:
            agreed(name, [ArgumentColumn(table.fields, table.types), column])


def _identity(checkpoint: str) -> str:
    """What tells this checkpoint from every other: batches are counted anew in each."""
    path = Path(checkpoint, _IDENTITY)
    try:
        if not path.exists():
            make_folder(path.parent)
            replace_file(path, uuid.uuid4().hex)
        return path.read_text("utf-8")
    except OSError as error:
        raise SpecError(f"cannot write the checkpoint `{checkpoint}`: {error.strerror}") from None

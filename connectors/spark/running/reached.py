"""How far each of several inputs of a stream has come, kept in its checkpoint, since Spark forgets it when it stops.

The watermark is that of the input furthest behind. After a restart Spark knows the watermark, but takes each input for one
that has never spoken; so each is told again how far it was, by a small file that its stream reads, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
import pyarrow as pa

from tidelog.connectors.lake.places import uri_of
from tidelog.connectors.spark.running.outputs.folders import Folder
from tidelog.connectors.spark.running.parcels import COLUMNS, Parcels
from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = "tidelog-inputs"


class Reached:
    """The last begin (encoded) of the facts of each input, by its number. `open_folder` opens one by its path or URI."""

    def __init__(self, checkpoint: str, open_folder: Callable[[str], Folder]) -> None:
        self._open = open_folder
        self._path = f"{checkpoint.rstrip('/')}/{_NAME}"
        self._folder = open_folder(self._path)
        text = self._folder.read("reached.json")
        try:
            self._lasts = {} if text is None else msgspec.json.decode(text, type=dict[str, int])
        except msgspec.MsgspecError as error:
            raise SpecError(f"the checkpoint `{checkpoint}` is damaged: {error}") from error

    @property
    def latest(self) -> int:
        """The last begin of all (encoded); `NEG` where none is known."""
        return max(self._lasts.values(), default=NEG)

    def remember(self, lasts: Mapping[str, int]) -> None:
        """A batch has been delivered in which the facts of these inputs begin so late."""
        now = {**self._lasts, **{name: max(last, self._lasts.get(name, last)) for name, last in lasts.items()}}
        if now != self._lasts:
            self._lasts = now
            self._folder.write("reached.json", msgspec.json.encode(now).decode())

    def tell(self, spark: SparkSession, number: int) -> DataFrame:
        """The parcels that tell how far an input was in the last run, and in those to come."""
        path = f"{self._path}/{number}"
        folder = self._open(path)
        last = self._lasts.get(str(number))
        # a name that Spark passes over, so that the folder is there
        folder.write("_", "") if last is None else folder.write(f"{uuid4().hex}.txt", str(last))
        lines = spark.readStream.format("text").load(uri_of(path))

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
            return _spans(batches, number)

        return lines.mapInArrow(read, COLUMNS)


def _spans(batches: Iterable[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        parcels = Parcels()
        for text in batch.column("value").to_pylist():
            parcels.span(number, int(text), int(text))
        yield parcels.take()

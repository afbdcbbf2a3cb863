"""What a program on Spark reads, as parcels: files and folders of text or of Parquet, tables, outboxes, and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tidelog.connectors.lake.gateways.origins import NO_ACCESS, Access
from tidelog.connectors.spark.cluster.queries import why
from tidelog.connectors.spark.running.inputs.blocks import read_lines
from tidelog.connectors.spark.running.inputs.frames import read_frame
from tidelog.connectors.spark.running.inputs.kafka_records import read_records
from tidelog.connectors.spark.running.inputs.locations import FILES, ROWS, Input, check_streamed, parse_input
from tidelog.connectors.spark.running.inputs.outbox_rows import read_outbox
from tidelog.connectors.spark.running.inputs.whole_files import read_whole_files
from tidelog.connectors.spark.running.job import Job
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Input", "check_streamed", "parse_input", "read_input"]


def read_input(
    spark: SparkSession,
    item: Input,
    job: Job,
    *,
    streaming: bool,
    files: int = FILES,
    rows: int | None = ROWS,
    access: Access = NO_ACCESS,
) -> DataFrame:
    """The parcels of all that an input holds; as a stream, of all that it will hold. Nothing runs yet but for a look at
    what is there.

    A batch of a stream takes so many `files`, and so many `rows` of an outbox or of topics, at most; gateways are asked with
    `access`.
    What is no fact becomes a letter. SpecError where there is nothing to read, or its columns are not those of a fact;
    DataError where a CSV header is wrong.
    """
    if streaming:
        check_streamed(item)
    try:
        if item.format == "outbox":
            return read_outbox(spark, item, job, streaming=streaming, access=access, rows=rows)
        if item.format == "kafka":
            return read_records(spark, item, job, streaming=streaming, rows=rows)
        if item.format == "parquet" and item.skips_damaged:
            return read_whole_files(spark, item, job, streaming=streaming, files=files)
        read = read_frame if item.format in ("parquet", "table", "delta") else read_lines
        return read(spark, item, job, streaming=streaming, files=files)
    except (PySparkException, Py4JError) as error:
        raise SpecError(f"cannot read `{item.path}`: {why(error)}{_remedy(error)}") from None


def _remedy(error: Exception) -> str:
    return "; pandas writes times that Spark reads with `coerce_timestamps='us'`" if "(NANOS," in str(error) else ""

"""Tables of Delta Lake on Spark without a jar: the log says which files the newest version has, and Spark reads these."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from tidelog.connectors.lake.delta.lake import open_table
from tidelog.connectors.lake.places import is_remote, local_path, uri_of
from tidelog.connectors.spark.cluster.queries import SPARK_ERRORS, why
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BUCKETS = ("s3://", "s3a://")


def read_delta(spark: SparkSession, path: str) -> DataFrame:
    """The newest version of the table at a path of this machine, or at `s3://BUCKET/PATH`.

    SpecError where there is no such table, it is kept in a way that only Delta's own reader knows, or Spark lacks the jar
    that reads from a bucket.
    """
    place = path if is_remote(path) else local_path(path)
    if is_remote(path) and not path.startswith(_BUCKETS):
        raise SpecError(f"`{path}`: tables of Delta Lake are read in a folder, or at `s3://BUCKET/PATH`")
    table = open_table(place.replace("s3a://", "s3://", 1))
    if table is None:
        raise SpecError(f"`{path}` is no table of Delta Lake: it has no log")
    features = sorted({"deletionVectors", "columnMapping"}.intersection(table.protocol().reader_features or ()))
    if features:
        raise SpecError(f"the table `{path}` uses {', '.join(features)}: name it to Spark as `table:NAME`, with Delta's jar")
    schema = from_arrow_schema(pa.schema(table.schema().to_arrow()), prefer_timestamp_ntz=False)
    names = [os.path.join(place, name) for name in pa.table(table.get_add_actions()).column("path").to_pylist()]
    if not names:
        return spark.createDataFrame([], schema)
    base, *files = (uri_of(name).replace("s3://", "s3a://", 1) for name in (place, *names))
    try:
        return spark.read.schema(schema).option("basePath", base).parquet(*files)
    except SPARK_ERRORS as error:
        raise SpecError(f"cannot read the table `{path}`: {why(error)}") from error

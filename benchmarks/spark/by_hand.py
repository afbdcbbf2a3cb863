"""The turbine program as one would write it for Spark: history as SQL, and one of its rules as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_SHDN = """
SELECT device, time FROM (
  SELECT device, time, lag(time, 1) OVER w AS one, lag(time, 2) OVER w AS two
  FROM (SELECT DISTINCT device, time FROM temp WHERE level = 'high') WINDOW w AS (PARTITION BY device ORDER BY time)
) WHERE one = time - 1 AND two = time - 2
"""
_MALF = "SELECT device, time - 2 AS time FROM shdn UNION SELECT device, time FROM temp WHERE level = 'n/a'"
_INTERVALS = """
SELECT device, min(time) AS start, max(time) AS end FROM (
  SELECT device, time, time - row_number() OVER (PARTITION BY device ORDER BY time) AS island FROM {name}
) GROUP BY device, island
"""


def history(spark: SparkSession, files: str, folder: Path) -> int:
    """Write the maximal intervals of both predicates as tables; returns how many there are."""
    spark.read.parquet(files).createOrReplaceTempView("temp")
    spark.sql(_SHDN).createOrReplaceTempView("shdn")
    spark.sql(_MALF).createOrReplaceTempView("malf")
    told = 0
    for name in ("shdn", "malf"):
        found: DataFrame = spark.sql(_INTERVALS.format(name=name)).persist()
        found.write.parquet(str(folder / name))
        told += found.count()
        found.unpersist()
    return told


def stream(spark: SparkSession, files: str, folder: Path) -> StreamingQuery:
    """The rule for `cool` alone: high now and a second before, as a join of the stream with itself."""
    read = spark.readStream.schema("device string, level string, time bigint").option("header", "true")
    temp = read.option("maxFilesPerTrigger", 1).csv(files).where("level = 'high'")
    one = temp.selectExpr("device", "timestamp_seconds(time) AS at").withWatermark("at", "0 seconds")
    two = temp.selectExpr("device AS other", "timestamp_seconds(time) + INTERVAL 1 SECOND AS next")
    both = one.join(two.withWatermark("next", "0 seconds"), [one.device == two.other, one.at == two.next])
    writer = both.select("device", "at").writeStream.format("parquet").option("path", str(folder / "cool"))
    return writer.option("checkpointLocation", (folder / "checkpoint").as_uri()).trigger(availableNow=True).start()

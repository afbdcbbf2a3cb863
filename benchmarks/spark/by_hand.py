"""The turbine program as one would write it for Spark: history as SQL, and a stream that is joined with itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

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
    """All rules: three high readings in a row as two joins of the stream with itself, and beside them those without a level.

    Writes a row for each second of each predicate, in folders by predicate.
    """
    read = spark.readStream.schema("device string, level string, time bigint").option("header", "true")
    temp = read.option("maxFilesPerTrigger", 1).csv(files)
    high = temp.where("level = 'high'")

    def later(seconds: int) -> DataFrame:
        """When something was high, as of so many seconds later."""
        at = f"timestamp_seconds(time + {seconds}) AS at{seconds}"
        return high.selectExpr(f"device AS device{seconds}", at).withWatermark(f"at{seconds}", "0 seconds")

    found = later(0)
    for seconds in (1, 2):
        found = found.join(later(seconds), [F.expr(f"device0 = device{seconds}"), F.expr(f"at0 = at{seconds}")])
    shdn = found.selectExpr("'shdn' AS predicate", "device0 AS device", "at0 AS at")
    broken = found.selectExpr("'malf' AS predicate", "device0 AS device", "at0 - INTERVAL 2 SECONDS AS at")
    silent = temp.where("level = 'n/a'").selectExpr("'malf' AS predicate", "device", "timestamp_seconds(time) AS at")
    writer = shdn.unionAll(broken).unionAll(silent).writeStream.format("parquet").option("path", str(folder / "told"))
    writer = writer.partitionBy("predicate").option("checkpointLocation", (folder / "checkpoint").as_uri())
    return writer.trigger(availableNow=True).start()

"""Two gateways derive spells of weather, tables gather them, and Spark's SQL asks them. From the repository's root:

    pip install 'tidelog[spark]'
    python examples/spark/spells.py /tmp/spells

Each gateway reads its own city and fills its own outbox; here they have nothing more to read after a year, so the pipeline
ends, too. What `ingestion.run` does is what `tidelog ingest` does, and needs no Spark.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.connectors.lake import Ingestion, parse_fields
from tidelog.connectors.spark import read_delta, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WEATHER = Path(__file__).parent.parent / "weather"
CITIES = ("sf", "sea")
LONGEST = """
    SELECT arguments.city, count(*) AS spells, max(timestampdiff(HOUR, start_time, end_time)) + 1 AS longest
    FROM cold_spell GROUP BY arguments.city ORDER BY arguments.city
"""


def derive(city: str, outbox: Path) -> None:
    """Stream a city's year through the program, into the outbox of its gateway."""
    program, readings = WEATHER / "weather.tide", WEATHER / f"{city}.csv?predicate=temp"
    command = [
        sys.executable,
        "-m",
        "tidelog",
        "run",
        program,
        "--in",
        readings,
        "--out",
        f"spark+outbox:{outbox}?node={city}",
    ]
    subprocess.run(list(map(str, command)), check=True, stderr=subprocess.DEVNULL)


def main(spark: SparkSession, folder: Path) -> None:
    """Derive, gather and ask, all in one folder."""
    outboxes = [folder / "outboxes" / city for city in CITIES]
    for city, outbox in zip(CITIES, outboxes, strict=True):
        derive(city, outbox)
    tables = str(folder / "tables")
    fields = {"cold_spell": parse_fields("city: text")}
    with Ingestion(list(map(str, outboxes)), tables, fields=fields) as ingestion:
        ingestion.run(once=True)
    read_delta(spark, f"{tables}/cold_spell").createOrReplaceTempView("cold_spell")
    for row in spark.sql(LONGEST).collect():
        print(f"{row.city}: {row.spells} cold spells, the longest of {row.longest} hours")


if __name__ == "__main__":
    session = spark_session("spells")
    try:
        main(session, Path(sys.argv[1]))
    finally:
        session.stop()

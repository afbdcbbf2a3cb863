"""Runs flink.sql beside it over a CSV of readings, with apache-flink from PyPI, which needs Java.

    pip install apache-flink
    python examples/tasks/pump/flink.py readings.csv

The file has no line for the names of its columns, and times as `2026-11-26 08:00:00`.
"""

import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

READINGS = """
CREATE TABLE readings (
  `time` TIMESTAMP(3), pump STRING, kilowatt DOUBLE, litres DOUBLE, WATERMARK FOR `time` AS `time` - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{path}')
"""

if __name__ == "__main__":
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql(READINGS.format(path=Path(sys.argv[1]).resolve().as_uri()))
    tables.execute_sql(Path(__file__).with_name("flink.sql").read_text("utf-8")).print()

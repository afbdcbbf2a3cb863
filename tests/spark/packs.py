"""Facts in parcels on their way to stages, however they are packed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.connectors.spark.running.parcels import COLUMN, FACT, facts_of
from tidelog.plans.data.facts import Record
from tidelog.runtime.frames.columns import Pool, unpacked


def facts_in(rows: Iterable[Any]) -> list[Record]:
    """The facts of these parcels: rows of Spark, or dictionaries."""
    found: list[Record] = []
    for row in rows:
        if row["kind"] == FACT:
            found += facts_of([bytes(row["row"])])
        elif row["kind"] == COLUMN:
            pool = Pool()
            found += [(row["name"], *fact) for fact in unpacked(bytes(row["row"]), pool).facts(pool)]
    return found

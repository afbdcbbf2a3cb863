"""What a program tells, as rows of one table with everything: answers of all predicates, and problems beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from tidelog.connectors.lake.arguments import PLAIN
from tidelog.connectors.spark.columns import Column, interval_columns, row_type
from tidelog.connectors.spark.running.parcels import FACT, LETTER, VIOLATION, facts_of, letter_of, violation_of
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.frames.exact import StoredFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

PROBLEM = "problem"
"""The column that says what could not be used, or which constraint is violated; NULL beside an answer."""


def answers_type(dates: bool) -> StructType:
    """The columns of the table with everything; those of an answer are NULL beside a problem."""
    told: list[Column] = [(name, kind, True) for name, kind, _ in interval_columns(PLAIN, dates)]
    return row_type([("predicate", StringType(), True), *told, (PROBLEM, StringType(), True)])


def answer_rows(parcels: DataFrame, timeline: Timeline) -> DataFrame:
    """These parcels for users as rows of the table with everything; counts and notes are left out."""

    def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(_AnswerRows(timeline).batch, batches)

    kept = parcels.where(F.col("kind").isin(FACT, LETTER, VIOLATION)).select("kind", "name", "row", "lo", "hi")
    return kept.mapInArrow(convert, answers_type(timeline.unit is not None))


def refuse_problems(parcels: DataFrame) -> DataFrame:
    """The answers among these parcels; what reads them fails with a ConnectorError at the first problem."""

    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for kind, row, lo, hi in zip(*(batch.column(name).to_pylist() for name in _PROBLEMS), strict=True):
                if kind != FACT:
                    raise ConnectorError(problem_text(kind, row, lo, hi))
            yield batch

    kept = parcels.where(F.col("kind").isin(FACT, LETTER, VIOLATION))
    return kept.mapInArrow(check, kept.schema)


_PROBLEMS = ("kind", "row", "lo", "hi")


def problem_text(kind: int, row: bytes, lo: int, hi: int) -> str:
    """What a letter or a violation says, in a line."""
    if kind == VIOLATION:
        rule, facts, during, _, _ = violation_of(row, lo, hi)
        return f"constraint violated at {during}: {', '.join(facts)} (rule: {rule})"
    letter = letter_of(row)
    return f"{letter.place}: {letter.reason}: {shorten(letter.raw.decode('utf-8', 'replace'))}"


class _AnswerRows:
    """What a worker does with parcels for users."""

    def __init__(self, timeline: Timeline) -> None:
        self._facts = StoredFacts("", (), (), timeline)

    def batch(self, parcels: pa.RecordBatch) -> pa.RecordBatch:
        columns = [parcels.column(name).to_pylist() for name in ("kind", "name", "row", "lo", "hi")]
        told = facts_of(row for kind, _, row, _, _ in zip(*columns, strict=True) if kind == FACT)
        problems = [problem_text(kind, row, lo, hi) for kind, _, row, lo, hi in zip(*columns, strict=True) if kind != FACT]
        facts = self._facts.batch([fact[1:] for fact in told])
        return _beside([fact[0] for fact in told], facts, problems)


def _beside(names: Sequence[str], facts: pa.RecordBatch, problems: Sequence[str]) -> pa.RecordBatch:
    """Answers, and problems behind them, each with NULL where the other has its columns."""
    nothing = len(problems)
    columns: dict[str, Any] = {"predicate": pa.array([*names, *[None] * nothing], pa.string())}
    for field, column in zip(facts.schema, facts.columns, strict=True):
        columns[field.name] = pa.concat_arrays([column, pa.nulls(nothing, field.type)])
    columns[PROBLEM] = pa.array([*[None] * len(names), *problems], pa.string())
    return pa.RecordBatch.from_pydict(columns)

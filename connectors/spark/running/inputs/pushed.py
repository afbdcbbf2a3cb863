"""Which rows of a table a program needs, as a condition of Spark: what its reader passes over, no worker sees.

A condition holds for each row that some rule needs, by constants and comparisons in its body (`plans/stages/needed.py`), and
for each row that is no fact, so that it is told as a dead letter: one with NULL, or with a number or a time that cannot be.
Only the bytes of text are not looked at in rows that are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType, IntegralType, StringType, StructType, TimestampType

from tidelog.connectors.spark.running.job import Job
from tidelog.plans.data.timeline import LIMIT, Timeline
from tidelog.plans.stages.needed import Condition, needed_rows
from tidelog.plans.tree.arithmetic import COMPARE
from tidelog.plans.tree.syntax import FieldType, Value
from tidelog.runtime.frames.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import Column

_EXACT = 1 << 53
"""Below it a whole number is the same as a double."""
_LEAST_TICK = 16
"""With a tick of so many microseconds, all timestamps are near enough."""
_LARGEST = 1.7976931348623157e308
_DOUBLE = (DoubleType, FloatType)
_KINDS: Mapping[FieldType, tuple[type[DataType], ...]] = {
    "text": (StringType,),
    "number": (IntegralType, *_DOUBLE),
    "integer": (IntegralType,),
    "any": (StringType, IntegralType, *_DOUBLE),
}
"""Of which types a column can be whose values are what the rules compare, if they are facts at all."""


def column_of(name: str) -> Column:
    """The column of a frame with this name."""
    return F.col("`" + name.replace("`", "``") + "`")


def wanted_rows(table: StructType, layout: Layout, predicate: str, job: Job) -> Column | None:
    """The condition for rows of a layout; None where all are wanted."""
    cases = cases_of(predicate, job)
    if cases is None or layout.values is None or len(layout.times) != 1:
        return None
    known = job.plan.schema.predicates[predicate]
    kinds = [table[name].dataType for name in layout.columns]
    columns = list(map(column_of, layout.columns))
    kinds_of_values = kinds[:-1]
    types: Sequence[FieldType] = known.types or ["any"] * len(kinds_of_values)
    wrong_time = _wrong_time(columns[-1], kinds[-1], job.plan.timeline)
    if wrong_time is None or not all(map(_is_plain, kinds_of_values, types)):
        return None
    found = [told for case in cases if (told := _case(case, columns, kinds)) is not None]
    if len(found) < len(cases):
        return None
    wrong = [column.isNull() for column in columns]
    for column, kind in zip(columns, kinds_of_values, strict=False):
        if isinstance(kind, _DOUBLE):  # `isnan` stays out of Parquet's reader, whose statistics may leave NaN out
            wrong += [F.isnan(column), column > _LARGEST, column < -_LARGEST]
    return reduce(or_, [*found, *wrong, wrong_time])


def cases_of(predicate: str, job: Job) -> list[tuple[Condition, ...]] | None:
    """The conditions of rows that some stage needs. None where a stage may need every row, or where no stage reads the
    predicate and its rows are only counted."""
    found: list[tuple[Condition, ...]] = []
    for stage in job.stages:
        for item in stage.inputs:
            if item.source is None and item.predicate == predicate:
                needed = needed_rows(stage.program, item.name)
                if needed is None:
                    return None
                found += needed.cases
    return found or None


def _is_plain(kind: DataType, declared: FieldType) -> bool:
    if isinstance(kind, StringType) and kind != StringType():  # it compares text in another order
        return False
    return isinstance(kind, _KINDS.get(declared, ()))


def _wrong_time(column: Column, kind: DataType, timeline: Timeline) -> Column | None:
    """The condition for values of a column that may be no times; None where it cannot be told."""
    resolution = Fraction(1) if timeline.is_integer else timeline.resolution
    if isinstance(kind, IntegralType) and resolution.numerator == 1:
        farthest = int(LIMIT * resolution) // 2
        return (column > farthest) | (column < -farthest)
    if isinstance(kind, TimestampType) and timeline.unit is not None:
        tick = timeline.unit * resolution * 1_000_000
        if tick.denominator == 1 and tick >= _LEAST_TICK:
            return F.pmod(F.unix_micros(column), F.lit(tick.numerator)) > 0
    return None


def _case(case: Sequence[Condition], columns: Sequence[Column], kinds: Sequence[DataType]) -> Column | None:
    told = [_condition(each, columns[each.place], kinds[each.place]) for each in case]
    found = [each for each in told if each is not None]
    return reduce(and_, found) if len(found) == len(told) else None


def _condition(condition: Condition, column: Column, kind: DataType) -> Column | None:
    """The condition of a column; None where Spark would compare otherwise than rules do."""
    value: Value = condition.value
    if isinstance(value, str) != isinstance(kind, StringType):  # such values differ, and have no order
        return F.lit(condition.operator == "!=")
    if not isinstance(value, str):
        if abs(value) >= _EXACT:
            return None
        if isinstance(kind, IntegralType):
            if value != int(value):
                return None
            value = int(value)
        else:
            value = float(value)
    return cast("Column", COMPARE[condition.operator](column, value))

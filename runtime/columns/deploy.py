"""From a plan's steps to kernels over columns; what has none runs row by row, between two others."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.grouped.aggregates import ColumnAggregate
from tidelog.operators.columns.grouped.holding import ColumnLatest
from tidelog.operators.columns.grouped.periods import ColumnPeriods, has_kernel
from tidelog.operators.columns.grouped.thresholds import ColumnThreshold
from tidelog.operators.columns.joining import ColumnAntiJoin, ColumnJoin, Selection
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.lasting import ColumnErode, ColumnLatch, ColumnPair
from tidelog.operators.columns.moving import ColumnBind, ColumnDilate, ColumnMove, ColumnStepped, ColumnUnion
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.plan.feeds import width_of
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    BindShape,
    DilateShape,
    ErodeShape,
    HoldShape,
    JoinShape,
    LatchShape,
    LatestShape,
    MoveShape,
    PairShape,
    PeriodShape,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    UnionShape,
)
from tidelog.runtime.columns.rowwise import Rowwise


def build_kernel(step: Step, widths: Sequence[int], timeline: Timeline, pool: Pool) -> Kernel:
    """The kernel of a step whose ports have so many arguments, with nothing kept."""
    kernel = _moving(step, widths, pool) or _windowed(step, widths, timeline, pool)
    return kernel or Rowwise(step, timeline, widths, width_of(step.shape, widths), pool)


def _moving(step: Step, widths: Sequence[int], pool: Pool) -> Kernel | None:
    match step.shape:
        case UnionShape() | ToldShape() | HoldShape():
            return ColumnUnion(widths, widths[0], pool)
        case DilateShape(metric, future):
            return ColumnDilate(metric, future, widths[0], pool)
        case JoinShape(atoms=(_,)) as shape:
            return Selection(shape, pool)
        case BindShape():
            return ColumnBind(widths[0], pool)
        case MoveShape(shift):
            return ColumnMove(shift, widths[0], pool)
        case SteppedShape(by):
            return ColumnStepped(by, widths[0], pool)
        case _:
            return None


def _windowed(step: Step, widths: Sequence[int], timeline: Timeline, pool: Pool) -> Kernel | None:
    match step.shape:
        case ErodeShape() as shape:
            return ColumnErode(shape, widths[0], pool)
        case PairShape() as shape:
            return ColumnPair(shape, timeline, pool)
        case JoinShape() as shape:
            return ColumnJoin(shape, pool)
        case AntiJoinShape() as shape:
            return ColumnAntiJoin(shape, pool)
        case LatchShape() as shape:
            return ColumnLatch(shape, timeline, pool)
        case PeriodShape() as shape if has_kernel(shape, is_integer=timeline.is_integer):
            return ColumnPeriods(shape, widths, pool)
        case LatestShape() | AggregateShape() | ThresholdShape() as shape:
            return _grouped(shape, widths[0], pool)
        case _:
            return None


def _grouped(shape: LatestShape | AggregateShape | ThresholdShape, width: int, pool: Pool) -> Kernel:
    match shape:
        case LatestShape():
            return ColumnLatest(shape, width, pool)
        case AggregateShape():
            return ColumnAggregate(shape, width, pool)
        case ThresholdShape():
            return ColumnThreshold(shape, width, pool)

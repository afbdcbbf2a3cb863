"""From a plan's steps to kernels over columns; what has none runs row by row, between two others."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.aggregates import ColumnAggregate
from tidelog.operators.columns.holding import ColumnLatest
from tidelog.operators.columns.joining import ColumnAntiJoin, ColumnJoin, Selection
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.lasting import ColumnErode, ColumnLatch, ColumnPair
from tidelog.operators.columns.moving import ColumnBind, ColumnDilate, ColumnMove, ColumnStepped, ColumnUnion
from tidelog.operators.columns.pool import Pool
from tidelog.operators.columns.thresholds import ColumnThreshold
from tidelog.plans.data.timeline import Timeline
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
    Shape,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    UnionShape,
)
from tidelog.runtime.columns.rowwise import Rowwise


def build_kernel(step: Step, widths: Sequence[int], timeline: Timeline, pool: Pool) -> Kernel:
    """The kernel of a step whose ports have so many arguments, with nothing kept."""
    match step.shape:
        case UnionShape() | ToldShape() | HoldShape():
            return ColumnUnion(widths, widths[0], pool)
        case DilateShape() | BindShape() | MoveShape() | SteppedShape() as shape:
            return _moving(shape, widths[0], pool)
        case ErodeShape() as shape:
            return ColumnErode(shape, widths[0], pool)
        case PairShape() as shape:
            return ColumnPair(shape, timeline, pool)
        case JoinShape(atoms=atoms) as shape:
            return Selection(shape, pool) if len(atoms) == 1 else ColumnJoin(shape, pool)
        case AntiJoinShape() as shape:
            return ColumnAntiJoin(shape, pool)
        case LatchShape() as shape:
            return ColumnLatch(shape, timeline, pool)
        case LatestShape() | AggregateShape() | ThresholdShape() as shape:
            return _grouped(shape, widths[0], pool)
        case _:
            return Rowwise(step, timeline, widths, width_of(step.shape, widths), pool)


def _grouped(shape: LatestShape | AggregateShape | ThresholdShape, width: int, pool: Pool) -> Kernel:
    match shape:
        case LatestShape():
            return ColumnLatest(shape, width, pool)
        case AggregateShape():
            return ColumnAggregate(shape, width, pool)
        case ThresholdShape():
            return ColumnThreshold(shape, width, pool)


def _moving(shape: DilateShape | BindShape | MoveShape | SteppedShape, width: int, pool: Pool) -> Kernel:
    match shape:
        case DilateShape(metric, future):
            return ColumnDilate(metric, future, width, pool)
        case BindShape():
            return ColumnBind(width, pool)
        case MoveShape(shift):
            return ColumnMove(shift, width, pool)
        case SteppedShape(by):
            return ColumnStepped(by, width, pool)


def width_of(shape: Shape, widths: Sequence[int]) -> int:
    """How many arguments the rows of a step have, those of its ports having so many."""
    match shape:
        case JoinShape(head=head):
            return len(head)
        case AntiJoinShape(columns=columns) | LatchShape(columns=columns):
            return len(columns)
        case PairShape(left=left, right=right):
            return len(right) + len([name for name in left if name not in right])
        case AggregateShape(by=by):
            return len(by) + 1
        case ThresholdShape(by=by):
            return len(by)
        case BindShape():
            return widths[0] + 1
        case MoveShape():
            return widths[0] - 1
        case _:
            return widths[0]

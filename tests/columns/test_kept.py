"""What kernels keep of a long stream does not grow with it."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from columns.test_kernels import kernel_of, told
from drawing import drawn
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.operator import shift
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import POS, Metric
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    BindShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    Shape,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import lead
from tidelog.plans.tree import syntax
from tidelog.plans.tree.syntax import Variable

X, Y = Variable("X"), Variable("Y")
FUNCTIONS: tuple[syntax.AggregateFunction, ...] = get_args(syntax.AggregateFunction)
STRETCHES = 120
MOST = 90
"""Of 3 keys with 3 values, in windows of up to 10 ticks, with up to 6 facts a port and stretch."""


def aggregate(function: syntax.AggregateFunction, size: int, step: int) -> AggregateShape:
    """An aggregate of the second column by the first."""
    fraction = Fraction(1, 2) if function == "quantile" else None
    return AggregateShape(function, size, step, (0,), None if function == "count" else 1, fraction)


SHAPES: dict[str, tuple[Shape, int]] = {
    "union": (UnionShape(), 2),
    "dilate": (DilateShape(Metric(0, 10), False), 1),
    "dilate-future": (DilateShape(Metric(2, 10), True), 1),
    "erode": (ErodeShape(Metric(0, 3), False), 1),
    "erode-future": (ErodeShape(Metric(0, 3), True), 1),
    "since": (PairShape("since", Metric(2, 10), ("x", "y"), ("y", "x")), 2),
    "since-endless": (PairShape("since", Metric(2, POS), ("x", "y"), ("x", "y")), 2),
    "until": (PairShape("until", Metric(2, 10), ("x", "y"), ("x", "y")), 2),
    "latch": (LatchShape(("X", "Y"), (X, Y)), 2),
    "join": (JoinShape((X, Y), ((X, Y), (Y, X))), 2),
    "antijoin": (AntiJoinShape(("X", "Y"), (X, Y)), 2),
    "latest": (LatestShape(10, (0,)), 1),
    "latest-endless": (LatestShape(POS, (0,)), 1),
    "bind": (BindShape(), 1),
    "stepped": (SteppedShape(7), 1),
    "threshold": (ThresholdShape(10, (0,), 1, Fraction(5)), 1),
    **{
        f"{function}-{size}-{step}": (aggregate(function, size, step), 1)
        for function in FUNCTIONS
        for size, step in ((10, 1), (10, 7))
    },
    "sum-3-20": (aggregate("sum", 3, 20), 1),
    "max-10-200": (aggregate("max", 10, 200), 1),
}


@pytest.mark.parametrize("name", SHAPES)
@given(seed=st.integers(0, 1 << 30))
@drawn(4)
def test_what_is_kept_stays_bounded(name: str, seed: int) -> None:
    """Many stretches, of which each brings as much: what is kept is what windows and runs may still need."""
    shape, ports = SHAPES[name]
    kernel = kernel_of(shape, *[2] * ports, *([0] if name == "bind" else []))
    random = Random(seed)
    most = [run(kernel, shape, random, number) for number in range(STRETCHES)]
    assert max(most) <= MOST
    told(kernel, POS, *[[] for _ in kernel.widths])
    assert kernel.kept() == 0


def run(kernel: Kernel, shape: Shape, random: Random, number: int) -> int:
    """One stretch of eight ticks; returns how much is kept behind it."""
    first, last = 8 * number, 8 * number + 7
    ports = [[drawn_fact(random, first) for _ in range(random.randrange(7) if width else 0)] for width in kernel.widths]
    reached = min(shift(last, lead(shape, port)) for port in range(len(ports)))
    told(kernel, last, *ports, reached=reached)
    return kernel.kept()


def drawn_fact(random: Random, first: int) -> Fact:
    """A fact that begins within eight ticks, and may reach beyond them."""
    lo = first + random.randrange(8)
    return (random.choice("abc"), random.choice([1, 2, 0.3])), lo, lo + random.choice([0, 0, 1, 6])

"""Each kernel says what the operator of its step says: drawn facts, with endless ranges, on near and far times."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from columns.driving import cases, said_by_kernel, said_by_operator
from drawing import drawn
from tidelog.operators.metric.pairing import without_left
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import POS, Metric, Timeline
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    BindShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    MoveShape,
    PairShape,
    Shape,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.tree import syntax
from tidelog.plans.tree.syntax import Constant, Variable, Wildcard

RATIONAL, INTEGER = Timeline(), Timeline("integer")
TIMELINES = pytest.mark.parametrize("timeline", [RATIONAL, INTEGER], ids=["rational", "integer"])
FUTURE = pytest.mark.parametrize("future", [False, True], ids=["past", "future"])
BIG = 1 << 53
TEXTS: list[Row] = [("a",), ("b",)]
PAIRS: list[Row] = [("a", 1), ("a", 2), ("b", 1)]
VALUES: list[syntax.Value] = [0, 1, -1, 2, 0.5, 1e300, BIG - 1, BIG, BIG + 1, -(1 << 62), (1 << 63) - 1, "a", "b"]
FUNCTIONS: tuple[syntax.AggregateFunction, ...] = get_args(syntax.AggregateFunction)
NUMBERS: list[syntax.Value] = [0, 1, 4, 0.1, 0.7, -2.5, 1e-30, 3e200]
MIXED: list[syntax.Value] = [1, 4, 0.1, BIG, BIG + 1, (1 << 63) - 1, -(1 << 62), "x", "y"]


def compare(data: st.DataObject, shape: Shape, rows: Sequence[Sequence[Row]], timeline: Timeline, **options: bool) -> None:
    """Draw facts of these rows for each port, and let both say what follows."""
    case = data.draw(cases(shape, rows, timeline, **options))
    assert said_by_kernel(case) == said_by_operator(case)


@st.composite
def metrics(draw: st.DrawFn, timeline: Timeline) -> Metric:
    """A distance of a few ticks, on rationals with open ends, or without an end."""
    tick = 1 if timeline.is_integer else 2
    a = draw(st.integers(0, 3)) * tick
    b = draw(st.sampled_from([a, a + tick, a + 3 * tick, POS]))
    is_open = not timeline.is_integer and b > a
    return Metric(a, b, int(is_open and draw(st.booleans())), int(is_open and b < POS and draw(st.booleans())))


# --- in time ------------------------------------------------------------------------------------------------------------


@TIMELINES
@given(data=st.data())
@drawn(25)
def test_union(timeline: Timeline, data: st.DataObject) -> None:
    """What either port brings."""
    compare(data, UnionShape(), [PAIRS, PAIRS], timeline)


@TIMELINES
@FUTURE
@given(data=st.data())
@drawn(25)
def test_dilate(timeline: Timeline, future: bool, data: st.DataObject) -> None:
    """◇ϱ and ◇⁺ϱ."""
    compare(data, DilateShape(data.draw(metrics(timeline)), future), [PAIRS], timeline)


@TIMELINES
@FUTURE
@given(data=st.data())
@drawn(25)
def test_erode(timeline: Timeline, future: bool, data: st.DataObject) -> None:
    """□ϱ and □⁺ϱ."""
    compare(data, ErodeShape(data.draw(metrics(timeline)), future), [PAIRS], timeline)


@given(data=st.data())
@drawn(25)
def test_erode_that_the_start_clips(data: st.DataObject) -> None:
    """`always M in [n]`: throughout the window, as far as it lies behind the start."""
    case = data.draw(cases(ErodeShape(Metric(0, data.draw(st.integers(0, 4))), False, True), [PAIRS, [()]], INTEGER))
    start = data.draw(st.integers(-4, 10))
    for at, ports in enumerate(case.stretches):
        is_told = ports[0][1] >= start and all(before[0][1] < start for before in case.stretches[:at])
        ports[1] = [((), start, start)] if is_told else [], POS if ports[0][1] >= start else ports[0][1]
    assert said_by_kernel(case) == said_by_operator(case)


@TIMELINES
@pytest.mark.parametrize("operator", ["since", "until"])
@pytest.mark.parametrize(
    ("left", "right"),
    [("x", "x"), ("xy", "x"), ("y", "xy"), ("xy", "yx"), ("", "x"), ("x", "")],
    ids=lambda names: names or "-",
)
@given(data=st.data())
@drawn(25)
def test_since_and_until(timeline: Timeline, operator: str, left: str, right: str, data: st.DataObject) -> None:
    """M1 since M2 and M1 until M2, of the same or other columns; with more of them, M1 has to hold somewhere."""
    metric = data.draw(metrics(timeline).filter(lambda each: set(left) <= set(right) or not _is_free(each, timeline)))
    shape = PairShape("since" if operator == "since" else "until", metric, tuple(left), tuple(right))
    rows = [sorted({tuple({"x": x, "y": y}[name] for name in names) for x, y in PAIRS}, key=repr) for names in (left, right)]
    compare(data, shape, rows, timeline)


def _is_free(metric: Metric, timeline: Timeline) -> bool:
    return without_left(metric, timeline.touch) is not None


@TIMELINES
@pytest.mark.parametrize("negated", ["X", "XY", "_X", "YX", "1X", "XX", "_", ""])
@given(data=st.data())
@drawn(25)
def test_latch(timeline: Timeline, negated: str, data: st.DataObject) -> None:
    """`not N since[0,∞) M`."""
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a")]
    compare(data, LatchShape(("X", "Y"), terms(negated)), [rows_of(negated), rows], timeline)


@TIMELINES
@pytest.mark.parametrize("by", [(0,), (), (0, 1), (1,)])
@given(data=st.data())
@drawn(25)
def test_latest(timeline: Timeline, by: tuple[int, ...], data: st.DataObject) -> None:
    """What a group had last, as long as it is not too old."""
    size = data.draw(st.sampled_from([0, 2, 4, 10, POS]))
    compare(data, LatestShape(size, by), [PAIRS], timeline)


@given(data=st.data())
@drawn(25)
def test_bind(data: st.DataObject) -> None:
    """A row for each time."""
    compare(data, BindShape(), [PAIRS, []], INTEGER, is_sharp=False)


@pytest.mark.parametrize("by", [0, 3, -2])
@given(data=st.data())
@drawn(25)
def test_move(by: int, data: st.DataObject) -> None:
    """Rows at the times that they name."""
    named: list[syntax.Value] = [0, 3, 4, 0.5, "x", -3, 1 << 33, BIG, BIG + 1, 1 << 60, (1 << 63) - 1, -(1 << 60)]
    compare(data, MoveShape(by, POS), [[("a", value) for value in named]], INTEGER)


@TIMELINES
@given(data=st.data())
@drawn(25)
def test_stepped(timeline: Timeline, data: st.DataObject) -> None:
    """`sometime M in [0 step d]`."""
    compare(data, SteppedShape(data.draw(st.sampled_from([2, 4, 10]))), [PAIRS], timeline)


# --- at one time --------------------------------------------------------------------------------------------------------

RULES = [
    "m(Y, X) :- p(X, Y).",
    "m(X) :- p(X, X).",
    "m(X, c) :- p(X, 1).",
    "m(X, Z) :- p(X, Y), Z = X + Y.",
    "m(X, Z) :- p(X, Y), Z = X * Y - 1.",
    "m(X, Z) :- p(X, Y), Z = X / Y.",
    "m(X, Z) :- p(X, Y), Z = X // Y.",
    "m(X, Z) :- p(X, Y), Z = X mod Y.",
    "m(X, Z) :- p(X, Y), Z = min(X, Y), Z < 3.",
    "m(X, Z) :- p(X, Y), Z = abs(X), Y != a.",
    "m(X) :- p(X, Y), X < Y.",
    "m(X) :- p(X, Y), X = Y.",
    "m(X) :- p(X, Y), X >= 1, Y > a.",
    "m(X) :- p(X, Y), X + 1 > Y.",
    "m(X, Y, Z) :- p(X, Y), q(Y, Z).",
    "m(X, Y) :- p(X, Y), q(X, Y).",
    "m(X, Z) :- p(X, Y), q(Z, _), Z > Y.",
    "m(X, W) :- p(X, Y), q(Y, Z), W = X - Z, W > 0.",
    "m(X) :- p(X, _), q(1, _).",
    "m(X, Y, Z) :- p(X, Y), q(Y, Z), r(Z, X).",
    "m(X) :- p(X, _), q(_, X), r(X, Y), Y != 2.",
]


@pytest.mark.parametrize("rule", RULES)
@given(data=st.data())
@drawn(25)
def test_join(rule: str, data: st.DataObject) -> None:
    """Joins of one to three atoms, with comparisons and arithmetic over all kinds of values."""
    shape = join_of(rule)
    chosen = st.lists(st.sampled_from(VALUES), min_size=2, max_size=4)
    values = data.draw(chosen | st.just([1, 2, 3]))
    rows: list[Row] = [(one, other) for one in values for other in values]
    compare(data, shape, [rows for _ in shape.atoms], data.draw(st.sampled_from([RATIONAL, INTEGER])))


@TIMELINES
@pytest.mark.parametrize("negated", ["X", "XY", "_X", "YX", "1X", "XX", "_", ""])
@given(data=st.data())
@drawn(25)
def test_antijoin(timeline: Timeline, negated: str, data: st.DataObject) -> None:
    """`M, not N`."""
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a")]
    compare(data, AntiJoinShape(("X", "Y"), terms(negated)), [rows, rows_of(negated)], timeline)


def terms(names: str) -> tuple[syntax.Term, ...]:
    """The terms of an atom: `X` and `Y`, `_`, and 1."""
    return tuple(Wildcard() if name == "_" else Constant(1) if name == "1" else Variable(name) for name in names)


def rows_of(names: str) -> list[Row]:
    """Rows for an atom, of which some fit."""
    rows: list[Row] = [()]
    for name in names:
        rows = [(*row, value) for row in rows for value in ((1, 2, "a") if name == "1" else ("a", "b"))]
    return rows


def join_of(rule: str) -> JoinShape:
    """The shape of the join in a rule's plan."""
    plan = tidelog.compile(f"{rule} output m.")
    (found,) = [step.shape for step in plan.steps if isinstance(step.shape, JoinShape)]
    return found


# --- over windows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_points", [True, False], ids=["points", "ranges"])
@pytest.mark.parametrize("function", FUNCTIONS)
@given(data=st.data())
@drawn(25)
def test_aggregate(function: syntax.AggregateFunction, of_points: bool, data: st.DataObject) -> None:
    """Each function, over windows that move with each tick, and over those that end at multiples."""
    values = data.draw(st.sampled_from([NUMBERS, MIXED]))
    rows: list[Row] = [(key, value, other) for key in ("a", "b") for value in values for other in (0, 1)]
    fraction = data.draw(st.sampled_from([Fraction(0), Fraction("0.3"), Fraction(1, 2), Fraction(1)]))
    shape = AggregateShape(
        function,
        data.draw(st.integers(0, 6)),
        data.draw(st.sampled_from([1, 1, 2, 3, 7])),
        data.draw(st.sampled_from([(0,), (), (2, 0)])),
        None if function == "count" else 1,
        fraction if function == "quantile" else None,
    )
    compare(data, shape, [rows], INTEGER, of_points=of_points)


@pytest.mark.parametrize("of_points", [True, False], ids=["points", "ranges"])
@pytest.mark.parametrize("is_sum", [False, True], ids=["count", "sum"])
@given(data=st.data())
@drawn(25)
def test_threshold(is_sum: bool, of_points: bool, data: st.DataObject) -> None:
    """Enough in a window."""
    values = data.draw(st.sampled_from([NUMBERS, MIXED]))
    rows: list[Row] = [(key, value) for key in ("a", "b") for value in values]
    least = data.draw(st.sampled_from([Fraction(1, 3), *map(Fraction, (1, 2, 3, 5, 8, BIG, 1 << 64))]))
    by = data.draw(st.sampled_from([(0,), ()]))
    size = data.draw(st.integers(0, 6) | st.sampled_from([1 << 20, 1 << 33]))
    is_strict = is_sum and data.draw(st.booleans())
    least = least if is_sum else max(least, Fraction(1))  # a count is compared with a whole number, which says all
    shape = ThresholdShape(size, by, 1 if is_sum else None, least, is_strict)
    compare(data, shape, [rows], INTEGER, of_points=of_points)

"""What kernels once got wrong, and what no drawn case says of them: how much they keep, and what they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline
from tidelog.plans.plan.plan import AggregateShape, DilateShape, ErodeShape, Feed, PairShape, Shape, Step, ThresholdShape
from tidelog.runtime.columns.deploy import build_kernel

INTEGER = Timeline("integer")


def kernel_of(shape: Shape, *widths: int) -> Kernel:
    """The kernel of a step with this shape, over ports of so many arguments."""
    feeds = (Feed("stream", "p"),) * len(widths)
    return build_kernel(Step("step", "m", shape, feeds), widths, INTEGER, Pool())


def told(kernel: Kernel, frontier: int, *ports: list[Fact], reached: int | None = None) -> list[Fact]:
    """What a kernel tells when facts come on its ports, and these are known so far."""
    batches = [batch_of(facts, width, kernel.pool) for facts, width in zip(ports, kernel.widths, strict=True)]
    found = kernel.advance(batches, [frontier] * len(ports), frontier if reached is None else reached)
    return sorted(found.tidied(kernel.pool).facts(kernel.pool), key=repr)


def test_what_has_no_begin_is_told_without_one() -> None:
    """The first stretch begins where nothing does: not one tick later."""
    kernel = kernel_of(DilateShape(Metric(0, 0), False), 1)
    assert told(kernel, 5, [(("a",), NEG, 9)]) == [(("a",), NEG, 5)]
    assert told(kernel, POS, []) == [(("a",), 6, 9)]


def test_nothing_is_told_before_anything_is_known() -> None:
    """An `until` without an end reaches back to all times: it tells nothing before the end, and all of it then."""
    kernel = kernel_of(PairShape("until", Metric(0, POS), ("x",), ("x",)), 1, 1)
    assert told(kernel, 5, [(("a",), NEG, 9)], [(("a",), 3, 3)], reached=NEG) == []
    assert told(kernel, POS, [], []) == [(("a",), NEG, 3)]


def test_what_has_a_begin_has_not_always_held() -> None:
    """□[0,∞) of what goes on from 3 holds never, not at the end of time."""
    kernel = kernel_of(ErodeShape(Metric(0, POS), False), 1)
    assert told(kernel, POS, [(("a",), 3, POS), (("b",), NEG, 4)]) == [(("b",), NEG, 4)]


def test_texts_are_counted_where_numbers_are_summed() -> None:
    """Once for each row, however often a stretch says it."""
    kernel = kernel_of(AggregateShape("sum", 3, 1, (0,), 1), 2)
    facts: list[Fact] = [(("a", "x"), 1, 1), (("a", "x"), 1, 1), (("a", 2), 1, 1)]
    assert told(kernel, 1, facts) == [(("a", 2), 1, 1)]
    assert told(kernel, 2, [(("a", "y"), 2, 2)]) == [(("a", 2), 2, 2)]
    assert kernel.failed == 2


def test_sums_beyond_all_floats_are_no_values() -> None:
    """They are counted; where one of the two has left the window there is a sum again."""
    kernel = kernel_of(AggregateShape("sum", 3, 1, (), 0), 1)
    assert told(kernel, 9, [((1.5e308,), 1, 1), ((1.6e308,), 2, 2)]) == [((1.5e308,), 1, 1), ((1.6e308,), 5, 5)]
    assert kernel.failed == 1


def test_what_changes_at_each_of_very_many_ticks_is_refused() -> None:
    """As row by row; with a step it is told."""
    with pytest.raises(OverflowError, match="it has more than 1,000,000 values one after another"):
        told(kernel_of(AggregateShape("count", 1 << 30, 1, (), None), 1), POS, [(("a",), 0, 2_000_000)])
    coarse = kernel_of(AggregateShape("count", 1_999_999, 1_000_000, (), None), 1)
    assert told(coarse, 2_000_000, [(("a",), 1, 2_000_000)]) == [
        ((1_000_000,), 1_000_000, 1_999_999),
        ((2_000_000,), 2_000_000, 2_000_000),
    ]


def test_a_mean_that_stays_the_same_is_told_at_once() -> None:
    """While a window fills with one value, for however long."""
    kernel = kernel_of(AggregateShape("avg", 1 << 40, 1, (), 0), 1)
    assert told(kernel, POS, [((0.1,), 0, 1 << 50)]) == [((0.1,), 0, (1 << 50) + (1 << 40))]


def test_sums_over_windows_without_room_for_digits_go_row_by_row() -> None:
    """In windows of 2⁵⁸ ticks."""
    kernel = kernel_of(AggregateShape("avg", 1 << 58, 1, (), 0), 1)
    assert told(kernel, 5, [((0.1,), 0, POS)]) == [((0.1,), 0, 5)]
    assert told(kernel, 9, []) == [((0.1,), 6, 9)]
    threshold = kernel_of(ThresholdShape(1 << 58, (), 0, Fraction(1, 4)), 1)
    assert told(threshold, 5, [((0.1,), 0, POS)]) == [((), 2, 5)]
    assert told(threshold, 9, []) == [((), 6, 9)]


def test_a_window_at_a_multiple_is_told_until_the_next() -> None:
    """A stretch may end anywhere in between, and no row is kept that neither this window has nor a later one."""
    kernel = kernel_of(AggregateShape("sum", 4, 10, (), 0), 1)
    assert told(kernel, 12, [((1,), 5, 5), ((2,), 7, 7), ((4,), 11, 11)]) == [((2,), 10, 12)]
    assert kernel.kept() == 2  # the row at 7, and what is told of the window beyond the frontier
    assert told(kernel, 14, []) == [((2,), 13, 14)]
    assert told(kernel, 25, [((3,), 16, 16)]) == [((2,), 15, 19), ((3,), 20, 25)]


def test_rows_of_one_time_are_told_apart_however_many_there_are() -> None:
    """Beside each other or not, each counts once."""
    kernel = kernel_of(AggregateShape("count", 0, 1, (), None), 1)
    facts: list[Fact] = [((number % 40,), 1, 1) for number in range(100)] + [((1,), 2, 2)] * 3
    assert told(kernel, 2, facts) == [((1,), 2, 2), ((40,), 1, 1)]


def test_what_always_holds_weighs_as_much_as_its_window() -> None:
    """Beside a reading at one time alone, the sum has room for all 2⁴⁰ time points of it."""
    last = (1 << 40) - 1
    always, beside = float(Fraction(0.1) * (1 << 40)), float(Fraction(0.1) * (1 << 40) + Fraction(0.3))
    found = told(kernel_of(AggregateShape("sum", last, 1, (), 0), 1), POS, [((0.1,), NEG, POS), ((0.3,), 5, 5)])
    assert found == [((always,), NEG, 4), ((always,), 6 + last, POS), ((beside,), 5, 5 + last)]

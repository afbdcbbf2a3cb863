"""Aggregates over windows: every function, by its definition at each time point."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from operators.deadlines import check_deadline
from operators.driving import FIRST, LAST, Driver, histories
from operators.telling import hear, said
from oracle.aggregates import result_of
from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.grouped.counting.sums import rounded
from tidelog.operators.stores.pieces import Pieces
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AggregateShape
from tidelog.plans.tree import syntax

FUNCTIONS: tuple[syntax.AggregateFunction, ...] = get_args(syntax.AggregateFunction)
ROWS: list[Row] = [("a", 1, 0), ("a", 4, 0), ("a", 4, 1), ("b", 0.1, 0), ("b", 0.7, 0), ("a", "x", 0)]


def aggregate(
    function: syntax.AggregateFunction = "avg", size: int = 10, step: int = 1, *, announces: bool = False
) -> Aggregate:
    fraction = Fraction("0.3") if function == "quantile" else None
    value = None if function == "count" else 1
    operator = Aggregate(AggregateShape(function, size, step, (0,), value, fraction), lambda row: row[:1])
    operator.pieces = None if announces else Pieces()
    return operator


def points(*spells: tuple[int, object]) -> list[Fact]:
    """Readings of one group: facts at one time each."""
    return [(("a", value, 0), time, time) for time, value in spells]  # type: ignore[misc] # values of any kind


def test_a_mean_is_told_as_it_changes() -> None:
    """It changes where a reading comes and where one leaves the window."""
    operator = aggregate(size=3)
    assert operator.receive(0, points((1, 2), (3, 4)), 3) == [(("a", 2), 1, 2), (("a", 3), 3, 3)]
    assert operator.receive(0, [], 6) == [(("a", 3), 4, 4), (("a", 4), 5, 6)]
    assert operator.receive(0, [], 7) == []
    assert operator.entries() == 0
    assert operator.frontier == 7


def test_what_holds_counts_at_each_time_point() -> None:
    """A fact over four ticks counts as four, so that a mean is weighed by time."""
    operator = aggregate(size=3)
    assert operator.receive(0, [(("a", 10, 0), 0, 2), (("a", 2, 0), 3, 3)], 3) == [(("a", 10), 0, 2), (("a", 8), 3, 3)]


def test_a_late_reading_comes_where_it_belongs() -> None:
    """Within the lateness nothing has been told yet, so order of arrival makes no difference."""
    operator = aggregate("sum", size=10)
    operator.receive(0, points((1, 1), (9, 4)), 0)
    assert operator.receive(0, points((5, 2)), 9) == [(("a", 1), 1, 4), (("a", 3), 5, 8), (("a", 7), 9, 9)]


def test_sums_are_exact() -> None:
    """Numbers of very different size leave no trace when they leave the window."""
    operator = aggregate("sum", size=3)
    operator.receive(0, points((1, 0.1), (2, 1e300), (3, 0.2), (4, -1e300)), 4)
    assert operator.receive(0, [], 5) == [(("a", 0.2), 5, 5)]
    assert operator.receive(0, [], 6) == [(("a", -1e300), 6, 6)]
    exact = aggregate("sum", size=30)
    told = exact.receive(0, points(*((i, 0.1) for i in range(10)), (10, 1e300), (11, -1e300)), 11)
    assert told[-1] == (("a", 1), 11, 11)


def test_what_is_too_large_has_no_value() -> None:
    """A sum beyond 64 bits is a float; one beyond all floats is counted as a failure, and none."""
    operator = aggregate("sum", size=1)
    told = operator.receive(0, points((1, 2**62), (2, 2**62), (3, 1e308), (4, 1e308), (6, 1)), 6)
    assert told == [
        (("a", 2**62), 1, 1),
        (("a", 2.0**63), 2, 2),
        (("a", 1e308), 3, 3),
        (("a", 1e308), 5, 5),
        (("a", 1), 6, 6),
    ]
    assert operator.failed_evaluations() == 1


def test_texts_have_no_sum() -> None:
    """A text among numbers is passed over and counted; alone, its group has no value."""
    operator = aggregate("sum", size=1)
    assert operator.receive(0, points((1, "x"), (2, 5)), 2) == [(("a", 5), 2, 2)]
    assert operator.failed_evaluations() == 1


def test_steps_tell_what_the_last_multiple_saw() -> None:
    """With a step, the value of the last multiple goes on until the next, and is known until then."""
    operator = aggregate("count", size=10, step=10)
    assert operator.receive(0, points((1, 1), (7, 1), (12, 1)), 12) == [(("a", 2), 10, 19)]
    assert operator.frontier == 19
    assert operator.deadline() == (0, 20)
    assert operator.receive(0, [], 19) == []
    assert operator.receive(0, [], 20) == [(("a", 1), 20, 29)]


def test_what_holds_since_ever_is_counted_since_ever() -> None:
    """A fact without a begin fills each window before its end; one without an end each behind its begin."""
    operator = aggregate("count", size=2)
    told = operator.receive(0, [(("a", 1, 0), NEG, 5), (("b", 1, 0), 7, POS)], POS)
    assert told == [
        (("a", 3), NEG, 5),
        (("a", 2), 6, 6),
        (("a", 1), 7, 7),
        (("b", 1), 7, 7),
        (("b", 2), 8, 8),
        (("b", 3), 9, POS),
    ]


def test_a_long_fact_costs_no_more_than_its_answers() -> None:
    """A value that is held for a long time in a long window is one mean, told as one range."""
    operator = aggregate("avg", size=10**15)
    long: list[Fact] = [(("a", 20, 0), 0, 10**15), (("a", 22, 0), 10**15 + 1, 10**15 + 1)]
    assert operator.receive(0, long[:1], 10**14) == [(("a", 20), 0, 10**14)]
    assert operator.entries() == 1


@pytest.mark.long
def test_too_many_values_are_refused() -> None:
    """A count that changes at each of a billion ticks is refused as soon as a million have been told."""
    operator = aggregate("count", size=10**9)
    with pytest.raises(OverflowError, match="more than 1,000,000 values"):
        operator.receive(0, [(("a", 20, 0), 0, 10**9)], POS)


def test_a_reading_costs_the_same_in_any_window() -> None:
    """The work follows what comes and goes, not what is in the window."""
    for function in FUNCTIONS:
        operator = aggregate(function, size=10**12)
        for time in range(0, 3000, 3):
            operator.receive(0, points((time, time % 97)), time)
        assert operator.statistics().sent <= 2 * 3000


def test_groups_are_forgotten() -> None:
    """A group without a fact in its window leaves nothing behind."""
    operator = aggregate("max", size=5)
    for time in range(0, 1000, 10):
        operator.receive(0, [((f"s{time}", 1, 0), time, time)], time)
    assert len(operator.groups) <= 2


def test_what_goes_on_is_announced() -> None:
    """Only what changes is told at each frontier; what goes on, once."""
    operator = aggregate("last", size=10**9, announces=True)
    hear(operator, 0, [((f"s{i}", 1, 0), 0, 0) for i in range(10_000)], 0)
    told = [hear(operator, 0, [(("s5", i % 3, 0), i, i)], i) for i in range(1, 500)]
    assert told[41] == said(begun={("s5", 42 % 3): 42}, ended=[(("s5", 41 % 3), 41, 41)])
    assert all(len(facts) == 3 for facts in told[1:])


def test_a_value_that_stays_is_not_told_again() -> None:
    """Readings that change nothing take nothing back, and announce nothing anew."""
    operator = aggregate("max", size=10**9, announces=True)
    assert hear(operator, 0, points((0, 9)), 0) == said(begun={("a", 9): 0})
    assert [hear(operator, 0, points((time, time % 9)), time) for time in range(1, 100)] == [said()] * 99
    end = hear(operator, 0, [], POS)
    assert end.ended == [(("a", 9), 0, 10**9)]
    assert end.facts == [(("a", 8), 10**9 + 1, 10**9 + 98), (("a", 0), 10**9 + 99, 10**9 + 99)]


def test_a_value_that_changes_at_each_tick_is_told_as_facts() -> None:
    """It would be taken back at the next tick; only where it stays is it announced."""
    operator = aggregate("count", size=3, announces=True)
    assert hear(operator, 0, [(("a", 1, 0), 1, 9)], 2) == said([(("a", 1), 1, 1), (("a", 2), 2, 2)])
    assert hear(operator, 0, [], 6) == said([(("a", 3), 3, 3)], begun={("a", 4): 4})
    assert hear(operator, 0, [], 8) == said()
    assert hear(operator, 0, [], 10) == said([(("a", 3), 10, 10)], ended=[(("a", 4), 4, 9)])


def test_a_group_is_few_containers() -> None:
    """Garbage collection goes through all containers, so that many groups cost what is in them."""
    operator = aggregate("avg", size=10**6, announces=True)
    gc.collect()
    before = len(gc.get_objects())
    for time in range(3):
        operator.receive(0, [((f"s{i}", 0.5 + i, time), time, time) for i in range(1000)], time)
    gc.collect()
    assert len(gc.get_objects()) - before < 5 * 1000


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@drawn(60)
@given(data=st.data())
def test_definition(function: syntax.AggregateFunction, data: st.DataObject) -> None:
    """In any order, through snapshots: the function of all pairs in the window, exactly."""
    size, step = data.draw(st.integers(0, 12)), data.draw(st.sampled_from([1, 1, 2, 3, 7]))
    history = data.draw(histories([ROWS]))

    def build() -> Aggregate:
        return aggregate(function, size, step)

    driver = Driver(build, data.draw(st.booleans()))
    for port, facts, frontier in history.messages:
        _check_maximal(driver.feed(port, facts, frontier))
        assert isinstance(driver.operator, Aggregate)
        check_deadline(driver.operator, build)
    assert _shown(driver.sent) == _expected(history.coverage(0), function, size, step)
    assert driver.operator.frontier == POS


def _shown(sent: Sequence[Fact]) -> dict[tuple[object, ...], set[int]]:
    found: dict[tuple[object, ...], set[int]] = {}
    for row, lo, hi in sent:
        times = range(max(lo, FIRST), min(hi, LAST) + 1)
        found.setdefault((*row, row[1].__class__), set()).update(times)
    return {row: times for row, times in found.items() if times}


def _expected(
    coverage: dict[Row, set[int]], function: syntax.AggregateFunction, size: int, step: int
) -> dict[tuple[object, ...], set[int]]:
    asked = syntax.Aggregate(
        syntax.Variable("A"),
        function,
        None if function == "count" else syntax.Variable("V"),
        syntax.Atom("p"),
        syntax.WindowSize(Fraction(size)),
        fraction=Fraction("0.3") if function == "quantile" else None,
    )
    found: dict[tuple[object, ...], set[int]] = {}
    for time in range(FIRST, LAST + 1):
        end = time - time % step
        for group in ("a", "b"):
            pairs = [
                (at, None if function == "count" else row[1])
                for row, times in coverage.items()
                if row[0] == group
                for at in range(end - size, end + 1)
                if at in times
            ]
            value = result_of(asked, pairs)
            if value is not None:
                found.setdefault((group, value, value.__class__), set()).add(time)
    return found


def _check_maximal(told: Sequence[Fact]) -> None:
    """Of what one message tells, no two ranges of one value touch."""
    ends = {(row, hi) for row, _, hi in told}
    assert not [fact for fact in told if (fact[0], fact[1] - 1) in ends]


def test_a_mean_that_is_rounded_to_a_large_whole_number_is_an_integer() -> None:
    """As every whole number below 2⁶³ is, so that equal values print the same."""
    values = [1 << 53, (1 << 53) + 1, (1 << 53) + 1]
    mean = rounded(sum(values), len(values))
    assert (mean, type(mean)) == (1 << 53, int)
    large = rounded((1 << 80) + 1, 2)
    assert (large, type(large)) == (float(1 << 79), float)

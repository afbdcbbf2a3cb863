"""Formulas of past-time MTL become monitors that hold where the formulas do, by definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from benchmarks.suites.formulas import Both, Bound, Formula, Not, Past, Proposition, Since, parse_formula
from benchmarks.suites.monitors import program_of
from benchmarks.suites.timescales import batches_of, monitor
from benchmarks.suites.traces import PROPERTIES, Property, Row
from suites.by_definition import Trace, holds

BOUNDS = st.builds(
    lambda low, length: Bound(low, None if length is None else low + length),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(0, 4)),
)
TRACES = st.lists(st.frozensets(st.sampled_from("pqrs")), min_size=1, max_size=12)


def _larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.one_of(
        st.builds(Not, inner),
        st.builds(Both, st.sampled_from(["and", "or", "implies"]), inner, inner),
        st.builds(Past, st.just("pre"), inner),
        st.builds(Past, st.sampled_from(["once", "historically"]), inner, BOUNDS),
        st.builds(Since, inner, inner, BOUNDS),
    )


FORMULAS: st.SearchStrategy[Formula] = st.recursive(st.builds(Proposition, st.sampled_from("pq")), _larger, max_leaves=5)


def told(formula: Formula, trace: Trace, size: int = 3) -> list[bool]:
    """What the monitor says of each row, as rows come in batches."""
    rows = [Row(at, at, tuple(sorted(names))) for at, names in enumerate(trace, 1)]
    plan = tidelog.compile(program_of(formula))
    covered = {time for lo, hi in monitor(plan, batches_of(plan, rows, size)) for time in range(lo, hi + 1)}
    assert covered <= set(range(1, len(rows) + 1)), "it holds at rows alone"
    return [row.begin in covered for row in rows]


@given(FORMULAS, TRACES)
def test_a_monitor_holds_where_its_formula_does(formula: Formula, trace: Trace) -> None:
    """Drawn formulas over drawn traces, against the definition."""
    assert told(formula, trace) == [holds(formula, trace, at) for at in range(len(trace))]


@given(st.sampled_from(PROPERTIES), st.integers(1, 3), st.integers(0, 2), TRACES)
def test_each_property_is_monitored_right(item: Property, a: int, more: int, trace: Trace) -> None:
    """The ten properties with drawn bounds, over traces in which they hold and others."""
    formula = parse_formula(item.formula(a, a + more))
    assert told(formula, trace) == [holds(formula, trace, at) for at in range(len(trace))]


@given(st.sampled_from(PROPERTIES), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_a_property_holds_at_each_row_of_what_is_drawn_for_it(item: Property, a: int, more: int, seed: int) -> None:
    """By the definition, so that what a benchmark says is right."""
    rows = list(item.trace(a, a + more, 20, seed))
    trace = [frozenset(row.holds) for row in rows]
    assert [row.begin for row in rows] == [*range(1, len(rows) + 1)]
    assert len(rows) >= 20
    formula = parse_formula(item.formula(a, a + more))
    assert all(holds(formula, trace, at) for at in range(len(trace)))


@pytest.mark.parametrize("item", PROPERTIES, ids=lambda item: item.name)
def test_a_property_can_fail(item: Property) -> None:
    """Each formula is false somewhere on some trace: none of them says nothing."""
    formula = parse_formula(item.formula(2, 4))
    traces = (["q", "ps", "r"], ["p", "r"], ["", "q", "s", "r"], [""] * 7, ["q", *[""] * 5, "r"], ["q", "", "r"])
    assert not all(holds(formula, [frozenset(row) for row in trace], at) for trace in traces for at in range(len(trace)))


def test_a_column_with_a_name_of_the_program_is_refused() -> None:
    """A proposition `tick` would be taken for the rows."""
    with pytest.raises(ValueError, match="`tick` has a name that the program needs itself"):
        program_of(Proposition("tick"))

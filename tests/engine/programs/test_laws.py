"""Laws that hold for every program: shifted, renamed, extended, negated twice, or batched in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.running import multiset
from engine.test_session_equals_oracle import compiled, show
from oracle.agreement import Runs, records_of, runs_of
from oracle.programs import EVERYTHING, NON_RECURSIVE, PAST_ONLY, intervals, programs, streams
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Constant, Interval, Program, Value

pytestmark = pytest.mark.slow

TIMELINES = ["rational", "integer"]


def answers(plan: Plan, records: Sequence[Record], batch: int = 1, **options: Any) -> list[Record]:
    session = Session(plan, **options)
    for i in range(0, len(records), batch):
        session.push_records(records[i : i + batch])
    session.finish()
    return session.pull_records()


@pytest.mark.parametrize("timeline", TIMELINES)
@given(data=st.data())
def test_shifting_the_stream_shifts_the_answers(timeline: str, data: st.DataObject) -> None:
    """Rules know no absolute time: later facts give the same answers, later."""
    program = data.draw(programs(timeline, EVERYTHING))
    plan = compiled(program)
    facts = data.draw(streams(program))
    by = data.draw(st.integers(-50, 1000))
    later = [(name, row, _moved(interval, by)) for name, row, interval in facts]
    distance = plan.timeline.encode_point(Fraction(by))
    expected = [
        (name, row, _shifted(lo, distance), _shifted(hi, distance))
        for name, row, lo, hi in answers(plan, records_of(plan, facts))
    ]
    assert multiset(answers(plan, records_of(plan, later))) == multiset(expected), show(program, facts)


def _moved(interval: Interval, by: int) -> Interval:
    return replace(interval, low=interval.low + by, high=interval.high + by)


def _shifted(time: int, by: int) -> int:
    return time if time in (NEG, POS) else time + by


NAMES: dict[Value, Value] = {"a": "zeta", "b": 17, 0: "null", 1: "a", 2: -2.5, 3: "with space"}


@pytest.mark.parametrize("timeline", TIMELINES)
@given(data=st.data())
def test_renaming_constants_renames_the_answers(timeline: str, data: st.DataObject) -> None:
    """Without comparisons, constants are only names, in rules as in facts."""
    program = data.draw(programs(timeline, replace(EVERYTHING, comparisons=False)))
    plan, renamed = compiled(program), compiled(_with_names(program))
    records = records_of(plan, data.draw(streams(program)))
    expected = [(name, _renamed(row), lo, hi) for name, row, lo, hi in answers(plan, records)]
    found = answers(renamed, [(name, _renamed(row), lo, hi) for name, row, lo, hi in records])
    assert multiset(found) == multiset(expected)


def _with_names(node: Any) -> Any:
    """The program, or a part of it, with its constants renamed."""
    if isinstance(node, Constant):
        return Constant(NAMES[node.value])
    if isinstance(node, tuple):
        return tuple(map(_with_names, node))
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{item.name: _with_names(getattr(node, item.name)) for item in fields(node) if item.init})
    return node


def _renamed(row: Row) -> Row:
    return tuple(NAMES[value] for value in row)


@pytest.mark.parametrize("timeline", TIMELINES)
@given(data=st.data())
def test_more_facts_give_more_answers(timeline: str, data: st.DataObject) -> None:
    """Without negation, and with the start given (it clips windows), nothing is lost when facts are added."""
    program = data.draw(programs(timeline, replace(PAST_ONLY, negation=False, recursion=False, future=True)))
    plan = compiled(program)
    facts = data.draw(streams(program))
    some = [fact for fact in facts if data.draw(st.booleans())]
    fewer = runs_of(answers(plan, records_of(plan, some), start=0))
    more = runs_of(answers(plan, records_of(plan, facts), start=0))
    assert _within(fewer, more), show(program, facts)


def _within(fewer: Runs, more: Runs) -> bool:
    return all(any(a <= lo and hi <= b for a, b in more.get(fact, [])) for fact, runs in fewer.items() for lo, hi in runs)


@pytest.mark.parametrize("direction", ["minus", "plus"])
@pytest.mark.parametrize("timeline", TIMELINES)
@given(data=st.data())
def test_box_is_the_dual_of_diamond(timeline: str, direction: str, data: st.DataObject) -> None:
    """What always held is what did not sometime fail to hold, at all times from minus to plus infinity."""
    interval = str(data.draw(intervals(timeline, unbounded=direction == "minus")))
    program = parse(
        f"timeline {timeline}. input p(x). input every(x).\n"
        f"boxed(X) :- every(X), box{direction}{interval} p(X).\n"
        f"reached(X) :- every(X), diamond{direction}{interval} p(X).\n"
        "missing(X) :- every(X), not p(X).\n"
        f"not_sometime_missing(X) :- every(X), not diamond{direction}{interval} missing(X).\n"
        f"not_always_missing(X) :- every(X), not box{direction}{interval} missing(X).\n"
        "every(a). every(b).\n"
    )
    plan = compile_program(program)
    times = data.draw(st.lists(intervals(timeline, last=12), max_size=6))
    records = [("p", (data.draw(st.sampled_from("ab")),), *plan.timeline.encode_interval(time)) for time in times]
    records.sort(key=lambda record: record[2])
    runs = runs_of(answers(plan, records))
    by_predicate: dict[str, dict[Row, list[tuple[int, int]]]] = {}
    for (name, row), ranges in runs.items():
        by_predicate.setdefault(name, {})[row] = ranges
    assert by_predicate.get("not_sometime_missing") == by_predicate.get("boxed"), times
    assert by_predicate.get("not_always_missing") == by_predicate.get("reached"), times


@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
@given(data=st.data())
def test_batches_do_not_matter(emit: str, data: st.DataObject) -> None:
    """One fact at a time, or all at once: the same answers in every mode, recursion included."""
    program: Program = data.draw(programs(data.draw(st.sampled_from(TIMELINES)), EVERYTHING))
    plan = compiled(program)
    records = records_of(plan, data.draw(streams(program)))
    single = answers(plan, records, 1, emit=emit)
    batched = answers(plan, records, data.draw(st.integers(2, 20)), emit=emit)
    if emit == "intervals":
        assert runs_of(single) == runs_of(batched), format_program(program)
    else:
        assert multiset(single) == multiset(batched), format_program(program)


@given(data=st.data())
def test_repeated_facts_change_nothing(data: st.DataObject) -> None:
    """A fact that comes twice, or in two pieces, is the same fact."""
    program = data.draw(programs("rational", NON_RECURSIVE))
    plan = compiled(program)
    records = records_of(plan, data.draw(streams(program)))
    doubled = [piece for record in records for piece in (record, *_pieces(record))]
    assert runs_of(answers(plan, records)) == runs_of(answers(plan, doubled, lateness=100))


def _pieces(record: Record) -> list[Record]:
    name, row, lo, hi = record
    middle = (lo + hi) // 2
    return [(name, row, lo, middle), (name, row, middle, hi)] if lo < hi else [record]

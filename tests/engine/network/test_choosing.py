"""Rules that differ in a constant, or in a limit: a row finds those that it concerns, and they answer as each does alone."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

import tidelog
from drawing import drawn
from engine.test_deadlines import Calls
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.network.units import StepUnit
from tidelog.runtime.ports.interfaces import EmitMode

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
VALUES = st.one_of(st.integers(-3, 3), st.sampled_from([-0.5, 0.5, 1.5]), st.sampled_from(["a", "b", "c"]))
RULES = st.lists(st.tuples(st.sampled_from([*COMPARE]), VALUES, st.booleans()), min_size=1, max_size=12)


def passes(value: Value, sign: str, limit: Value) -> bool:
    """What a comparison says; of a number and a text it says no."""
    return isinstance(value, str) == isinstance(limit, str) and COMPARE[sign](value, limit)


def written(value: Value) -> str:
    return value if isinstance(value, str) else str(value)


@pytest.mark.parametrize("few", [0, 8], ids=["in order", "usual limits"])
@drawn(100)
@given(RULES, st.lists(VALUES, min_size=1, max_size=15), st.integers(1, 5))
def test_rules_with_limits_answer_as_each_does_alone(
    few: int, rules: list[tuple[str, Value, bool]], values: list[Value], batch: int
) -> None:
    """Numbers of both kinds, and texts; the limit at either side; facts alone and in batches."""
    text = "timeline integer. input v(x).\n"
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    for i, (sign, limit, turned) in enumerate(rules):
        condition = f"{written(limit)} {mirrored[sign]} X" if turned else f"X {sign} {written(limit)}"
        text += f"o{i}(X) :- v(X), {condition}. output o{i}.\n"
    with limits(few=few):
        session = Session(tidelog.compile(text))
        for i in range(0, len(values), batch):
            session.push_records([("v", (value,), at, at) for at, value in enumerate(values[i : i + batch], i)])
        session.finish()
    expected = [
        (f"o{i}", (value,), at, at)
        for at, value in enumerate(values)
        for i, (sign, limit, _) in enumerate(rules)
        if passes(value, sign, limit)
    ]
    assert sorted(session.pull_records(), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("few", [0, 8], ids=["in order", "usual limits"])
@drawn(60)
@given(RULES, st.lists(st.tuples(st.booleans(), VALUES, st.integers(1, 3)), min_size=1, max_size=12))
def test_what_stands_passes_limits_and_constants(
    few: int, rules: list[tuple[str, Value, bool]], events: list[tuple[bool, Value, int]]
) -> None:
    """A row that goes on holding begins and ends for those rules that it concerns, and for no others."""
    text = "timeline integer. input on(x). input off(x). m(X) :- not off(X) since on(X).\n"
    for i, (sign, limit, is_constant) in enumerate(rules):
        body = f"m({written(limit)}), m(X)" if is_constant else f"m(X), X {sign} {written(limit)}"
        text += f"o{i}(X) :- {body}. output o{i}.\n"
    at, held = 0, dict[Value, int]()
    spans: list[tuple[Value, int, int]] = []
    with limits(few=few):
        session = Session(tidelog.compile(text), emit="final")
        for is_on, value, gap in events:
            at += gap
            session.push_records([("on" if is_on else "off", (value,), at, at)])
            if is_on:
                held.setdefault(value, at)
            elif value in held:
                spans.append((value, held.pop(value), at))
        session.finish()
    told = {(name, row[0], time) for name, row, lo, hi in session.pull_records() for time in range(lo, min(hi, at) + 1)}
    spans += [(value, lo, at) for value, lo in held.items()]
    holding = {(value, time) for value, lo, hi in spans for time in range(lo, hi + 1)}
    expected = {
        (f"o{i}", value, time)
        for value, time in holding
        for i, (sign, limit, is_constant) in enumerate(rules)
        if ((limit, time) in holding if is_constant else passes(value, sign, limit))
    }
    assert told == expected


@pytest.mark.pure
def test_a_row_calls_the_rules_whose_limits_it_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand limits a value calls those that it passes; the others cost nothing."""
    rules = "".join(f"o{i}(X) :- v(X), X > {i}. output o{i}.\n" for i in range(1000))
    session = Session(tidelog.compile("timeline integer. input v(x).\n" + rules))
    session.push_records([("v", (500,), 0, 0)])
    calls = Calls(monkeypatch)
    for value, passed in ((0, 0), (3, 3), (40, 40)):
        before = calls.calls
        session.push_records([("v", (value,), value + 1, value + 1)])
        assert calls.calls - before <= passed + 1
        session.pull_records()


FORMS = (
    "o{i}(V) :- temp({c}, V).",
    "o{i}(V) :- temp({c}, V), V >= 1.",
    "o{i}(V) :- diamondminus[0,2] temp({c}, V).",
    "o{i}(V) :- boxminus[0,1] temp({c}, V).",
    "o{i}(V) :- temp({c}, V), temp(S, V), S != {c}.",
    "o{i}(V) :- temp({c}, V), temp(b, V).",
    "o{i}(V) :- temp({c}, V), not off(V).",
    "o{i}(V) :- o{j}(V), diamondminus[0,1] temp({c}, V).",
    "o{i}(N) :- N = sum(V) over temp({c}, V) in [2].",
    "bottom :- temp({c}, V), V > 1. o{i}(V) :- off(V).",
    "o{i}(V) :- temp({c}, V). o{i}(V) :- temp(a, V), off(V).",
)
EVENTS = st.tuples(st.sampled_from(["temp", "temp", "off"]), st.sampled_from("abcd"), st.integers(0, 2), st.integers(0, 2))


@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
@drawn(60)
@given(
    st.lists(st.tuples(st.sampled_from(FORMS), st.sampled_from("abcd")), min_size=2, max_size=8),
    st.lists(EVENTS, min_size=1, max_size=20),
    st.integers(1, 6),
)
def test_who_is_chosen_by_constants_takes_facts_at_once_or_later(
    emit: EmitMode, rules: list[tuple[str, str]], events: list[tuple[str, str, int, int]], batch: int
) -> None:
    """Steps that feed nobody take at once what is brought to them: the same answers, in the same order."""
    text = "timeline integer. input temp(s, v). input off(v). o0(V) :- temp(a, V).\n"
    text += "\n".join(form.format(i=i, j=i - 1, c=c) for i, (form, c) in enumerate(rules, 1))
    plan = tidelog.compile(text)
    at_once, later = Session(plan, emit=emit), Session(plan, emit=emit)
    units = [unit for unit in later._network._units if isinstance(unit, StepUnit)]
    for unit in units:
        unit.is_leaf = False
    time, facts = 0, list[Record]()
    for name, constant, value, step in events:
        time += step
        facts.append((name, (constant, value) if name == "temp" else (value,), time, time))
    for i in range(0, len(facts), batch):
        for session in (at_once, later):
            session.push_records(facts[i : i + batch])
        assert at_once.pull_records() == later.pull_records()
        assert at_once.pull_violations() == later.pull_violations()
    for session in (at_once, later):
        session.finish()
    assert at_once.pull_records() == later.pull_records()
    assert at_once.statistics() == later.statistics()
    assert at_once.snapshot() == later.snapshot()

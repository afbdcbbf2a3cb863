"""Plans that go over one history together say what each would say alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import pytest
from engine.test_session_equals_oracle import FRAGMENTS, compiled, show, until
from hypothesis import assume, given
from hypothesis import strategies as st

import tidelog
from columns.stretches import cut_times, stretches
from drawing import drawn
from oracle.agreement import differences, records_of
from oracle.programs import programs, streams
from tidelog import Plan, Session
from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.analysis.physical.in_columns import refused
from tidelog.plans.compiling.deriving import Values, plans_of
from tidelog.plans.data.facts import Record
from tidelog.plans.tree.parameters import with_parameters
from tidelog.plans.tree.syntax import Constant, Expression, Formula, Parameter, Program, Rule, Value, Variable
from tidelog.plans.tree.traverse import with_terms
from tidelog.runtime.columns.backtest import Backtesting
from tidelog.runtime.columns.sharing import Limit, Shared, limit_of
from tidelog.runtime.columns.stretches import Stretch

CANDIDATES: Sequence[Value] = (0, 1, 2, 3, 4, -1, -2, 0.5, 1.5, 2.5, 3.5)


def swept(plans: Sequence[Plan], records: Sequence[Record], cuts: Sequence[int] = ()) -> list[list[Record]]:
    """What each plan says of facts, all of them together, in stretches that end at these times."""
    pool = Pool()
    testing = Backtesting(plans, pool)
    for fresh, cut in stretches(plans[0], records, cuts, pool):
        testing.take(Stretch(fresh, cut))
    found = []
    for number, plan in enumerate(plans):
        outputs = testing.compare(number, {}, 0).outputs
        sides = {name: compared.new for name, compared in outputs.items() if name in plan.outputs}
        found.append([(name, *fact) for name, side in sides.items() if side is not None for fact in side.told.facts(pool)])
    return found


def with_parameter(program: Program, value: Value) -> Program:
    """A program with a parameter in place of a number, wherever that is compared or computed with."""

    def named(expression: Expression) -> Expression:
        if isinstance(expression, Constant) and expression == Constant(value):
            return Variable("LIMIT")
        operands = getattr(expression, "operands", None)
        return expression if operands is None else replace(expression, operands=tuple(map(named, operands)))  # type: ignore[type-var]

    def change(formula: Formula) -> Formula:
        return with_terms(formula, named)

    rules = tuple(
        replace(item, head=change(item.head), body=tuple(map(change, item.body))) if isinstance(item, Rule) else item
        for item in program.statements
    )
    return replace(program, statements=(rules[0], Parameter("LIMIT", value), *rules[1:]))


def given_values(program: Program, values: Values) -> Program:
    """The program with values of its parameters."""
    return replace(program, statements=with_parameters(program.statements, values))


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
@drawn(40)
def test_a_sweep_says_what_the_oracle_says_of_each_candidate(timeline: str, fragment: str, data: st.DataObject) -> None:
    """Wherever the parameter stands: in comparisons, arithmetic, heads, arguments, in several rules."""
    drawn_program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    program = with_parameter(drawn_program, data.draw(st.sampled_from((0, 1, 2, 3))))
    candidates: list[Values] = [{"LIMIT": value} for value in CANDIDATES]
    for values in candidates:
        compiled(given_values(program, values))
    plans = plans_of(lambda values: compiled(given_values(program, values)), candidates)
    assume(all(refused(plan) is None for plan in plans))
    facts = data.draw(streams(drawn_program))
    cuts = data.draw(cut_times(plans[0]))
    with patch("tidelog.runtime.columns.sharing._FEWEST_ROWS", 0):
        found = swept(plans, records_of(plans[0], facts), cuts)
    picked = data.draw(st.integers(0, len(candidates) - 1))
    one = given_values(program, candidates[picked])
    assert not differences(one, facts, found[picked], until(one, facts)), show(one, facts)


HEAD = """timeline integer, unit 1 s. parameter LIMIT = 3. parameter LOW = 1.
input temp(room: text, value). input mode(room: text).
"""
_NUMBERS: tuple[Value, ...] = (-2, -1, 0, 0.5, 1, 2, 3, 3.5, 4, 5)


def _readings(values: Sequence[Value]) -> st.SearchStrategy[list[tuple[int, str, Value]]]:
    return st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab"), st.sampled_from(values)), max_size=25)


READINGS = st.one_of(_readings(_NUMBERS), _readings((*_NUMBERS, "high", 2**53, 2**60 + 1, -(2**60))))
RULES = {
    "least": "hot(R) :- temp(R, V), V >= LIMIT. alarm(R) :- boxminus[0,1] diamondminus[0,2] hot(R).",
    "more": "alarm(R, V) :- temp(R, V), LIMIT < V.",
    "most": "alarm(R) :- diamondminus[0,2] (temp(R, V), V <= LIMIT).",
    "less, in an order of its own": "alarm(R, W) :- temp(R, V), W = V * 2, LIMIT > V, V != LOW.",
    "computed before": "alarm(R, V) :- temp(R, V), 6 // V > 0, V > LIMIT.",
    "computed behind": "alarm(R, V) :- temp(R, V), V > LIMIT, 6 // V > 0.",
    "equal": "alarm(R) :- temp(R, LIMIT).",
    "repeated": "twice(V, V) :- temp(_, V). alarm(V) :- twice(V, V), V > LIMIT.",
    "both ends": "alarm(R, V) :- temp(R, V), V >= LIMIT - LOW, V < LIMIT, V > LOW.",
    "two rules": "hot(R) :- temp(R, V), V >= LIMIT. cold(R) :- temp(R, V), V < LIMIT. alarm(R) :- not cold(R) since hot(R).",
    "head": "alarm(R, LIMIT) :- temp(R, V), V >= LIMIT.",
    "threshold": "alarm(R) :- count() over temp(R, V) in [5] by R >= LIMIT.",
    "aggregate": "alarm(R, M) :- hot(R, V), M = max(V) over hot(R, V) in [4] by R. hot(R, V) :- temp(R, V), V >= LIMIT.",
    "join": "alarm(R, V) :- temp(R, V), mode(R), V >= LIMIT.",
    "loop": "near(V) :- temp(_, V), V > LIMIT. alarm(V) :- near(V). alarm(W) :- alarm(V), temp(_, W), V > W, W > LIMIT.",
    "in time": "alarm(R) :- temp(R, V), V > LIMIT. alarm(R) :- diamondminus[3,3] alarm(R), mode(R).",
    "alarm": "alarm hot(room), priority high, acknowledge. hot(R) :- diamondminus[0,2] temp(R, V), V >= LIMIT. "
    "alarm(R) :- hot(R).",
    "tuples": "alarm(R) :- sometime (temp(R, 3)) in [#2]. alarm(R) :- temp(R, V), V > LIMIT.",
}


@pytest.mark.parametrize("name", RULES)
@given(
    readings=READINGS,
    modes=st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=5),
    limits=st.lists(st.sampled_from(CANDIDATES), min_size=1, max_size=12),
    lows=st.sampled_from([(1,), (0, 1), (2, 1, 0)]),
    cuts=st.lists(st.integers(0, 30), max_size=3),
)
@drawn(30)
def test_a_sweep_says_what_sessions_say_of_plans_compiled_one_by_one(
    name: str,
    readings: list[tuple[int, str, Value]],
    modes: list[tuple[int, str]],
    limits: list[Value],
    lows: tuple[int, ...],
    cuts: list[int],
) -> None:
    """In any order of the candidates, of one parameter and of two, over texts and numbers that floats do not carry, too."""
    text = HEAD + RULES[name] + " output alarm."
    candidates: list[Values] = [{"LIMIT": limit, "LOW": low} for limit in limits for low in lows]
    plans = plans_of(lambda values: tidelog.compile(text, parameters=values), candidates)
    records: list[Record] = [("temp", (room, value), time, time) for time, room, value in readings]
    records = sorted([*records, *(("mode", (room,), time, time) for time, room in modes)], key=lambda record: record[2])
    with patch("tidelog.runtime.columns.sharing._FEWEST_ROWS", 0):
        found = swept(plans, records, cuts)
    for values, told in zip(candidates, found, strict=True):
        session = Session(tidelog.compile(text, parameters=values), emit="final")
        session.push_records(records)
        session.finish()
        expected = session.pull_records()
        assert sorted(told, key=repr) == sorted(expected, key=repr), values


def _failed_and_sent(text: str, together: bool) -> list[tuple[int, int, int]]:
    """What the step of `alarm` has received, sent and failed to compute, with each limit."""
    plans = [tidelog.compile(text, parameters={"LIMIT": limit}) for limit in (0, 1, 2, 3)]
    records: list[Record] = [("temp", ("a", time % 5), time, time) for time in range(2_000)]
    found = []
    for group in [plans] if together else [[plan] for plan in plans]:
        pool = Pool()
        testing = Backtesting(group, pool)
        for fresh, cut in stretches(plans[0], records, [900], pool):
            testing.take(Stretch(fresh, cut))
        steps = [testing.statistics(number)["alarm"] for number in range(len(group))]
        found += [(step.received, step.sent, step.failed_evaluations) for step in steps]
    return found


@pytest.mark.parametrize("rules", ["V >= LIMIT, 6 // V > 1", "6 // V > 1, V >= LIMIT", "V >= LIMIT, W = 6 // V, W > 1"])
def test_counters_are_those_of_each_plan_by_itself(rules: str) -> None:
    """What a filter has been given, and what of it could not be computed."""
    text = (
        f"timeline integer. parameter LIMIT = 0. input temp(room, value). alarm(R, V) :- temp(R, V), {rules}. output alarm."
    )
    together = _failed_and_sent(text, together=True)
    assert together == _failed_and_sent(text, together=False)
    assert together[0][2] == 400


@pytest.mark.parametrize("rule", ["V >= LIMIT", "V > LIMIT", "V <= LIMIT", "V < LIMIT", "LIMIT < V, V < 6", "LIMIT >= V"])
def test_limits_may_come_in_any_order(rule: str) -> None:
    """What one has left is no start for a wider one."""
    text = (
        f"timeline integer. parameter LIMIT = 0. input temp(room, value). alarm(R, V) :- temp(R, V), {rule}. output alarm."
    )
    limits = (5, 2, 7, 7.5, 1, 3, 2, 8, 0, 6)
    plans = [tidelog.compile(text, parameters={"LIMIT": limit}) for limit in limits]
    records: list[Record] = [("temp", ("a", time * 7 % 10), time, time) for time in range(3_000)]
    alone = [swept([plan], records, [1_400])[0] for plan in plans]
    assert swept(plans, records, [1_400]) == alone


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("temp(R, V), V >= 3", Limit(1, True, 3.0)),
        ("temp(R, V), V > 3", Limit(1, True, 3.0)),
        ("temp(R, V), 3 >= V", Limit(1, False, 3.0)),
        ("temp(R, V), V < -0.5, V > 1", Limit(1, False, -0.5)),
        ("temp(V, V), V != 2, 3 < V", Limit(0, True, 3.0)),
        ("temp(R, V), V = 3", None),
        ("temp(R, V), V != 3", None),
        ("temp(R, V), V > R", None),
        ("temp(R, V), V >= 9007199254740992", None),
        ("temp(R, V), V * 2 > 1, V >= 3", None),
    ],
)
def test_a_limit_is_what_is_compared_before_anything_is_computed(body: str, limit: Limit | None) -> None:
    """With a number, and above it or below."""
    plan = tidelog.compile(f"timeline integer. input temp(room, value). a(V) :- {body}. output a.")
    assert limit_of(plan.step("a").shape) == limit


def test_a_filter_gets_what_a_wider_one_has_left() -> None:
    """In whatever order limits come: of the whole stretch only the widest one is asked."""
    pool = Pool()
    text = "timeline integer. parameter LIMIT = 0. input temp(value). a(V) :- temp(V), V >= LIMIT. output a."
    plans = [tidelog.compile(text, parameters={"LIMIT": limit}) for limit in (1_900, 1_500, 1_950, 1_990)]
    shared = Shared()
    entered = [shared.enter(plan) for plan in plans]
    batch = batch_of([((value,), value, value) for value in range(2_000)], 1, pool)
    for _ in range(2):
        shared.begin()
        needed = [each.needed(plan.step("a"), batch) for each, plan in zip(entered, plans, strict=True)]
        assert [len(rows) for rows in needed] == [100, 500, 50, 10]
        assert all(rows.columns[0].min() >= 2_000 - len(rows) for rows in needed)


def test_what_one_plan_alone_says_is_not_kept_for_others() -> None:
    """So candidates' own rows are there for a stretch of one of them at a time."""
    text = "timeline integer. parameter LIMIT = 0. input temp(value). output a, b. "
    text += "a(V) :- temp(V), V >= LIMIT. b(V) :- temp(V), V < 9."
    plans = [tidelog.compile(text, parameters={"LIMIT": limit}) for limit in (1, 2)]
    shared = Shared()
    one, other = (shared.enter(plan) for plan in plans)
    rows = Batch((np.array([1.0]),), np.array([1]), np.array([1]), is_tidy=True)
    for name in ("a", "b"):
        one.say(plans[0].step(name), rows)
    assert other.said(plans[1].step("a")) is None
    assert one.said(plans[0].step("a")) is None
    assert other.said(plans[1].step("b")) is rows

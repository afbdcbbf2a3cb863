"""A state is divided among shards, put together again, read under another cut; and no answer is another one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from inspect import isabstract
from typing import Any

import pytest
from analysis.test_stages import FRAGMENTS, arrivals, given_programs, keyed_programs
from analysis.test_stages import compiled as compiled_program
from engine.standing.test_programs import BATCHES, MODES, compiled, moved
from hypothesis import HealthCheck, assume, event, given, note
from hypothesis import strategies as st
from limits import limits, some_limits

import tidelog
from drawing import drawn
from islands.shards import Archipelago, Fleet, deliveries, owner_of, plain, shard, told, without_order
from oracle.agreement import records_of
from oracle.alarm_programs import alarm_programs
from oracle.calendar_programs import calendar_programs, with_calendars
from oracle.evaluate import GroundFact
from oracle.lars_programs import COUNTED, EVERY_FORM, lars_programs, lars_streams
from oracle.machine_programs import events, machine_programs
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind, programs
from tidelog import SnapshotError
from tidelog.operators.grouped.levels import Levels
from tidelog.operators.loops.hold import Hold
from tidelog.operators.loops.open_loop import OpenLoop
from tidelog.operators.operator import Operator
from tidelog.operators.standing.runs import Runs
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.windows.calendar import Calendar
from tidelog.operators.windows.tuple_points import TuplePoints
from tidelog.operators.windows.tuple_window import TupleWindow
from tidelog.plans.analysis.physical import prospects
from tidelog.plans.data.facts import Record
from tidelog.plans.islands.island import Island
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.islands.cutting import cut_state, join_states
from tidelog.runtime.islands.dividing import divide, unite, unshared_state
from tidelog.runtime.islands.forms import Shares
from tidelog.runtime.islands.network_forms import SleepForm
from tidelog.runtime.islands.operator_forms import FORMS
from tidelog.runtime.islands.outlet_forms import EMISSIONS
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.ports.interfaces import EmitMode

ALL = list(HealthCheck)
DECLARED = "timeline integer, unit 6 h. input p(x). input q(x). input r(x). input v(x, n).\n"
_NAMES = re.compile(r"(?<!each )\b(?:[hgmck]|day|night)\b")
"""What each program has for itself."""
AT_ITS_END = "brings the same to all shards"
"""What is said where something that all shards have ends at the very watermark: a moment later it is over."""
FIXED = (
    "h(X) :- diamondminus[0,3] p(X), boxminus[0,3] q(X).",
    "h(X) :- diamondminus[1,2] p(X), boxminus[1,4] q(X), r(X).",
    "h(X) :- boxminus[0,2] p(X), boxminus[0,4] q(X). g(X) :- h(X), diamondminus[0,3] p(X).",
    "h(X) :- diamondplus[0,2] p(X), boxminus[0,3] q(X).",
    "h(X) :- boxplus[0,2] p(X), boxminus[0,3] q(X), c. c@[2,9].",
    "h(X) :- p(X), c(X). c(a)@[0,6]. c(b)@[3,15].",
    "h(X,D) :- p(X), c(D), boxminus[0,3] q(X). c(d)@[0,9]. c(e)@[3,7].",
    "h(X) :- p(X), not c(_), not q(X). c(d)@[3,6].",
    "h(X) :- not q(X) since p(X), c. c@[2,6]. c@9.",
    "h(X) :- c since[0,5] p(X). c@[2,6]. c@[8,13].",
    "h(X) :- r(X), (p(X) since[1,9] c). c@2. c@[8,9].",
    "h(X) :- p(X) until[0,4] q(X). g(X) :- not q(X) until[0,4] p(X).",
    "boxplus[1,1] h(X) :- p(X). boxplus[1,1] h(X) :- h(X), q(X).",
    "h(X)@T :- p(X)@T in [5], q(X).",
    "h(X)@S :- p(X)@T in [5], q(X), S = T - 1.",
    "h(X) :- p(X). h(X) :- diamondminus[1,1] h(X), q(X). h(X) :- diamondminus[2,2] h(X), r(X).",
    "boxminus[0,2] h(X) :- p(X). boxplus[1,3] h(X) :- diamondminus[1,2] h(X), r(X).",
    "k(X) :- p(X), not q(X). h(X,N) :- N = count() over k(X) per day by X. g(X) :- k(X), r(X). calendar day(D) = each day.",
    "k(X,V) :- v(X,V), not q(X). h(X,V) :- latest k(X,V) by X in [4].",
    "calendar day(D) = each day. h(X,N) :- N = sum(V) over v(X,V) per day by X. g(X) :- p(X), day(D), not q(X).",
    "calendar night = 18:00-06:00. h(X) :- not q(X) since p(X), night. g(X,N) :- N = count() over p(X) per night by X.",
    "h(X) :- c until[0,5] p(X). c@[2,6]. c@[8,13].",
    "h(X) :- (not q(X) since p(X)), not (not p(X) since r(X)), c. c@[2,6]. c@[8,13].",
    "h(X) :- diamondminus p(X), not q(X). g(X) :- h(X), r(X). bottom :- g(X), boxminus[0,1] h(X).",
    "h(X)@T+1 :- p(X)@T. h(X)@T+1 :- h(X)@T, not q(X)@T+1.",
    "h(X,T) :- p(X)@T in [5], q(X).",
    "h(X)@T+2 :- p(X)@T, not q(X)@T+1.",
    "boxplus[1,1] h(X) :- p(X). boxplus[1,1] h(X) :- h(X), not q(X). output h.",
    "h(X,Y) :- v(X,Y), p(X). h(X,Z) :- h(X,Y), v(X,Y), Z = (Y + 1) mod 4.",
    "h(X) :- always p(X) in [3], sometime q(X) in [6 step 3].",
    "h(X,N) :- N = count() over p(X) in [5] by X. g(X) :- h(X,N), N > 2.",
    "h(X,N) :- N = sum(V) over v(X,V) in [6 step 2] by X.",
    "h(X,N) :- N = avg(V) over (v(X,V), not q(X)) in [4] by X.",
    "h(X,N) :- N = stddev(V) over v(X,V) in [9] by X. g(X,N) :- N = quantile(0.5, V) over v(X,V) in [9] by X.",
    "h(X,N) :- N = min(V) over v(X,V) in [4] by X. g(X,N) :- N = max(V) over (v(X,V), not q(X)) in [5] by X.",
    "h(X,N) :- N = first(V) over v(X,V) in [4] by X. g(X,N) :- N = last(V) over v(X,V) in [5] by X.",
    "h(X,N) :- N = distinct(V) over v(X,V) in [4] by X.",
    "h(X) :- count() over v(X,V) in [5] by X >= 2. g(X) :- count() over (v(X,V), not q(X)) in [5] by X >= 2.",
    "h(X,V) :- latest v(X,V) by X in [6]. g(X,V) :- latest v(X,V) by X in [9], not q(X).",
    "h(X) :- p(X) for 2, not q(X) for 3.",
    "m(X) := on :- p(X). m(X) := off :- q(X), m(X,on) for 2. h(X) :- m(X,on), not r(X).",
)
"""Programs whose first argument is the key, over each operator, with what all shards have and with sleepers."""


@pytest.fixture(autouse=True)
def short_windows_sleep_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In small examples windows are small, and samples, too."""
    monkeypatch.setattr(prospects, "SHORTEST_SLEEP", 1)
    monkeypatch.setattr(LIMITS, "sample", 6)
    monkeypatch.setattr(LIMITS, "patience", 5)
    yield


Drawn = tuple[Plan, Sequence[GroundFact]]


@st.composite
def fixed(draw: st.DrawFn) -> Drawn:
    """One of the programs here, or two of them, with streams in which predicates are absent now and then."""
    rules = draw(st.lists(st.sampled_from(FIXED), min_size=1, max_size=2, unique=True))
    text = DECLARED + "\n".join(_NAMES.sub(rf"\g<0>{number}", rule) for number, rule in enumerate(rules))
    return compiled(text)[1], draw(gappy_streams())


@st.composite
def gappy_streams(draw: st.DrawFn) -> list[GroundFact]:
    """Facts of p, q, r and v, with stretches in which a predicate is absent."""
    times = {name: draw(st.sets(st.integers(0, 14), max_size=15)) for name in "pqrv"}
    rows = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
    return [
        (
            name,
            (value, draw(st.integers(0, 3))) if name == "v" else (value,),
            Interval(Fraction(time), Fraction(time + draw(st.sampled_from([0, 0, 0, 1, 3])))),
        )
        for time in range(15)
        for name in "pqrv"
        if time in times[name]
        for value in draw(rows)
    ]


@st.composite
def standing(draw: st.DrawFn, kind: Kind) -> Drawn:
    single = draw(st.booleans())
    return compiled(draw(open_programs(kind, single=single)))[1], draw(open_streams(kind, links=not single))


@st.composite
def any_programs(draw: st.DrawFn, kind: Kind) -> Drawn:
    fragment = draw(st.sampled_from(sorted(FRAGMENTS)))
    program = draw(programs(kind, FRAGMENTS[fragment]).flatmap(keyed_programs).flatmap(given_programs))
    plan = compiled_program(program)
    return plan, draw(arrivals(plan, program, kind))


@st.composite
def windows(draw: st.DrawFn) -> Drawn:
    keyed = lars_programs(replace(EVERY_FORM, recursion=True)).flatmap(keyed_programs)
    return compiled_program(draw(keyed | lars_programs(COUNTED))), draw(lars_streams())


@st.composite
def machines(draw: st.DrawFn, kind: str) -> Drawn:
    return tidelog.compile(draw(machine_programs(kind))), draw(events())


@st.composite
def alarms(draw: st.DrawFn, kind: Kind) -> Drawn:
    case = draw(alarm_programs(kind, most=6))
    plan = tidelog.compile(case.text, desk=draw(st.booleans()))
    known = [record for record in case.records(plan) if record[0] in plan.schema.predicates]
    return plan, [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in known]


@st.composite
def calendars(draw: st.DrawFn, kind: Kind) -> Drawn:
    text, declared = draw(calendar_programs(kind))
    return compiled(with_calendars(text, declared))[1], draw(open_streams(kind))


SOURCES: dict[str, st.SearchStrategy[Drawn]] = {
    "fixed": fixed(),
    "standing": standing("integer"),
    "standing rational": standing("rational"),
    "programs": any_programs("integer"),
    "programs rational": any_programs("rational"),
    "windows": windows(),
    "machines": machines("integer"),
    "alarms": alarms("rational"),
    "calendars": calendars("integer"),
}


@st.composite
def many_counts(draw: st.DrawFn, most: int) -> list[tuple[int, int]]:
    """From which delivery on there are how many shards."""
    times = sorted(draw(st.lists(st.integers(0, most), min_size=1, max_size=3)))
    return [(time, draw(st.sampled_from([1, 2, 3]))) for time in times]


def run(
    plan: Plan, island: Island, records: Sequence[Record], batch: int, emit: EmitMode, counts: Sequence[tuple[int, int]]
) -> Any:
    """What is told by as many shards as `counts` says: each from a delivery on."""
    waiting = list(counts)
    fleet = Fleet(plan, island, emit, waiting.pop(0)[1] if waiting and waiting[0][0] == 0 else 1)
    for number, delivery in enumerate(deliveries(plan, records, batch)):
        if waiting and waiting[0][0] <= number and become(fleet, waiting[0][1]):
            waiting.pop(0)
        fleet.deliver(delivery)
    fleet.finish()
    return told(fleet.answers, fleet.violated, emit)


def become(fleet: Fleet, count: int) -> bool:
    """Let it be so many shards, if its state can be had now."""
    try:
        state = fleet.state()
    except SnapshotError as error:
        assert AT_ITS_END in str(error)
        event("at its end")
        return False
    fleet.become(state, count)
    return True


def shown(plan: Plan, facts: Sequence[GroundFact]) -> str:
    return "\n".join([plan.program.text, *(f"{name}{row}@{when}" for name, row, when in facts)])


def test_each_operator_has_a_form_or_no_key() -> None:
    """Whoever adds an operator says where the rows are in its state, or that they have no key."""
    without = {Calendar, TupleWindow, TuplePoints, OpenLoop, Levels, Runs}
    """What rests on no stream, or counts all that comes; and what is a part of others, with a form there."""
    found = {each for each in _below(Operator) if not isabstract(each) and each.__module__.startswith("tidelog.")}
    assert found == FORMS.keys() | without


def _below(kind: type) -> set[type]:
    return {found for each in kind.__subclasses__() for found in (each, *_below(each))}


def test_each_mode_has_a_form() -> None:
    """Of each the state of its emission has just the parts that the form knows, which are those of no other."""
    plan = tidelog.compile("input p(x). h(X) :- p(X), not boxminus[0,2] p(X). output h.")
    assert EMISSIONS.keys() == set(MODES)
    for mode in MODES:
        outlet = shard(plan, mode).state()["outlet"]
        assert [
            name for name, form in EMISSIONS.items() if form(lambda name: None).parts.keys() == outlet["emission"].keys()
        ] == [mode]


def test_the_programs_have_each_operator_that_can_be_divided() -> None:
    """Each of these is in an island with a key; a loop that goes on by itself through time has none."""
    found = set()
    for rule in FIXED:
        plan = compiled(DECLARED + _NAMES.sub(r"\g<0>0", rule))[1]
        for island in islands_of(plan):
            if island.key is not None:
                operators = Graph(island_plan(plan, island)).operators if not island.imports else {}
                found |= {type(operator) for name, operator in operators.items() if name in island.columns}
    assert found == FORMS.keys() - {Hold}


def test_a_window_that_counts_facts_cannot_be_divided() -> None:
    """It has an order of all facts, which is not one of single keys."""
    plan = tidelog.compile("timeline integer. input p(x). h(X) :- sometime p(X) in [#3]. output h.")
    columns = {step.id: 0 for step in plan.steps}
    island = Island(0, "h", tuple(columns), ("p",), {"p": 0}, columns, (), ())
    whole = shard(plan, "intervals").state()
    with pytest.raises(SnapshotError, match="rests on the stream, and the state of its operator, TupleWindow"):
        divide(plan, island, whole, lambda key: 0, 2)


@pytest.mark.parametrize(
    ("one", "other", "is_asleep"),
    [
        ([True, 2, 2, 9, 9, 1, 1], [True, 5, 5, 9, 9, 4, 0], True),
        ([True, 2, 2, 9, 9, 1, 1], [False, 0, 0, 3, 3, 9, 0], False),  # awake in one
        ([True, 2, 2, 4, 4, 6, 1], [True, 7, 7, 9, 9, 6, 0], False),  # never absent in both at once
        ([True, 1, 1, 2, 9, 5, 1], [True, 1, 1, 9, 9, 8, 0], False),  # there in the one or the other for too long
    ],
)
def test_a_sleeper_sleeps_where_it_does_in_all_shards(one: list[Any], other: list[Any], is_asleep: bool) -> None:
    """It was there last when it was in any, and absent as far as it was in all."""
    begin, until, latest = max(one[1], other[1]), min(one[3], other[3]), max(one[5], other[5])
    united = SleepForm(3).unite([one, other], Shares(lambda key: 0, 2))
    assert united == [is_asleep, begin, max(one[2], other[2]), until, 9, latest, 1]
    assert SleepForm(3).divide(one, Shares(lambda key: 0, 2)) == [one, [*one[:6], 0]]


def test_shards_that_have_come_to_different_times_are_not_united() -> None:
    """It is said which part of them does not agree, and what to do about it."""
    plan = tidelog.compile("timeline integer. input p(x). h(X) :- boxminus[0,2] p(X). output h.")
    (island,) = islands_of(plan)
    fleet = Fleet(plan, island, "intervals", 2)
    one, *_ = deliveries(plan, [("p", ("a",), 3, 3)], 1)
    fleet.shards[0].network.deliver(one)
    with pytest.raises(SnapshotError, match=r"is .* in shard 0, and .* in shard 1; bring all shards to the same watermark"):
        fleet.state()


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_shards_answer_as_one_network_does(source: str, data: st.DataObject) -> None:
    """However many they are, and become: one, several, others."""
    plan, facts = data.draw(SOURCES[source])
    islands = [island for island in islands_of(plan) if island.key is not None and not island.imports]
    assume(islands)
    records, batch = records_of(plan, facts), data.draw(BATCHES)
    counts = data.draw(many_counts(len(records) // batch + 1))
    set_limits, emit = data.draw(some_limits()), data.draw(st.sampled_from(MODES))
    with limits(**set_limits):
        for island in islands:
            note(f"{emit}, {set_limits}, batches of {batch}, shards {counts}\n{shown(plan, facts)}\n{island}")
            assert run(plan, island, records, batch, emit, counts) == run(plan, island, records, batch, emit, [])


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_what_is_divided_and_united_at_once_is_the_same(source: str, data: st.DataObject) -> None:
    """And so is what is cut into islands, and joined, whatever they import."""
    plan, facts = data.draw(SOURCES[source])
    records, batch = records_of(plan, facts), data.draw(BATCHES)
    given_up = data.draw(st.integers(0, len(records) // batch + 1))
    set_limits, emit = data.draw(some_limits()), data.draw(st.sampled_from(MODES))
    note(f"{emit}, {set_limits}, batches of {batch}, {given_up}\n{shown(plan, facts)}")
    with limits(**set_limits):
        sea = Archipelago(plan, emit)
        for delivery in deliveries(plan, records, batch)[:given_up]:
            sea.deliver(delivery)
        first = without_order(unshared_state(plan, sea.state()))
        state = sea.state()
        cut = [plain(cut_state(plan, island, state)) for island in sea.islands]
        assert without_order(join_states(plan, sea.islands, cut)) == first
        for island, own in zip(sea.islands, cut, strict=True):
            if island.key is not None:
                fleet = Fleet(plan, island, emit, 1)
                for count in (2, 3):
                    united = unite(fleet.plan, island, plain(fleet.divided(own, count)), owner_of(count))
                    assert without_order(united) == without_order(own)


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_a_state_is_read_under_another_cut(source: str, data: st.DataObject) -> None:
    """One network becomes islands, these become one network, and so on."""
    plan, facts = data.draw(SOURCES[source])
    assume(not any(island.imports for island in islands_of(plan)))
    records, batch = records_of(plan, facts), data.draw(BATCHES)
    counts = data.draw(many_counts(len(records) // batch + 1))
    set_limits, emit = data.draw(some_limits()), data.draw(st.sampled_from(MODES))
    note(f"{emit}, {set_limits}, batches of {batch}, shards {counts}\n{shown(plan, facts)}")
    with limits(**set_limits):
        results = []
        for changes in ([], list(counts)):
            sea = Archipelago(plan, emit)
            for number, delivery in enumerate(deliveries(plan, records, batch)):
                if changes and changes[0][0] <= number:
                    try:
                        if sea.whole is None:
                            sea.join()
                        sea.cut(changes[0][1])
                        if len(changes) == 2:
                            sea.join()
                        changes.pop(0)
                    except SnapshotError as error:
                        assert AT_ITS_END in str(error)
                        event("at its end")
                sea.deliver(delivery)
            sea.finish()
            results.append(told(sea.answers, sea.violated, emit))
        assert results[0] == results[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "rational"])
@drawn(12, suppress_health_check=ALL)
@given(data=st.data())
def test_hundreds_of_keys(kind: Kind, data: st.DataObject) -> None:
    """Each has one of a few histories, later or earlier."""
    plan = compiled(data.draw(open_programs(kind, single=True)))[1]
    islands = [island for island in islands_of(plan) if island.key is not None and not island.imports]
    assume(islands)
    histories = data.draw(st.lists(open_streams(kind, size=8, names=["k"], links=False), min_size=1, max_size=4))
    randoms = data.draw(st.randoms(use_true_random=False))
    count, span = data.draw(st.sampled_from([30, 100, 300])), data.draw(st.sampled_from([5, 40, 200]))
    devices = [(randoms.choice(histories), randoms.randrange(span)) for _ in range(count)]
    facts = [
        (name, (number, *row[1:]), moved(when, later))
        for number, (history, later) in enumerate(devices)
        for name, row, when in history
    ]
    facts.sort(key=lambda fact: (fact[2].low, fact[2].left_open))
    records, batch = records_of(plan, facts), data.draw(st.sampled_from([1, 5, 50]))
    counts = data.draw(many_counts(len(records) // batch + 1))
    set_limits, emit = data.draw(some_limits()), data.draw(st.sampled_from(MODES))
    with limits(**set_limits):
        for island in islands:
            note(f"{emit}, {set_limits}, batches of {batch}, shards {counts}\n{plan.program.text}\n{histories}")
            assert run(plan, island, records, batch, emit, counts) == run(plan, island, records, batch, emit, [])

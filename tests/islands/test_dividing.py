"""A state is divided among shards, put together again, and read under another cut; and nothing is answered in another way."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from analysis.test_stages import FRAGMENTS, arrivals, given_programs, keyed_programs
from analysis.test_stages import compiled as compiled_program
from calendars.test_engine_law import with_calendars
from engine.standing.test_programs import BATCHES, MODES, compiled, moved
from hypothesis import HealthCheck, assume, event, given, note
from hypothesis import strategies as st
from limits import limits, some_limits

import tidelog
from drawing import drawn
from islands.shards import Archipelago, Fleet, deliveries, owner_of, plain, told, without_order
from oracle.agreement import records_of
from oracle.alarm_programs import alarm_programs
from oracle.calendar_programs import calendar_programs
from oracle.evaluate import GroundFact
from oracle.lars_programs import COUNTED, EVERY_FORM, lars_programs, lars_streams
from oracle.machine_programs import events, machine_programs
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind, programs
from tidelog import SnapshotError
from tidelog.plans.data.facts import Record
from tidelog.plans.islands.island import Island
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.islands.cutting import cut_state, join_states
from tidelog.runtime.islands.dividing import unite, unshared_state
from tidelog.runtime.ports.interfaces import EmitMode

ALL = list(HealthCheck)
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
    "h(X) :- p(X) since[1,9] c. c@2. c@[8,9].",
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
    "h(X,N) :- N = stddev(V) over v(X,V) in [9] by X. g(X,N) :- N = quantile(V, 0.5) over v(X,V) in [9] by X.",
    "h(X,N) :- N = min(V) over v(X,V) in [4] by X. g(X,N) :- N = max(V) over (v(X,V), not q(X)) in [5] by X.",
    "h(X,N) :- N = first(V) over v(X,V) in [4] by X. g(X,N) :- N = last(V) over v(X,V) in [5] by X.",
    "h(X,N) :- N = distinct(V) over v(X,V) in [4] by X.",
    "h(X) :- count() over v(X,V) in [5] by X >= 2. g(X) :- count() over (v(X,V), not q(X)) in [5] by X >= 2.",
    "h(X,V) :- latest v(X,V) by X in [6]. g(X,V) :- latest (v(X,V), not q(X)) by X.",
    "h(X) :- p(X) for 2, not q(X) for 3.",
    "m(X) := on :- p(X). m(X) := off :- q(X), m(X,on) for 2. h(X) :- m(X,on), not r(X).",
)
"""Programs whose first argument is the key, over each operator, with what all shards have and with sleepers."""


Drawn = tuple[Plan, Sequence[GroundFact]]


@st.composite
def fixed(draw: st.DrawFn) -> Drawn:
    """One of the programs here, or two of them, with streams in which predicates are absent now and then."""
    rules = draw(st.lists(st.sampled_from(FIXED), min_size=1, max_size=2, unique=True))
    text = "timeline integer.\n"
    for number, rule in enumerate(rules):
        for name in ("h", "g", "m", "c"):
            rule = _renamed(rule, name, number)
        text += rule + "\n"
    program, plan = compiled(text)
    del program
    return plan, draw(gappy_streams())


def _renamed(text: str, name: str, number: int) -> str:
    import re

    return re.sub(rf"\b{name}\b(?=[(,.@ ]|$)", f"{name}{number}", text)


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
    fragment = FRAGMENTS[draw(st.sampled_from(sorted(FRAGMENTS)))] if isinstance(FRAGMENTS, dict) else draw(st.sampled_from(FRAGMENTS))
    program = draw(programs(kind, fragment).flatmap(keyed_programs).flatmap(given_programs))
    plan = compiled_program(program)
    return plan, draw(arrivals(plan, program, kind))


@st.composite
def windows(draw: st.DrawFn) -> Drawn:
    forms = draw(st.sampled_from([COUNTED, EVERY_FORM]))
    return compiled_program(draw(lars_programs(forms).flatmap(keyed_programs))), draw(lars_streams())


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


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@drawn(40, suppress_health_check=ALL)
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
@drawn(40, suppress_health_check=ALL)
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
@drawn(40, suppress_health_check=ALL)
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

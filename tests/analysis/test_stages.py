"""Stages: by hand, and by running them one after another, each split by its key, beside one session over everything."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from analysis.staged import StagedRun
from drawing import drawn
from oracle.agreement import Runs, records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.lars_programs import COUNTED, EVERY_FORM, lars_programs, lars_streams
from oracle.open_programs import open_programs, open_streams
from oracle.programs import (
    AWAITING,
    EVERYTHING,
    NON_RECURSIVE,
    PAST_ONLY,
    VALUES,
    Kind,
    begin,
    input_predicates,
    intervals,
    programs,
    streams,
)
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import Stage, stages_of
from tidelog.plans.tree.syntax import Atom, Constant, FactStatement, Field, Formula, Input, Program, Rule, Variable, Wildcard
from tidelog.plans.tree.traverse import rebuild
from tidelog.runtime.ports.interfaces import OpenStage
from tidelog.runtime.sessions.staged import open_stage

COMPARED, WATERMARK = 20, 150
FRAGMENTS = {"past": PAST_ONLY, "future": NON_RECURSIVE, "everything": EVERYTHING, "awaiting": AWAITING}


def compiled(program: Program) -> Plan:
    """The plan; a drawn program that has none is no example."""
    try:
        return compile_program(program)
    except ProgramError:
        assume(False)
        raise


# --- beside one session ------------------------------------------------------------------------------------------------


def within(answers: list[Record], plan: Plan, last: int) -> Runs:
    """The maximal ranges up to a time; fails where something is told twice."""
    end = plan.timeline.encode_point(Fraction(last))
    return runs_of((name, row, lo, min(hi, end)) for name, row, lo, hi in answers if lo <= end)


def watermark_before(plan: Plan, facts: Sequence[GroundFact]) -> Fraction | None:
    """The last time up to which the stream is complete before these facts; None where there is none."""
    delays = {item.predicate: Fraction(item.delay or 0) for item in plan.normal.declarations}
    first = min((when.low + delays.get(name, Fraction(0)) for name, _, when in facts), default=Fraction(WATERMARK))
    return None if first == -math.inf else Fraction(first) - 1


def agree(
    program: Program,
    facts: Sequence[GroundFact],
    cuts: Sequence[int],
    start: Fraction | None,
    opener: OpenStage = open_stage,
) -> None:
    """Run both with the same watermarks, and compare what they told, and what violated constraints.

    Stages are run with sessions that live on, for maximal intervals; and with others that go on from snapshots, for what is
    told at once, and for changes. Each once more with sessions that sleep until their deadline: these tell maximal intervals
    at the same watermarks as the others.
    """
    plan = compiled(program)
    run = partial(StagedRun, plan, start, open_stage=opener)
    final, staged = run(emit="final"), run(stores=True)
    resting, dozing = run(emit="final", stores=True, sleeps=True), run(sleeps=True)
    slept: list[Record] = []
    changing = run(emit="changes", stores=True)
    session = tidelog.Session(plan, lateness=math.inf, start=start)
    told: list[Record] = []
    maximal: list[Record] = []
    changes: list[Record] = []
    for low, high in zip([0, *cuts], [*cuts, len(facts)], strict=True):
        records = records_of(plan, facts[low:high])
        watermark = watermark_before(plan, facts[high:])
        session.push_records(records)
        for each in (staged, final, changing, resting, dozing):
            each.push(records)
        told += staged.advance(watermark)
        ended = final.advance(watermark)
        assert Counter(resting.advance(watermark)) == Counter(ended)
        maximal += ended
        slept += dozing.advance(watermark)
        changes += changing.advance(watermark)
        if watermark is not None:
            session.advance(watermark)
    shown = format_program(program) + "".join(f"\n{fact}" for fact in facts)
    shown += "".join(f"\n% {stage.number}: {stage.key}\n{format_program(stage.program)}" for stage in stages_of(plan).stages)
    expected = within(session.pull_records(), plan, COMPARED)
    assert within(told, plan, COMPARED) == expected, shown
    found = {(item.rule, item.facts) for item in session.pull_violations()}
    assert staged.violations() == found, shown
    assert dozing.violations() == found, shown
    within(told + staged.finish(), plan, COMPARED)
    assert within(slept + dozing.finish(), plan, COMPARED) == expected, shown
    last = final.finish()
    assert Counter(resting.finish()) == Counter(last), shown
    maximal += last
    assert within(maximal, plan, COMPARED) == expected, shown
    assert len(maximal) == sum(map(len, runs_of(maximal).values())), shown
    changes += changing.finish()
    assert Counter(change[:3] for change in changes if change[3] == POS) == Counter(fact[:3] for fact in maximal), shown
    assert Counter(change for change in changes if change[3] < POS) == Counter(f for f in maximal if f[3] < POS), shown


@st.composite
def keyed_programs(draw: st.DrawFn, program: Program) -> Program:
    """The program with another first argument, on which all atoms of a rule agree, but for some now and then."""
    keys = st.sampled_from([Variable("K")] * 6 + [Variable("L"), Wildcard(), Constant("a")])

    def keyed(formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            return replace(formula, arguments=(draw(keys), *formula.arguments))
        return rebuild(formula, keyed)

    def head(formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            return replace(formula, arguments=(Variable("K"), *formula.arguments))
        return rebuild(formula, head)

    statements = [
        replace(item, head=head(item.head), body=tuple(map(keyed, item.body))) if isinstance(item, Rule) else item
        for item in program.statements
    ]
    return replace(program, statements=tuple(statements))


@st.composite
def given_programs(draw: st.DrawFn, program: Program) -> Program:
    """The same program, now and then with inputs declared, with some that it states itself, and with delays."""
    inputs = input_predicates(program)
    stated = draw(st.sets(st.sampled_from(sorted(inputs)))) if inputs else set()
    facts = []
    for name in sorted(stated):
        for _ in range(draw(st.integers(0, 3))):
            row = tuple(Constant(draw(st.sampled_from(VALUES))) for _ in range(inputs[name]))
            when = draw(st.none() | intervals("integer", last=6))
            facts.append(FactStatement(Atom(name, row), when))
    fed = sorted(inputs.keys() - stated) if draw(st.booleans()) else sorted(inputs)
    declared = []
    if draw(st.booleans()):
        for name in fed:
            fields = tuple(Field(f"x{i}") for i in range(inputs[name]))
            declared.append(Input(name, fields, draw(st.sampled_from((None, None, Fraction(2))))))
    timeline, *rest = program.statements
    return replace(program, statements=(timeline, *declared, *facts, *rest))


@st.composite
def arrivals(draw: st.DrawFn, plan: Plan, program: Program, kind: Kind) -> list[GroundFact]:
    """Facts of what the program takes, derived predicates too where it declares nothing, in order of arrival."""
    drawn = draw(streams(program, last=6, infinite=True))
    known = plan.schema.predicates
    facts = [fact for fact in drawn if fact[0] in known and known[fact[0]].accepts_input]
    stated = {fact.atom.predicate for fact in plan.normal.facts}
    if not plan.normal.declarations:
        facts = [fact for fact in facts if fact[0] not in stated]
        for name in draw(st.lists(st.sampled_from(sorted(plan.outputs)), max_size=2)) if plan.outputs else []:
            row = tuple(draw(st.sampled_from(VALUES)) for _ in range(known[name].arity))
            facts.append((name, row, draw(intervals(kind, last=6))))
    delays = {item.predicate: item.delay or 0 for item in plan.normal.declarations}
    late = [draw(st.integers(0, 2)) if delays.get(fact[0]) else 0 for fact in facts]
    order = sorted(range(len(facts)), key=lambda i: (facts[i][2].low + late[i], begin(facts[i])))
    return [facts[i] for i in order]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
@drawn(40, suppress_health_check=list(HealthCheck))
def test_stages_give_what_one_session_gives(kind: Kind, fragment: str, data: st.DataObject) -> None:
    """Whatever the program, the stages' answers, and the constraints violated, are those of one session."""
    drawn = programs(kind, FRAGMENTS[fragment])
    program = data.draw((drawn.flatmap(keyed_programs) | drawn).flatmap(given_programs))
    plan = compiled(program)
    facts = data.draw(arrivals(plan, program, kind))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    agree(program, facts, cuts, Fraction(data.draw(st.integers(0, 2))))


@pytest.mark.slow
@given(program=lars_programs(replace(EVERY_FORM, recursion=True)), facts=lars_streams(), data=st.data())
@drawn(100, suppress_health_check=list(HealthCheck))
def test_times_and_steps_in_stages(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """Time variables, and windows that are stepped, clipped, or count the facts of some inputs, mean the same in stages."""
    assume(not stages_of(compiled(program)).problems)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    agree(program, facts, cuts, min((Fraction(fact[2].low) for fact in facts), default=Fraction(0)))


@pytest.mark.slow
@given(program=lars_programs(COUNTED), facts=lars_streams(), data=st.data())
@drawn(60, suppress_health_check=list(HealthCheck))
def test_aggregates_in_stages(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """What is counted by the key is counted where the key is; what is not, in one session."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    agree(program, facts, cuts, min((Fraction(fact[2].low) for fact in facts), default=Fraction(0)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(40, suppress_health_check=list(HealthCheck))
def test_what_goes_on_holding_in_stages(kind: Kind, data: st.DataObject) -> None:
    """What holds until further notice is told by stages as one session tells it, also where other stages read it."""
    program = parse(data.draw(open_programs(kind)))
    assume(not stages_of(compiled(program)).problems)
    facts = data.draw(open_streams(kind))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    agree(program, facts, cuts, Fraction(0))


# --- by hand ------------------------------------------------------------------------------------------------------------


def stages(text: str) -> tuple[Stage, ...]:
    plan = stages_of(tidelog.compile(text))
    assert not plan.problems
    return plan.stages


def statements(program: Program) -> list[str]:
    return format_program(program).splitlines()


def run(text: str, facts: Sequence[str], watermarks: Sequence[int], start: int | None = None) -> tuple[StagedRun, list[str]]:
    """The stages, with the facts of a rational or integer program between watermarks, and their answers as intervals."""
    plan = tidelog.compile(text)
    staged = StagedRun(plan, None if start is None else Fraction(start))
    session = tidelog.Session(plan, lateness=math.inf, start=start)
    told: list[Record] = []
    before = -1
    records = [record_of(plan, fact) for fact in facts]
    for watermark in watermarks:
        now = plan.timeline.encode_point(Fraction(watermark))
        due = [record for record in records if before < record[2] <= now]
        before = now
        session.push_records(due)
        staged.push(due)
        session.advance(watermark)
        told += staged.advance(Fraction(watermark))
    session.finish()
    told += staged.finish()
    assert runs_of(told) == runs_of(session.pull_records())
    texts = (plan.answer((name, row, lo, hi)).text for (name, row), ranges in runs_of(told).items() for lo, hi in ranges)
    return staged, sorted(texts)


def record_of(plan: Plan, fact: str) -> Record:
    atom, _, time = fact.partition("@")
    name, _, rest = atom.rstrip(")").partition("(")
    row = [int(part) if part.isdigit() else part for part in rest.split(",")] if rest else []
    interval = time if time[0] in "[(" else None
    return plan.record(name, row, None if interval else time, interval)


def test_one_stage_where_all_rules_share_a_key() -> None:
    """A program that has a key is one stage, and has its declarations."""
    text = "timeline integer. input temp(sensor: text, value). input fan(sensor). hot(S) :- temp(S, V), V > 80, not fan(S)."
    (stage,) = stages(text)
    assert stage.key == {"temp": 0, "fan": 0, "hot": 0}
    assert statements(stage.program)[1:3] == ["input fan(sensor).", "input temp(sensor: text, value)."]
    assert (stage.told, stage.prevented_by, stage.seeds, stage.needs_start) == (("hot",), "", None, False)


def test_rows_move_from_key_to_key() -> None:
    """Where rules join on different arguments, each has its stage; in between a row goes to another key."""
    text = """
        input temp(sensor, room). input door(room).
        hot(S, R) :- boxminus[0,2] temp(S, R).
        near(R, S) :- hot(S, R), not temp(S, attic).
        draught(R) :- near(R, _), door(R).
    """
    first, second = stages(text)
    assert first.key == {"temp": 0, "hot": 0, "near": 1}
    assert second.key == {"door": 0, "near": 0, "draught": 0}
    crossing = [(item.predicate, item.source, item.position, item.is_rekeyed) for item in second.inputs]
    assert crossing == [("door", None, 0, False), ("near", 1, 0, True)]
    staged, answers = run(text, ["temp(s1,r1)@[0,5]", "door(r1)@4", "door(r2)@4"], [3, 6])
    assert "draught(r1)@4" in answers
    assert [worker.sessions for worker in staged.workers] == [1, 2]


def test_a_head_that_loses_the_key() -> None:
    """A join on the sensor that tells of the room is split in two, so that both are keyed."""
    text = """
        input temp(sensor, celsius). input quiet(sensor). input door(room). output alarm.
        in(s1, attic). in(s2, attic). in(s3, hall).
        hot(S) :- temp(S, C), C > 30.
        boxplus[0,3] warm(R) :- hot(S), not quiet(S), in(S, R).
        alarm(R) :- warm(R), not door(R).
    """
    first, second = stages(text)
    assert first.key == {"temp": 0, "quiet": 0, "hot": 0}
    assert statements(first.program)[-1] == "'warm.part1'(R) :- hot(S), not quiet(S), 'in'(S, R)."
    assert (first.told, first.broadcast) == ((), ("in",))
    assert second.key == {"warm.part1": 0, "warm": 0, "door": 0, "alarm": 0}
    facts = ["temp(s1,40)@0", "temp(s2,40)@1", "temp(s3,40)@1", "quiet(s3)@1", "door(attic)@3"]
    assert run(text, facts, [0, 2, 9])[1] == ["alarm(attic)@(3,4]", "alarm(attic)@[0,3)"]


def test_a_rule_that_prevents_keys_alone_runs_in_one_session() -> None:
    """What has no key is one session, and names its rule; the rest keeps its keys."""
    text = """
        input temp(city, value). output warmer, calm.
        warmer(C, D) :- temp(C, F), temp(D, G), F > G.
        calm(C) :- boxminus[0,5] temp(C, 1).
    """
    alone, keyed = stages(text)
    assert (alone.key, alone.prevented_by) == (None, "warmer(C, D) :- temp(C, F), temp(D, G), F > G.")
    assert keyed.key == {"temp": 0, "calm": 0}


def test_by_must_hold_the_key() -> None:
    """What is counted for each sensor is split by the sensor; what is counted for all of them is not."""
    by_sensor = "a(S, N) :- N = count() over p(S, V) in [5] by S."
    of_all = "b(N) :- N = count() over a(S, M) in [5]."
    found = {stage.told: stage for stage in stages(f"timeline integer. {by_sensor} {of_all}")}
    assert found["a",].key == {"a": 0, "a.data": 0, "p": 0}
    assert found["b",].key is None
    assert found["b",].prevented_by == of_all


def test_recursion_stays_in_one_stage() -> None:
    """A component is never taken apart, also where a rule of it prevents a key."""
    text = "input q(x). input e(x,y). a(Y) :- b(X), e(X,Y). b(X) :- diamondminus[1,2] a(X). b(X) :- q(X). s(X) :- q(X)."
    staged = {stage.told: stage for stage in stages(text)}
    assert staged["a", "b"].prevented_by == "a(Y) :- b(X), e(X, Y)."
    assert staged[("s",)].key == {"q": 0, "s": 0}


def test_propositions_and_constants_are_no_keys() -> None:
    """What has no argument has one session; a constant agrees with itself, but spreads nothing."""
    (stage,) = stages("input on. dark :- boxminus[0,3] on.")
    assert (stage.key, stage.prevented_by) == (None, "dark :- boxminus[0,3] on.")
    (stage,) = stages("input q(x,y). p(a,X) :- q(X,a), not q(X,b).")
    assert stage.key == {"q": 0, "p": 1}


def test_answers_for_past_times_are_declared_late() -> None:
    """A stage whose answers begin behind the watermark says so; the next one's input has this delay."""
    text = """
        timeline integer. input q(x,y) delay 3. output p, s.
        boxminus[0,4] p(X, Y) :- boxminus[0,1] q(X, Y), not q(X, none).
        s(Y) :- p(_, Y), not q(_, Y).
    """
    first, second = stages(text)
    assert first.outputs == {"p": 7}
    assert [item.delay for item in second.inputs] == [7, 3]
    assert "input p(x1, x2) delay 7." in statements(second.program)
    assert second.outputs == {"s": 7}
    facts = [f"q(a,{time})@[{time},{time + 6}]" for time in range(8)]
    assert run(text, facts, range(20))[1]


def test_answers_that_go_on_are_told_at_each_watermark() -> None:
    """Users may hear later that many facts still hold, but not the next stage: there their time has passed."""
    text = "input q(x,y). input r(x). output s. p(X,Y) :- q(X,Y), not r(X). s(Y) :- p(X,Y), not q(Y,X)."
    facts = [f"q(x,y{number})@[0,100]" for number in range(60)]
    answers = run(text, [*facts, "r(x)@40"], range(0, 60, 5))[1]
    assert len(answers) == 120
    assert {"s(y7)@[0,40)", "s(y7)@(40,100]"} < {*answers}


SILENT = """
    timeline integer. input temp(sensor). sensor(s1). sensor(s2).
    silent(S) :- sensor(S), not diamondminus[0,5] temp(S).
"""


def test_keys_that_the_program_states_have_a_session() -> None:
    """A sensor that never sends anything is silent, and no other sensor's session says so."""
    (stage,) = stages(SILENT)
    assert stage.key == {"temp": 0, "silent": 0}
    assert stage.seeds is not None
    assert statements(stage.seeds.program)[-1] == "seed(S) :- sensor(S)."
    staged, answers = run(SILENT, ["temp(s1)@3"], [2, 20])
    assert answers == ["silent(s1)@(-inf,2]", "silent(s1)@[9,inf)", "silent(s2)@(-inf,inf)"]
    assert staged.workers[0].sessions == 2


def test_constraints_do_not_see_what_others_have() -> None:
    """A constraint over what absence alone makes true is checked behind it, where the answers of all keys are known."""
    text = SILENT + "bottom :- silent(S), not sensor(S). bottom :- silent(S), sensor(S), diamondminus[0,9] temp(S)."
    tellers = [(stage.told, len(stage.constraints)) for stage in stages(text)]
    assert tellers == [(("silent",), 0), ((), 2)]
    assert run(text, ["temp(s1)@3"], [2, 20])[0].violations()


def test_constraints_stay_with_their_key() -> None:
    """A constraint whose atoms share the key is checked in the stage of this key."""
    (stage,) = stages("input on(x). input off(x). p(X) :- on(X). bottom :- p(X), off(X).")
    assert stage.constraints == ("bottom :- p(X), off(X).",)
    assert stage.key == {"on": 0, "off": 0, "p": 0}


def test_what_no_stream_feeds_is_told_once() -> None:
    """Outputs that follow from the program's own facts have a stage without inputs."""
    text = "input q(x). e(a,b). e(b,c). r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). p(X) :- q(X), r(X,_)."
    keyed, static = stages(text)
    assert (keyed.told, keyed.broadcast) == (("p",), ("e",))
    assert (static.told, static.inputs, static.key, static.prevented_by) == (("r",), (), None, "")
    answers = run(text, ["q(a)@1", "q(c)@1"], [5])[1]
    assert answers == ["p(a)@1", *(f"r({row})@(-inf,inf)" for row in ("a,b", "a,c", "b,c"))]


def test_an_input_that_is_an_output() -> None:
    """An input is told as it comes, beside what is derived from it."""
    (stage,) = stages("input q(x,y). output q, p. p(X) :- q(X,_), not q(_,X).")[:1]
    assert run("input q(x,y). output q, p. p(X) :- q(X,_).", ["q(a,b)@1"], [5])[1] == ["p(a)@1", "q(a,b)@1"]
    assert "q" in {name for stage in stages("input q(x,y). output q, p. p(X) :- q(X,_).") for name in stage.told}
    assert stage.inputs


def test_facts_of_derived_predicates() -> None:
    """Where no input is declared, facts of derived predicates go to the stage that derives them, as an input of its own."""
    text = "p(X) :- q(X), not r(X). s(X,Y) :- p(X), p(Y)."
    first, second = stages(text)
    assert [(item.name, item.predicate) for item in first.inputs] == [("p.data", "p"), ("q", "q"), ("r", "r")]
    assert [(item.name, item.source) for item in second.inputs] == [("p", 1), ("s.data", None)]
    assert run(text, ["p(a)@1", "q(b)@1", "s(c,c)@1"], [5])[1] == [
        *("p(a)@1", "p(b)@1", "s(a,a)@1", "s(a,b)@1", "s(b,a)@1", "s(b,b)@1", "s(c,c)@1")
    ]


def test_the_start_has_to_be_told() -> None:
    """A stage with a window that is clipped at the start says so; all its sessions have the same one."""
    text = "timeline integer. input q(x). input r(x). p(X) :- always q(X) in [5], not r(X)."
    assert stages(text)[0].needs_start
    assert run(text, ["r(a)@0", "q(b)@[0,3]"], [9], start=0)[1] == ["p(b)@[0,3]"]


def test_times_before_the_start_are_not_cut_off() -> None:
    """A rule that binds times stays with what may hold before the start, for an input never does."""
    text = """
        timeline integer. input q(x,y). output s.
        boxminus[0,3] p(X,Y) :- q(X,Y).
        s(Y,T) :- p(X,Y)@T in [9], not q(Y,_).
    """
    (stage,) = stages(text)
    assert stage.key is None
    (stage, _) = stages(text.replace("boxminus", "boxplus"))
    assert stage.key == {"q": 0, "p": 0}


def test_windows_over_facts() -> None:
    """A window over the facts of some inputs needs their order; one over all inputs has no stages, and says what helps."""
    (stage,) = stages("timeline integer. input q(x). input r(x). p(X) :- q(X) in [#2 of q, r].")
    assert (stage.key, stage.needs_order) == (None, True)
    plan = stages_of(tidelog.compile("timeline integer. input q(x). input r(x). p(X) :- q(X) in [#2]."))
    assert (plan.stages, [problem.help for problem in plan.problems]) == (
        (),
        ["name what it counts, such as `[#2 of q, r]`"],
    )


def test_times_mean_the_same_in_every_stage() -> None:
    """All stages have the program's unit and its finest resolution, so that encoded facts can be handed on."""
    text = """
        timeline rational, unit 1 s, resolution 0.5. input q(x,y). output r.
        p(X,Y) :- boxminus[0,250ms] q(X,Y), not q(X, none).
        r(Y) :- diamondminus[0,2min] p(X,Y), not q(Y,_).
    """
    plan = tidelog.compile(text)
    assert {stage.plan.timeline for stage in stages(text)} == {plan.timeline}


EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_network_in_stages() -> None:
    """The network's signals are told apart, each session has the background, and the answers are those of one session."""
    plan = tidelog.compile_path(EXAMPLES / "network" / "network.tide")
    records = load_text(plan, EXAMPLES / "network" / "signals.txt")
    staged, session = StagedRun(plan), tidelog.Session(plan)
    told: list[Record] = []
    for record in records:
        watermark = plan.timeline.decode_point(record[2]) - 1
        staged.push([record])
        told += staged.advance(watermark)
    session.push_records(records)
    session.finish()
    told += staged.finish()
    assert runs_of(told) == runs_of(session.pull_records())
    assert [worker.sessions for worker in staged.workers] == [len({record[1][-1] for record in records})]


def load_text(plan: Plan, path: Path) -> list[Record]:
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("%")]
    return sorted((record_of(plan, line) for line in lines), key=lambda record: record[2])

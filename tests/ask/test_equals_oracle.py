"""Unfolded queries and what is told of their answers are what the definitions say: random programs and streams."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from oracle.hypothetical import Answer, Oracle, answer_of, entailed, pending_facts
from oracle.hypothetical_agreement import (
    Claims,
    Pattern,
    Triple,
    fact_of,
    instance,
    is_instance,
    is_instance_of,
    opens,
    patterns_of,
    time_slots,
    triple_of,
)
from oracle.hypothetical_programs import (
    EVERYTHING,
    LAST,
    METRIC,
    NEGATIVE,
    POSITIVE,
    SEVERAL_TIMES,
    TEMPORAL,
    VALUES,
    WINDOWS,
    Arrival,
    Shapes,
    all_facts,
    ask_programs,
    histories,
    in_order,
    out_of_order,
    queries,
    universes,
)
from oracle.worlds import Fact
from tidelog import Session
from tidelog.operators.ask.asker import Asker
from tidelog.operators.sld.unfold import unfold
from tidelog.plans.errors import ProgramError
from tidelog.plans.plan import Plan
from tidelog.plans.preconditions import Unfolding
from tidelog.plans.printing import format_program, format_statement
from tidelog.plans.questions import GroundLiteral, HypotheticalAnswer
from tidelog.plans.syntax import Arithmetic, Ask, Atom, Comparison, Constant, Input, Program, Value, Variable
from tidelog.plans.timeline import POS

pytestmark = pytest.mark.slow

START = 0
FEW = settings(max_examples=max((settings.default or settings()).max_examples // 8, 1))  # each costs ten times a usual one
POSITIVE_SHAPES = {
    "temporal": TEMPORAL,
    "several": SEVERAL_TIMES,
    "metric": METRIC,
    "windows": WINDOWS,
    "positive": POSITIVE,
}
NEGATIVE_SHAPES = {"negation": NEGATIVE, "everything": EVERYTHING}
REFUSED = {"ask-always", "ask-unbounded", "ask-too-large"}
"""What the compiler may say of a drawn program."""


# --- examples -----------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A program with its query, a universe and the oracle for it; `text` is what was compiled."""

    program: Program
    query: Atom
    text: str
    plan: Plan
    unfolding: Unfolding
    universe: list[Fact]
    oracle: Oracle

    @property
    def delays(self) -> Mapping[str, int]:
        return self.plan.questions[0].delays

    @cached_property
    def everything(self) -> list[Fact]:
        """All facts over the constants of program and universe and another one, at all times that can matter."""
        return all_facts(self.program, self.universe)

    @property
    def has_comparisons(self) -> bool:
        """Whether some premises are compared with each other."""
        return any(item.comparisons for item in self.unfolding.main.preconditions)

    @property
    def compares(self) -> bool:
        """Whether some are, other than by the bounds on times that unbounded diamonds make."""
        return any(not is_bound(each) for item in self.unfolding.main.preconditions for each in item.comparisons)

    def asker(self) -> Asker:
        return Asker(self.plan.questions[0], self.unfolding)

    def pending(self, known: Collection[Fact], watermark: int) -> list[Fact]:
        return pending_facts(self.universe, known, watermark, self.delays)

    def history(self, data: st.DataObject) -> list[Fact]:
        """Some facts, mostly such as answers need."""
        return data.draw(histories(self.universe, {facts for _, facts in self.oracle.hypothetical([], self.universe)}))


def is_bound(comparison: Comparison) -> bool:
    """Whether it says `V <= T+k` or `V >= T-k`."""
    distance = comparison.right.operands if isinstance(comparison.right, Arithmetic) else (comparison.right,)
    kinds = [type(each) for each in (comparison.left, *distance)]
    return comparison.operator in ("<=", ">=") and kinds in ([Variable, Variable], [Variable, Variable, Constant])


def a_case(data: st.DataObject, shapes: Shapes, *, outputs: bool = False) -> Case:
    """A drawn program that can be asked; the others are no examples."""
    program = data.draw(ask_programs(shapes))
    query = data.draw(queries(program))
    text = f"{format_program(program)}\n{format_statement(Ask(query))}\n"
    try:
        plan = tidelog.compile(text, outputs=outputs)
        unfolding = unfold(plan.questions[0], plan.facts)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= REFUSED, f"{text}\n{error}"
        assume(False)
        raise
    universe = data.draw(universes(program))
    oracle = Oracle(program, query, universe, START)
    assume(not oracle.table.meets_edge)
    return Case(program, query, text, plan, unfolding, universe, oracle)


# --- preconditions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_every_hypothetical_answer_is_an_instance_of_a_precondition(shape: str, data: st.DataObject) -> None:
    """Proposition 7: before any fact has come, each ⟨θ, H⟩ is an instance of one of 𝒫_Q."""
    case = a_case(data, POSITIVE_SHAPES[shape])
    preconditions = case.unfolding.main.preconditions
    for answer, facts in case.oracle.hypothetical([], case.universe):
        found = any(is_instance(item, answer, facts, START) for item in preconditions)
        assert found, f"{case.text}\n{answer} {sorted(facts, key=repr)}"


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_every_instance_of_a_precondition_entails_its_answer(shape: str, data: st.DataObject) -> None:
    """Proposition 6: whatever values its variables take, the premises of a precondition entail its answer."""
    case = a_case(data, POSITIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, START)
    for item in case.unfolding.main.preconditions[:20]:
        for _ in range(3):
            times = time_slots(item)
            drawn: dict[int, Value] = {
                i: data.draw(st.integers(0, 4) if i in times else st.sampled_from(VALUES))
                for i in range(len(item.variables))
            }
            made = instance(item, drawn, START)
            if made is not None:
                claims.add(made[0], made[1], True, f"{item} at {drawn}")
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


# --- what is told -------------------------------------------------------------------------------------------------


@dataclass
class Log:
    """All that an asker has told, checked line by line: a final line is the last one of its answer.

    An answer with an open column is none yet: its supports end one by one, so `rejected` are those without.
    """

    case: Case
    asker: Asker
    lines: list[HypotheticalAnswer] = field(default_factory=list)
    told: set[Pattern] = field(default_factory=set)
    certain: set[Pattern] = field(default_factory=set)
    rejected: set[Pattern] = field(default_factory=set)

    def receive(self, facts: Iterable[Fact], watermark: int) -> list[HypotheticalAnswer]:
        """Hand in facts and a watermark."""
        lines = self.asker.receive([(name, row, time, time) for name, row, time in facts], watermark, START)
        for line in lines:
            self.note(line)
        return lines

    def note(self, line: HypotheticalAnswer) -> None:
        """A possible answer has evidence and hypotheses, a certain one evidence alone; a rejected one was possible."""
        self.lines.append(line)
        answer = triple_of(line, self.case.query).answer
        assert answer not in self.certain | self.rejected, f"{self.case.text}\nafter its end: {line}"
        if line.status == "possible":
            assert line.evidence, line
            assert line.hypotheses, line
            self.told.add(answer)
        elif line.status == "certain":
            assert line.evidence, line
            assert not line.hypotheses, line
            self.certain.add(answer)
        else:
            assert line.status == "rejected", line
            assert answer in self.told, f"{self.case.text}\nnever told: {line}"
            assert line.failed is not None, f"{self.case.text}\n{line}"
            assert line.evidence, line
            if None not in answer:
                self.rejected.add(answer)

    def open(self) -> list[tuple[Pattern, tuple[GroundLiteral, ...]]]:
        """The answers that the asker holds for possible, with the hypotheses of their supports."""
        possible = [item for item in self.asker.supported() if item.status == "possible"]
        return list(zip(patterns_of(possible, self.case.query, "possible"), (i.hypotheses for i in possible), strict=True))


def deliver(case: Case, arrivals: Sequence[Arrival]) -> Iterable[tuple[Log, list[Fact], int]]:
    """An asker after each arrival, with the facts that have come and the watermark."""
    log = Log(case, case.asker())
    known: list[Fact] = []
    for arrival in arrivals:
        log.receive(arrival.facts, arrival.watermark)
        known.extend(arrival.facts)
        yield log, known, arrival.watermark


def due_at(literal: GroundLiteral, delays: Mapping[str, int]) -> int:
    """The watermark at which a literal is decided; it is told as a hypothesis only while that lies behind the time point."""
    return literal.time + delays.get(literal.predicate, 0) if isinstance(literal.time, int) else POS


def check_supports(log: Log, known: Collection[Fact], watermark: int, claims: Claims) -> None:
    """(a) What is supported is ℰ(Q, D, τ): each way round up to instantiation; for certain answers, a part of it."""
    case = log.case
    told = [triple_of(item, case.query) for item in log.asker.supported()]
    for item in case.oracle.supported(known, case.pending(known, watermark)):
        found = (item.answer in log.certain and not item.hypotheses) or any(is_instance_of(item, each) for each in told)
        assert found, f"{case.text}\nD={known} up to {watermark}: missing {item}, told {told}"
    for triple in told:
        assert triple.evidence <= {*known}, triple
        if triple.is_ground:
            facts = [fact_of(literal, {}) for literal in triple.hypotheses]
            decided = [fact for fact in facts if fact not in pending_facts(facts, known, watermark, case.delays)]
            assert not decided, f"{case.text}\nD={known} up to {watermark}: {decided} cannot come, {triple}"
            claims.add_triple(triple, known, facts)
        elif not case.has_comparisons:  # those that are not decided yet are not told
            claims.add(triple.answer, {*triple.evidence, *some_instance(triple, watermark)}, True, f"{triple}")


def some_instance(triple: Triple, watermark: int) -> list[Fact]:
    """The hypotheses with a value for each variable: times that are still to come, each another constant."""
    values: dict[str, Value] = {}
    for literal in triple.hypotheses:
        for term in opens(literal):
            is_time = any(
                each.time == term or (isinstance(each.time, type(term)) and each.time.name == term.name)
                for each in triple.hypotheses
            )
            values.setdefault(term.name, max(watermark, 0) + 6 + len(values) if is_time else f"fresh{len(values)}")
    return [fact_of(literal, values) for literal in triple.hypotheses]


def check_verdicts(log: Log, known: Collection[Fact], watermark: int, claims: Claims) -> None:
    """(b) Certain is what holds; rejected is what was possible, and is no hypothetical answer any more; the rest is open."""
    case, pending = log.case, log.case.pending(known, watermark)
    where = f"{case.text}\nD={sorted(known, key=repr)} up to {watermark}"
    assert log.certain == case.oracle.certain(known, []), where
    unfinished = log.told - log.certain - log.rejected
    for answer, hypotheses in log.open():
        is_due = any(due_at(literal, case.delays) <= watermark + 1 for literal in hypotheses)
        assert None in answer or answer in unfinished or (is_due and answer not in log.told), (
            f"{where}\nnot told, or decided: {answer}"
        )
    everything = {*known, *pending_facts(case.everything, known, watermark, case.delays)}
    for answer in log.told - log.certain:
        is_left = answer in unfinished
        # the facts of `everything` have no other values; what a comparison excludes is told when it can be decided
        if {*answer[:-1]} <= {*VALUES} and None not in answer and not (is_left and case.compares):
            claims.add(answer, everything, answer in unfinished, f"{where}\nrejected: {answer in log.rejected} of {answer}")
    hypothetical = {answer for answer, _ in case.oracle.hypothetical(known, pending)}
    early = log.rejected & hypothetical
    assert not early, f"{where}\nrejected too early: {early}"


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_what_is_supported_is_what_the_definitions_say(shape: str, data: st.DataObject) -> None:
    """Propositions 12 and 13, at each time point of a stream in order."""
    case = a_case(data, POSITIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, START)
    for log, known, watermark in deliver(case, in_order(case.history(data))):
        check_supports(log, known, watermark, claims)
        check_verdicts(log, known, watermark, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_it_is_so_for_facts_in_any_order(shape: str, data: st.DataObject) -> None:
    """Batches of any size, with facts from the past and the future, some of them delayed."""
    case = a_case(data, replace(POSITIVE_SHAPES[shape], delays=True))
    claims = Claims(case.program, case.query, START)
    arrivals = data.draw(out_of_order(case.history(data), case.delays))
    for log, known, watermark in deliver(case, arrivals):
        check_supports(log, known, watermark, claims)
        check_verdicts(log, known, watermark, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


# --- negation -----------------------------------------------------------------------------------------------------


def check_three_values(log: Log, known: Collection[Fact], watermark: int) -> None:
    """(c) What is certain holds in all completions, what is rejected in none; once all is decided both are exact."""
    case, pending = log.case, log.case.pending(known, watermark)
    where = f"{case.text}\nD={sorted(known, key=repr)} up to {watermark}"
    doubtful = log.certain - case.oracle.certain(known, pending)
    assert not doubtful, f"{where}\ncertain too early: {doubtful}"
    possible = case.oracle.possible(known, pending)
    for answer in log.rejected:
        assert answer not in possible, f"{where}\nrejected too early: {answer}"
    if not pending and watermark >= 20:
        assert log.certain == possible, f"{where}\nat the end: {log.certain} but {possible}"
        assert not log.open(), f"{where}\nstill open: {log.open()}"


@pytest.mark.parametrize("shape", NEGATIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_with_negation_verdicts_are_sound_and_in_the_end_exact(shape: str, data: st.DataObject) -> None:
    """In any order, with delays: no verdict is taken back by what comes later, and in the end all are right."""
    case = a_case(data, NEGATIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, START)
    arrivals = data.draw(out_of_order(case.history(data), case.delays))
    for log, known, watermark in deliver(case, [*arrivals, Arrival((), POS)]):
        check_three_values(log, known, watermark)
        check_absences(log, known, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


def check_absences(log: Log, known: Collection[Fact], claims: Claims) -> None:
    """What is supported follows if its hypotheses come, and of what it needs absent nothing does."""
    case = log.case
    inputs = {item.predicate for item in case.program.statements if isinstance(item, Input)}
    for item in log.asker.supported():
        triple = triple_of(item, case.query)
        absent_inputs = all(literal.predicate in inputs and not opens(literal) for literal in triple.absent)
        if triple.is_ground and absent_inputs:
            facts = {*known, *(fact_of(literal, {}) for literal in triple.hypotheses)}
            assert not facts & {fact_of(literal, {}) for literal in triple.absent}, f"{case.text}\n{triple}"
            claims.add(triple.answer, facts, True, f"D={sorted(known, key=repr)}: {triple}")


# --- streams ------------------------------------------------------------------------------------------------------


def told(lines: Iterable[HypotheticalAnswer]) -> list[str]:
    """What lines say, other than when, and which of several proofs is told."""
    return sorted(
        repr((item.answer, item.status, item.evidence if item.status == "possible" else (), item.hypotheses))
        for item in lines
    )


@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_batches_are_replayed_time_by_time(shape: str, data: st.DataObject) -> None:
    """In order of time, any cut of a stream into batches gives the lines of one time point after the other."""
    case = a_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=data.draw(st.booleans())))
    arrivals = in_order(case.history(data))
    cuts = [*(index for index in range(1, len(arrivals)) if data.draw(st.booleans())), len(arrivals)]
    single, batched = Log(case, case.asker()), Log(case, case.asker())
    first = 0
    for last in cuts:
        for arrival in arrivals[first:last]:
            single.receive(arrival.facts, arrival.watermark)
        facts = [fact for arrival in arrivals[first:last] for fact in arrival.facts]
        batched.receive(facts, arrivals[last - 1].watermark)
        first = last
    assert told(batched.lines) == told(single.lines), case.text


@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_snapshot_and_restore_change_nothing(shape: str, data: st.DataObject) -> None:
    """An asker that is restored from a snapshot, through JSON, tells what the other one would have told."""
    case = a_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=True))
    arrivals = [*data.draw(out_of_order(case.history(data), case.delays)), Arrival((), POS)]
    cut = data.draw(st.integers(0, len(arrivals)))
    whole, first, second = (Log(case, case.asker()) for _ in range(3))
    for arrival in arrivals[:cut]:
        whole.receive(arrival.facts, arrival.watermark)
        first.receive(arrival.facts, arrival.watermark)
    second.asker.restore(json.loads(json.dumps(first.asker.snapshot())))
    assert told(second.asker.supported()) == told(first.asker.supported()), case.text
    second.told = first.told
    for arrival in arrivals[cut:]:
        whole.receive(arrival.facts, arrival.watermark)
        second.receive(arrival.facts, arrival.watermark)
    assert told([*first.lines, *second.lines]) == told(whole.lines), case.text


# --- sessions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_certain_answers_are_those_derived_forward(shape: str, data: st.DataObject) -> None:
    """In a session, with lateness and delays: in the end certain is what the oracle and the engine derive."""
    case = a_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=data.draw(st.booleans())))
    facts = case.history(data)
    plan = forward_plan(case) or case.plan
    session = Session(plan, emit="final", lateness=2 * LAST, start=START)
    order = data.draw(st.permutations(facts))
    size = data.draw(st.integers(1, 4))
    log = Log(case, case.asker())
    for index in range(0, len(order), size):
        session.push_records((name, row, time, time) for name, row, time in order[index : index + size])
        for line in session.pull_hypothetical():
            log.note(line)
    session.finish()
    for line in session.pull_hypothetical():
        log.note(line)
    where = f"{case.text}\n{order}"
    assert log.certain == entailed(case.program, case.query, [facts], START)[0], where
    assert {answer for answer in log.told if None not in answer} <= log.certain | log.rejected, where
    if plan.outputs:
        assert log.certain == forward(session, case.query), where


def forward_plan(case: Case) -> Plan | None:
    """The plan with the query's predicate as its output; None where that can be asked for, but not derived forward."""
    try:
        return tidelog.compile(f"{case.text}output {case.query.predicate}.\n")
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"unbounded-time", "infinite-delay"}, f"{case.text}\n{error}"
        return None


def forward(session: Session, query: Atom) -> set[Answer]:
    """What the session derived forward, as answers to the query."""
    found = set()
    for name, row, lo, hi in session.pull_records():
        assert name == query.predicate
        found |= {answer_of(query, row, time) for time in range(lo, hi + 1)}
    return {answer for answer in found if answer is not None}

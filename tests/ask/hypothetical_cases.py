"""Drawn questions with their oracle, and checks of what an asker tells against it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, product
from random import Random
from unittest.mock import patch

from hypothesis import assume, reject
from hypothesis import strategies as st

import tidelog
from oracle.grounding import expression_variables
from oracle.hypothetical import Oracle, entailed, pending_facts
from oracle.hypothetical_agreement import (
    Claims,
    Pattern,
    Triple,
    fact_of,
    fulfils,
    is_instance_of,
    matches,
    opens,
    patterns_of,
    time_slots,
    triple_of,
)
from oracle.hypothetical_programs import (
    LAST,
    VALUES,
    Shapes,
    ask_programs,
    queries,
)
from oracle.hypothetical_streams import Arrival, all_facts, histories, out_of_order, universes
from oracle.worlds import Fact
from tidelog.operators.ask.asker import Asker
from tidelog.operators.sld import limits
from tidelog.operators.sld.unfold import unfold
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.printing import format_program, format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.preconditions import Slot, Unfolding
from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer
from tidelog.plans.tree.syntax import Arithmetic, Ask, Atom, Comparison, Constant, Input, Program, Value, Variable

START = 0
ANY = 3 * LAST
"""A lateness with which facts may come in any order: the watermark alone says what can no longer come."""
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
        return all_facts(self.program, self.query, self.universe)

    @property
    def has_comparisons(self) -> bool:
        """Whether some premises are compared with each other."""
        return any(item.comparisons for item in self.unfolding.main.preconditions)

    @property
    def compares(self) -> bool:
        """Whether some are, other than by the bounds on times that unbounded diamonds make."""
        return any(
            not is_bound(each, {item.variables[i] for i in time_slots(item)})
            for item in self.unfolding.main.preconditions
            for each in item.comparisons
        )

    @property
    def tells_times(self) -> bool:
        """Whether the row of a premise has a time in it, so that facts with further values matter."""
        return any(
            isinstance(term, Slot) and term.variable in time_slots(item)
            for item in self.unfolding.main.preconditions
            for premise in item.premises
            for term in premise.arguments
        )

    def asker(self, lateness: int = 0) -> Asker:
        return Asker(self.plan.questions[0], self.unfolding, lateness)

    def pending(self, known: Collection[Fact], watermark: int) -> list[Fact]:
        return pending_facts(self.universe, known, watermark, self.delays)

    def history(self, data: st.DataObject) -> list[Fact]:
        """Some facts, mostly such as answers need."""
        return data.draw(histories(self.universe, {facts for _, facts in self.oracle.hypothetical([], self.universe)}))


def is_bound(comparison: Comparison, times: Collection[str]) -> bool:
    """Whether it says `V <= T+k` or `V >= T-k` of times."""
    if not expression_variables(comparison.left) | expression_variables(comparison.right) <= {*times}:
        return False
    distance = comparison.right.operands if isinstance(comparison.right, Arithmetic) else (comparison.right,)
    kinds = [type(each) for each in (comparison.left, *distance)]
    return comparison.operator in ("<=", ">=") and kinds in ([Variable, Variable], [Variable, Variable, Constant])


LISTS = (1, limits.LONGEST_LIST)
"""The drawn intervals are short: where lists of two are long already, times get variables of their own."""


def a_case(data: st.DataObject, shapes: Shapes, *, outputs: bool = False) -> Case:
    """A drawn program that can be asked; the others are no examples."""
    longest = data.draw(st.sampled_from(LISTS)) if shapes.metric or shapes.windows else limits.LONGEST_LIST
    with patch.object(limits, "LONGEST_LIST", longest):
        return _drawn_case(data, shapes, outputs=outputs)


def _drawn_case(data: st.DataObject, shapes: Shapes, *, outputs: bool) -> Case:
    program = data.draw(ask_programs(shapes))
    case = case_of(program, data.draw(queries(program)), lambda: data.draw(universes(program)), outputs=outputs)
    assume(not case.oracle.table.meets_edge)
    return case


def case_of(
    program: Program, query: Atom, universe: Callable[[], list[Fact]], *, outputs: bool = False, written: str = ""
) -> Case:
    """What a program is asked, if that can be, over a universe of facts; `written` is compiled in place of the program."""
    text = f"{written or format_program(program)}\n{format_statement(Ask(query))}\n"
    try:
        plan = tidelog.compile(text, outputs=outputs)
        unfolding = unfold(plan.questions[0], plan.facts)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= REFUSED, f"{text}\n{error}"
        assume(False)
        raise
    facts = universe()
    return Case(program, query, text, plan, unfolding, facts, Oracle(program, query, facts, START))


# --- what is told ---


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


def deliver(case: Case, arrivals: Sequence[Arrival], lateness: int = 0) -> Iterable[tuple[Log, list[Fact], int]]:
    """An asker after each arrival, with the facts that have come and the watermark."""
    log = Log(case, case.asker(lateness))
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
        else:
            where = f"{case.text}\nD={known} up to {watermark}: {triple}"
            assert has_instance(case, triple, known, watermark), f"{where} stands for no supported answer"


MOST_WITNESSES = 250
"""So many choices of values are looked at to show that a supported answer with variables stands for some answer."""


def has_instance(case: Case, triple: Triple, known: Collection[Fact], watermark: int) -> bool:
    """Whether some values of what is open make it ⟨θ, H, E⟩ as in Definitions 1 and 2."""
    alike, apart = (instances(case, triple, known, watermark, is_apart=is_apart) for is_apart in (False, True))
    for tried, facts in enumerate(chain(islice(alike, 150), apart)):
        if tried >= MOST_WITNESSES:
            reject()  # a case that is too large for this search says nothing
        worlds = [{*triple.evidence, *facts}]
        worlds += [{*facts, *known} - {fact} for fact in facts]
        worlds += [({*triple.evidence, *facts}) - {fact} for fact in triple.evidence]
        first, *less = entailed(case.program, case.query, worlds, START)
        for answer in (answer for answer in first if matches(triple.answer, answer)):
            if not any(answer in smaller for smaller in less):
                return True
    return False


def instances(case: Case, triple: Triple, known: Collection[Fact], watermark: int, *, is_apart: bool) -> Iterator[set[Fact]]:
    """The hypotheses with values for their variables: facts that can still come, each another one.

    All times are tried with some values; or, where these are to be `is_apart`, different ones of all kinds with some times.
    """
    names = {term.name: literal.time == term for literal in triple.hypotheses for term in opens(literal)}
    names |= {term.name: True for literal in triple.hypotheses for term in opens(literal) if term is literal.time}
    of_values, of_times = ([name for name, is_time in names.items() if is_time == wanted] for wanted in (False, True))
    bounds = {each.right.value for each in triple.where if isinstance(each.right, Constant)}
    behind = {bound + k for bound in bounds if isinstance(bound, int) for k in range(3)}
    added = {
        x.value for c in triple.where if isinstance(c.right, Arithmetic) for x in c.right.operands if isinstance(x, Constant)
    }
    behind |= {watermark + k - less for less in (0, *added) if isinstance(less, int) for k in range(1, 4)}  # `T = X`
    last = max([watermark, *(time for *_, time in known)])  # behind it nothing that is known makes a hypothesis needless
    times = sorted({*range(watermark - 3, last + 9), *behind})  # a variable may stand beside an offset
    constants = {value for fact in case.everything for value in fact[1]}
    numbers = {number for value in constants if isinstance(value, int) for number in (value - 1, value, value + 1)}
    values = [*sorted(constants | numbers | bounds | behind | {0, 5}, key=repr), "fresh", "again"]
    values += sorted({number / 2 for number in numbers} - {*numbers})  # `X = 1 - X`

    def with_values(chosen: Sequence[Value]) -> Iterator[set[Fact]]:
        for moments in product(times, repeat=len(of_times)):
            given = dict(zip([*of_values, *of_times], [*chosen, *moments], strict=True))
            if fulfils(triple.where, given):
                facts = [fact_of(literal, given) for literal in triple.hypotheses]
                is_new = len({*facts}) == len(facts) and not {*facts} & {*known}
                if is_new and pending_facts(facts, known, watermark, case.delays) == facts:
                    yield {*facts}

    count = len(of_values)
    if is_apart:
        draw = Random(0)
        for _ in range(200 if 0 < count <= len(values) else 0):
            yield from islice(with_values(draw.sample(values, count)), 3)
    else:
        for chosen in product(values, repeat=count):
            yield from with_values(chosen)


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
        if {*answer[:-1]} <= {*VALUES} and None not in answer and not (is_left and (case.compares or case.tells_times)):
            claims.add(answer, everything, answer in unfinished, f"{where}\nrejected: {answer in log.rejected} of {answer}")
    hypothetical = {answer for answer, _ in case.oracle.hypothetical(known, pending)}
    early = log.rejected & hypothetical
    assert not early, f"{where}\nrejected too early: {early}"


# --- negation ---


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


def told(lines: Iterable[HypotheticalAnswer]) -> list[str]:
    """What lines say, other than when, and which of several proofs is told."""
    return sorted(
        repr((item.answer, item.status, item.evidence if item.status == "possible" else (), item.hypotheses))
        for item in lines
    )


def check_restored(case: Case, data: st.DataObject) -> None:
    """An asker that is restored from a snapshot, through JSON, tells what the other one would have told."""
    arrivals = [*data.draw(out_of_order(case.history(data), case.delays)), Arrival((), POS)]
    cut = data.draw(st.integers(0, len(arrivals)))
    whole, first, second = (Log(case, case.asker(ANY)) for _ in range(3))
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

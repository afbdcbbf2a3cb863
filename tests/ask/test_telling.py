"""What is told in the corners: in any batches, at which time, with which deadline, and with absences as evidence."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from ask.hypothetical_cases import ANY, START, Case, a_case, due_at
from ask.test_equals_oracle import FEW
from oracle.hypothetical import entailed, pending_facts
from oracle.hypothetical_agreement import opens, points
from oracle.hypothetical_programs import ABSENCES, COMPARED, EVERYTHING, LAST, POSITIVE
from oracle.hypothetical_streams import as_records
from oracle.worlds import Fact
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer
from tidelog.plans.tree.syntax import Ask, Input

pytestmark = pytest.mark.slow

SHAPES = {"positive": POSITIVE, "compared": COMPARED, "everything": EVERYTHING, "absences": ABSENCES}


def arrive(case: Case, batches: Sequence[Sequence[Record]], lateness: int) -> list[HypotheticalAnswer]:
    """What a session tells of batches, and of the end of the stream."""
    session = Session(case.plan, lateness=lateness, start=START)
    lines: list[HypotheticalAnswer] = []
    for batch in batches:
        session.push_records(batch)
        lines += session.pull_hypothetical()
    session.finish()
    return [*lines, *session.pull_hypothetical()]


@pytest.mark.parametrize("shape", SHAPES)
@settings(FEW)
@given(data=st.data())
def test_any_batching_tells_the_same_lines(shape: str, data: st.DataObject) -> None:
    """Line by line, with all that they say: under lateness, with delays, facts over intervals, and what it does not read."""
    case = a_case(data, replace(SHAPES[shape], delays=data.draw(st.booleans())))
    lateness = data.draw(st.integers(0, 3))
    records = in_time(data.draw(st.permutations(data.draw(as_records(case.history(data))))), lateness, case)
    cuts = [0, *(i for i in range(1, len(records)) if data.draw(st.booleans())), len(records)]
    batches = [records[first:last] for first, last in pairwise(cuts)]
    assert arrive(case, batches, lateness) == arrive(case, [[record] for record in records], lateness), (
        f"{case.text}\n{batches} lateness {lateness}"
    )


def in_time(records: Sequence[Record], lateness: int, case: Case) -> list[Record]:
    """Those of the records that do not come too late in this order."""
    kept: list[Record] = []
    latest = -1
    for record in records:
        if not kept or record[2] + case.delays.get(record[0], 0) > latest - lateness - 1:
            kept.append(record)
            latest = max(latest, record[2])
    return kept


@pytest.mark.parametrize("shape", SHAPES)
@settings(FEW)
@given(data=st.data())
def test_lines_keep_what_they_promise(shape: str, data: st.DataObject) -> None:
    """A line has no hypothesis that has come or cannot come, none with its opposite, and is decided by its deadline; what
    failed did not come, or did after `not`; times do not run back."""
    case = a_case(data, replace(SHAPES[shape], delays=data.draw(st.booleans())))
    records = data.draw(as_records(case.history(data)))
    asker = case.asker()
    inputs = {item.predicate for item in case.program.statements if isinstance(item, Input)}
    known: set[Fact] = set()
    deadlines: dict[tuple[object, ...], int] = {}
    latest = -1
    for time in range(2 * LAST + 8):
        some = [record for record in records if record[2] == time]
        came = known | {(name, row, t) for name, row, lo, hi in some for t in range(lo, hi + 1)}
        lines = asker.receive(some, time, START)
        where = f"{case.text}\n{records} at {time}"
        for line in lines:
            assert line.at is not None
            assert line.at >= latest, where
            latest = line.at
            key = tuple(line.answer.values())
            if line.status == "possible":
                check_hypotheses(line, case, known, time, where, inputs)
                if None not in key:
                    deadlines[key] = ANY * 9 if line.deadline is None else line.deadline
            else:
                deadlines.pop(key, None)
            if line.failed is not None and line.failed.predicate in inputs and not opens(line.failed):
                fact = (line.failed.predicate, line.failed.arguments, line.failed.time)
                assert (fact in came) == line.failed.negated, f"{where}\n{line}"
        known = came
        overdue = {key for key, deadline in deadlines.items() if deadline <= time}
        assert not overdue, f"{where}: {overdue} of {deadlines}"


def check_hypotheses(
    line: HypotheticalAnswer, case: Case, known: Collection[Fact], time: int, where: str, inputs: Collection[str]
) -> None:
    """All of them can still come, and none has its opposite beside it."""
    assert line.hypotheses, where
    assert any(not literal.negated for literal in line.evidence), where
    plain = {(x.predicate, x.arguments, x.time, x.negated) for x in points(line.hypotheses) if not x.shown}
    assert not any((*rest, not negated) in plain for *rest, negated in plain), f"{where}\n{line}"
    for literal in line.hypotheses:
        if literal.predicate in inputs and not opens(literal) and not literal.negated:
            assert due_at(literal, case.delays) > time - 1, f"{where}\n{line}"
            assert (literal.predicate, literal.arguments, literal.time) not in known, f"{where}\n{line}"


@settings(FEW)
@given(data=st.data())
def test_absences_are_needed_as_facts_are(data: st.DataObject) -> None:
    """With absences among evidence and hypotheses: these entail the answer whatever else comes, and no one is left out."""
    case = a_case(data, replace(ABSENCES, metric=data.draw(st.booleans())))
    assume("W" not in case.text)  # a time as a value: the universe has no facts with those
    records = data.draw(as_records(case.history(data)))
    asker = case.asker()
    inputs = {item.predicate for item in case.program.statements if isinstance(item, Input)}
    known: set[Fact] = set()
    for time in range(LAST + 2):
        some = [record for record in records if record[2] == time]
        known |= {(name, row, t) for name, row, lo, hi in some for t in range(lo, hi + 1)}
        asker.receive(some, time, START)
        for told in asker.supported():
            line = replace(told, evidence=tuple(points(told.evidence)), hypotheses=tuple(points(told.hypotheses)))
            literals = [*line.evidence, *line.hypotheses]
            if all(literal.predicate in inputs and not opens(literal) for literal in literals):
                check_minimal(line, case, known, time)


def check_minimal(line: HypotheticalAnswer, case: Case, known: Collection[Fact], time: int) -> None:
    """Definitions 1 and 2, with literals in place of facts, over the facts that the case's universe has."""
    answer = tuple(line.answer.values())
    where = f"{case.text}\nD={sorted(known, key=repr)} at {time}: {line}"
    pending = [fact for fact in pending_facts(case.universe, known, time, {}) if fact not in known]
    gone = [fact for fact in case.universe if fact not in known and fact not in pending]
    decided = [*(literal_of(fact, False) for fact in known), *(literal_of(fact, True) for fact in gone)]
    assert holds_always(case, answer, [*decided, *line.hypotheses]), f"{where}\nH is not enough"
    for left in line.hypotheses:
        less = [literal for literal in line.hypotheses if literal != left]
        assert not holds_always(case, answer, [*decided, *less], left), f"{where}\n{left} is not needed"
    given = [*line.evidence, *line.hypotheses]
    for left in line.evidence:
        less = [literal for literal in given if literal != left]
        assert not holds_always(case, answer, less, left), f"{where}\n{left} is no evidence"


def literal_of(fact: Fact, negated: bool) -> GroundLiteral:
    """A fact, or its absence, as a literal."""
    return GroundLiteral(fact[0], fact[1], fact[2], negated)


def holds_always(
    case: Case | SimpleNamespace,
    answer: tuple[object, ...],
    literals: Sequence[GroundLiteral],
    left: GroundLiteral | None = None,
) -> bool:
    """Whether an answer holds in all worlds in which these literals do, as far as the universe tells them apart."""
    given = {(x.predicate, x.arguments, x.time): not x.negated for x in literals}
    apart = [] if left is None else [(left.predicate, left.arguments, left.time)]  # it comes with and without all others
    universe = [*(fact for fact in case.universe if fact not in apart), *apart]
    open_facts = [fact for fact in dict.fromkeys(universe) if fact not in given][-7:]
    others = [fact for fact in dict.fromkeys(universe) if fact not in given and fact not in open_facts]
    fixed = {fact for fact, holds in given.items() if holds}
    worlds = [
        fixed | {fact for i, fact in enumerate(open_facts) if bits >> i & 1} | extra
        for bits in range(1 << len(open_facts))
        for extra in (set(), set(others))
    ]
    return all(answer in held for held in entailed(case.program, case.query, worlds, START))


def test_a_literal_is_left_out_with_and_without_all_others() -> None:
    """Where it is told apart from the others only as they all come, or none, it seems not to be needed."""
    program = parse(
        """timeline integer. input r. input s(x).
        boxminus[0,2] a(X) :- s(X), not r.
        b :- a(X), X > 1. ask b@T."""
    )
    (query,) = [item.query for item in program.statements if isinstance(item, Ask)]
    universe: list[Fact] = [("r", (), 0), ("s", (2,), 2), *(("s", (1,), time) for time in range(7)), ("s", (2,), 0)]
    case = SimpleNamespace(program=program, query=query, universe=universe)
    came, absent = literal_of(("s", (2,), 0), False), literal_of(("r", (), 0), True)
    assert holds_always(case, (0,), [came, absent])
    assert not holds_always(case, (0,), [came], absent)


STRETCHES = (
    "lost(N), boxminus[1,6] not heard(N)",
    "lost(N), boxplus[1,6] not heard(N)",
    "(not heard(N)) since[2,6] lost(N)",
    "lost(N), not sometime heard(N) in [5]",
    "lost(N), (not heard(N)) until[1,5] back(N)",
    "lost(N), not diamondplus[0,3] heard(N), diamondminus[1,4] back(N)",
)


@pytest.mark.parametrize("body", STRETCHES)
def test_absences_over_stretches_are_what_is_derived_forward(body: str) -> None:
    """In any order, with facts over intervals and a snapshot in between: certain is what the rules derive, and all ends."""
    draw = random.Random(body)
    text = f"timeline integer. input lost(n). input heard(n). input back(n). d(N) :- {body}."
    asked, derived = tidelog.compile(text, queries=["d(N)@T"], outputs=False), tidelog.compile(f"{text} output d.")
    for _ in range(15):
        records = sorted(
            (
                (draw.choice(["lost", "lost", "heard", "back"]), (draw.choice("ab"),), time, time + draw.choice([0, 0, 2]))
                for time in draw.choices(range(25), k=14)
            ),
            key=lambda record: record[2],
        )
        lateness = draw.choice([0, 25])
        if lateness:
            draw.shuffle(records)
        forward = Session(derived, lateness=lateness, emit="final", start=0)
        forward.push_records(records)
        forward.finish()
        expected = {(row[0], time) for _, row, lo, hi in forward.pull_records() for time in range(lo, hi + 1)}
        first = Session(asked, lateness=lateness, start=0)
        first.push_records(records[:7])
        lines = first.pull_hypothetical()
        second = Session(asked, lateness=lateness, start=0)
        second.restore(first.snapshot())
        second.push_records(records[7:])
        second.finish()
        lines += second.pull_hypothetical()
        answers = [(tuple(line.answer.values()), line) for line in lines]
        assert {key for key, line in answers if line.status == "certain"} == expected, records
        ended = {key for key, line in answers if line.is_final}
        assert {key for key, line in answers if None not in key} == ended, records

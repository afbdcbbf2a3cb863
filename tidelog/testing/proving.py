"""What can be said of a program without data: findings that are proved, and witnesses that were run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tidelog.plans.data.facts import format_atom
from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.budget import Question, Reason, why
from tidelog.plans.proving.findings import beside, book_of, in_order
from tidelog.plans.proving.judging import ENDING, Judge
from tidelog.plans.tree.declared.alarms import alarms_of
from tidelog.plans.tree.declared.machines import machine_of
from tidelog.testing.witnessing import Searcher, Witness

Answer = Literal["ends", "begins", "never ends", "never", "undecided"]
"""Of an output: a witness begins and ends; one begins, and it is not known whether it ends; it is proved that none ends, or
that there is none; neither is known."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of a program; `undecided` are questions, as they were asked."""

    plan: Plan
    findings: tuple[Diagnostic, ...]
    answers: Mapping[str, Answer]
    witnesses: Mapping[str, Witness]
    excluding: tuple[tuple[str, str], ...] = ()
    undecided: tuple[Question, ...] = ()

    @property
    def open_questions(self) -> Mapping[tuple[str, Reason], tuple[str, ...]]:
        """What is undecided, by questions, and by why it is."""
        found: dict[tuple[str, Reason], dict[str, None]] = {}
        for question, of, reason in self.undecided:
            found.setdefault((question, reason), {})[of] = None
        return {question: tuple(of) for question, of in found.items()}


@dataclass
class _Timer:
    """Says when a share of the time is over: of computing, so that a machine with other work decides no less."""

    seconds: float
    begun: float = field(default_factory=time.process_time)

    def share(self, part: float) -> Callable[[], bool]:
        """Whether so much of the whole time is over."""
        end = self.begun + self.seconds * part
        return lambda: time.process_time() > end


def prove(plan: Plan, seconds: float) -> Proof:
    """All that is found out about a plan within some seconds."""
    timer = _Timer(seconds)
    judge = Judge(book_of(plan), timer.share(0.3))
    outputs = tuple(plan.outputs)
    judge.find_dead()
    found = list(judge.never(outputs))
    searcher = Searcher(plan, judge.book)
    witnesses: dict[str, Witness] = {}
    late: set[str] = set()
    waiting = [name for name in outputs if not judge.is_empty(name)]
    for number, name in enumerate(waiting, 1):
        searcher.is_over = timer.share(0.3 + 0.4 * number / len(waiting))
        witness = searcher.witness(name, is_endless=judge.keeps_itself_up(name))
        if witness is not None:
            witnesses[name] = witness
        if searcher.is_over():
            late.add(name)
    searcher.is_over = timer.share(0.75)
    found += _flapping(searcher)
    judge.is_over = timer.share(1.0)
    found += beside(judge, outputs, {name for name, witness in witnesses.items() if witness.ends})
    excluding = tuple(judge.excluding([alarm.name for alarm in alarms_of(plan.program)]))
    endless = {name for name in outputs if name in judge.lasting_ones}
    answers = {name: _answer(name, judge, witnesses.get(name), endless) for name in outputs}
    return Proof(plan, in_order(found), answers, witnesses, excluding, (*judge.undecided, *_open(answers, late, judge)))


def _flapping(searcher: Searcher) -> Iterator[Diagnostic]:
    for one, other, witness in searcher.flapping():
        machine = machine_of(one.clause.head.predicate)
        first, second = (f"`{band.name}`" for band in (one, other))
        fact = format_atom(witness.facts[0].predicate, witness.facts[0].row)
        times = f"with `{fact}` at each of {len(witness.facts)} ticks it changes {len(witness.told)} times"
        notes = (Note(one.clause.rule.span, f"{first} is assigned here"),)
        help = "leave values between the two thresholds at which neither is assigned"
        message = f"`{machine}` goes to and fro while the reading stays the same"
        span = other.clause.rule.span
        yield Diagnostic(
            "flapping", message, span, f"{second} is assigned by the same value: {times}", notes, help, "warning"
        )


def _answer(name: str, judge: Judge, witness: Witness | None, endless: set[str]) -> Answer:
    if judge.is_empty(name):
        return "never"
    if witness is None:
        return "undecided"
    if witness.ends:
        return "ends"
    return "never ends" if name in endless else "begins"


def _open(answers: Mapping[str, Answer], late: Collection[str], judge: Judge) -> Iterator[Question]:
    """What is open of outputs, `late` being those for which there was no time to look for more facts."""
    known = {(question.asked, question.of) for question in judge.undecided}
    for name, answer in answers.items():
        if answer == "undecided":
            yield Question("whether it can hold", f"`{name}`", why(name in late))
        if answer == "begins" and (ENDING, f"`{name}`") not in known:
            yield Question(ENDING, f"`{name}`", why(name in late))

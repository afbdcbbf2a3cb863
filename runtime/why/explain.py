"""`why`: the reason for which a fact holds, or for each rule what it lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.calendars.declared import calendars_of
from tidelog.plans.data.facts import Record
from tidelog.plans.data.intervals import covers
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.explaining.wording import Wording
from tidelog.plans.tree.syntax import CalendarDeclaration, Program, Rule
from tidelog.plans.tree.walk import statements_of
from tidelog.runtime.why.absent.why_not import Refuter, WhyNot
from tidelog.runtime.why.evidence.clauses import clauses_of
from tidelog.runtime.why.evidence.model import Model, Writing
from tidelog.runtime.why.evidence.windows import Windows
from tidelog.runtime.why.proofs.certificate import Certificate, Writer, certificate, in_order
from tidelog.runtime.why.proofs.lanes import lanes_of
from tidelog.runtime.why.proofs.picture import draw
from tidelog.runtime.why.proofs.proof import AGGREGATE, PARTS, Proof, Prover
from tidelog.runtime.why.proofs.search import Search
from tidelog.runtime.why.proofs.tree import tree


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a fact holds: `proof` is the one of least height. `text`, `json` and `certificate` show it.

    `notes` say what else is to be known, such as what a session has forgotten.
    """

    proof: Proof
    writer: Writer
    plain: Writer
    timeline: Timeline
    holds: bool = True
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """An indented tree: each fact, the rule by which it follows, its premises."""
        return "\n".join([tree(self.proof, self.writer), *(f"  ({note})" for note in self.notes)])

    def certificate(self) -> Certificate:
        """The proof as plain data, which `tidelog verify` checks."""
        return certificate(self.proof, self.plain)

    def given(self) -> list[Record]:
        """The facts on which it rests in the end, each once: what was given, in order of time."""
        below = (each for each in in_order(self.proof) if not each.is_rule and each.by not in (PARTS, AGGREGATE))
        facts = dict.fromkeys((each.predicate, each.row, each.lo, each.hi) for each in below)
        return sorted(facts, key=lambda fact: fact[2:])

    def svg(self) -> str:
        """A timeline with a lane for each fact, and the windows that rules look at."""
        return draw(list(lanes_of(self.proof, self.writer)), self.timeline)

    def json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.certificate(), ensure_ascii=False)


class Explainer:
    """Explains facts of one model of a program."""

    def __init__(self, program: Program, model: Model, at: Writing = None) -> None:
        self.model = model
        self._clauses = clauses_of(program)
        calendars = calendars_of(statements_of(program, CalendarDeclaration))
        self._windows = Windows(model.timeline, model.start, model.arrivals, calendars)
        self._plain = Writer(model.timeline)
        self._writer = Writer(model.timeline, at, Wording(statements_of(program, Rule)))

    def why(self, fact: Record, depth: int = 1) -> Reason | WhyNot:
        """Why a fact holds at all its times, or why not (`depth` levels deep). MethodError where the search was stopped."""
        if self.holds(fact):
            return next(self.reasons(fact))
        return Refuter(self.model, self._clauses, self._windows, self._writer).why_not(fact, depth)

    def holds(self, fact: Record) -> bool:
        """Whether a fact holds at all its times."""
        _, _, lo, hi = fact
        return covers(self.model.ranges(*fact, exact=False), lo, hi)

    def reasons(self, fact: Record) -> Iterator[Reason]:
        """All reasons for which a fact holds, that of least height first, found one after the other."""
        search = Search(self.model, self._clauses, self._windows)
        search.solve(*fact)
        prover = Prover(search)
        first = prover.prove(*fact)
        yield Reason(first, self._writer, self._plain, self.model.timeline)
        search = Search(self.model, self._clauses, self._windows)
        search.solve(*fact, exhaust=True)
        for proof in Prover(search).others(*fact, first):
            yield Reason(proof, self._writer, self._plain, self.model.timeline)

"""Why a session told what it told: from the last facts that it accepted, as many as it was asked to remember.

Nothing is recorded while rules run. When a reason is asked for, the facts are handed to a second session that tells
everything it derives, as far as the stream is complete; what that session knows is explained. Of facts that have been
forgotten it is known how many there were, and up to when they held: what rests on something being absent before then is
doubtful, and said to be so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.why.absent.misses import first_time
from tidelog.runtime.why.absent.why_not import WhyNot
from tidelog.runtime.why.evidence.model import Writing
from tidelog.runtime.why.explain import Explainer, Reason
from tidelog.runtime.why.proofs.certificate import Writer, in_order
from tidelog.runtime.why.proofs.proof import PARTS, Proof
from tidelog.runtime.why.proofs.support import Absence
from tidelog.runtime.why.told import explainer_of, telling_all

Answer = TypeVar("Answer", bound=Reason | WhyNot)

Replay = Callable[[Plan, Sequence[Record], int | None, int], list[Record]]
"""What a plan tells of facts, from a start on, if the stream is complete up to a time."""

MOST_PREMISES = 20
"""So many premises an answer carries, at the most."""


class ExplainedChange(ChangeRecord):
    """A change with the premises of its reason, as text; None where they are not known any more."""

    because: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many facts are not known any more (None: nobody knows), and up to when one of them held, encoded."""

    facts: int | None
    until: int


class Memory:
    """The last accepted facts of a session, and the reasons that follow from them."""

    def __init__(self, plan: Plan, most: int, replay: Replay) -> None:
        self._most, self._replay = most, replay
        self._whole = _Whole(plan)
        self._facts: deque[Record] = deque()
        self._forgotten = Forgotten(0, NEG)
        self._start: int | None = None
        self._frontier = NEG
        self._known: Known | None = None

    def __len__(self) -> int:
        return len(self._facts)

    def take(self, delivery: Delivery) -> None:
        """Remember the facts of a delivery, in the order in which tuple windows count them."""
        records = [(name, *fact) for name, facts in delivery.facts.items() for fact in facts]
        if delivery.arrivals:
            order = {(row, lo): number for number, (row, lo, _) in enumerate(delivery.arrivals)}
            records.sort(key=lambda item: (item[2], order.get(((item[0], *item[1]), item[2]), len(order))))
        if delivery.start is not None:
            self._start = delivery.start
        if records or delivery.frontier > self._frontier:
            self._known = None
        self._frontier = max(self._frontier, delivery.frontier)
        self._facts += records
        while len(self._facts) > self._most:
            self._forget(self._facts.popleft())

    def _forget(self, record: Record) -> None:
        before = self._forgotten.facts
        self._forgotten = Forgotten(None if before is None else before + 1, max(self._forgotten.until, record[3]))

    @property
    def facts(self) -> Sequence[Record]:
        """What is remembered, in the order in which tuple windows count it."""
        return sorted(self._facts, key=lambda record: record[2])

    def begin_anew(self, frontier: int, accepted: int) -> None:
        """The session goes on from a snapshot: the facts before it are not known."""
        self._facts.clear()
        self._known = None
        self._frontier = frontier
        self._forgotten = Forgotten(accepted, frontier)

    def forget_before(self, until: int) -> None:
        """There were facts before all that is told, nobody knows how many, which held up to this time."""
        self._known = None
        self._forgotten = Forgotten(None, until)

    def known(self, at: Writing = None) -> Known:
        """What is known now, which stays as it is while the session goes on; `at` writes the times of reasons."""
        if at is not None:
            return self._now(at)
        self._known = self._known or self._now(None)
        return self._known

    def _now(self, at: Writing) -> Known:
        return Known(self._whole, self.facts, self._forgotten, self._start, self._frontier, self._replay, at)

    def explained(self, answers: Sequence[Record]) -> list[Record]:
        """The same answers, changes among them with their premises."""
        return [self._explained(each) if isinstance(each, ChangeRecord) else each for each in answers]

    def _explained(self, change: ChangeRecord) -> ExplainedChange:
        told = ExplainedChange(*change)
        told.because = self.known().because(change)
        return told


class _Whole:
    """The plan that tells all that is derived; it is made when it is first asked for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def telling(self) -> Plan:
        return telling_all(self.plan)


class Known:
    """What a session remembers at some moment, and the reasons that follow from it; another thread may ask for these."""

    def __init__(
        self,
        whole: _Whole,
        facts: Sequence[Record],
        forgotten: Forgotten,
        start: int | None,
        frontier: int,
        replay: Replay,
        at: Writing,
    ) -> None:
        self._whole, self._facts, self._forgotten = whole, facts, forgotten
        self._start, self._frontier, self._replay, self._at = start, frontier, replay, at
        self._timeline = whole.plan.timeline

    def why(self, fact: Record, depth: int = 1) -> Reason | WhyNot:
        """Why a fact holds, or why not, with what is not known of it."""
        return self._noted(self._explainer.why(fact, depth), fact)

    def holds(self, fact: Record) -> bool:
        """Whether a fact holds at all its times."""
        return self._explainer.holds(fact)

    def reasons(self, fact: Record) -> Iterator[Reason]:
        """All reasons for which a fact holds, that of least height first, each with what is not known."""
        return (self._noted(reason, fact) for reason in self._explainer.reasons(fact))

    def because(self, change: ChangeRecord) -> tuple[str, ...] | None:
        """The premises of a change, one level deep; None where they are not known any more."""
        predicate, row, lo, hi = change
        if not change.has_ended:
            lo, hi = first_time([(lo, POS)], is_integer=self._timeline.is_integer)
        try:
            answer = self._explainer.why((predicate, row, lo, hi))
        except MethodError:
            return None
        if not isinstance(answer, Reason) or self._is_doubtful(answer):
            return None
        texts = list(dict.fromkeys(_premises(answer.proof, answer.writer)))
        more = len(texts) - MOST_PREMISES
        return (*texts[:MOST_PREMISES], *([f"and {more} more"] if more > 0 else []))

    @cached_property
    def _explainer(self) -> Explainer:
        plan = self._whole.telling
        told = self._replay(plan, self._facts, self._start, self._frontier)
        return explainer_of(plan, self._facts, told, self._start, self._at)

    def _noted(self, answer: Answer, fact: Record) -> Answer:
        return replace(answer, notes=tuple(self._notes(answer, fact)))

    def _is_doubtful(self, reason: Reason) -> bool:
        """Whether something that is said to be absent, or to be all there is, may be among what was forgotten."""
        until = self._forgotten.until
        below = (item for each in in_order(reason.proof) for item in each.premises)
        return any(
            (isinstance(item, Absence) and item.lo <= until)
            or (isinstance(item, Proof) and item.total is not None and item.total.window[0] <= until)
            for item in below
        )

    def _notes(self, answer: Reason | WhyNot, fact: Record) -> Iterator[str]:
        at = self._timeline.format_point
        count = self._forgotten.facts
        if count != 0:
            until = self._forgotten.until
            earlier = "earlier facts" if count is None else f"{count:,} earlier facts"
            when = "always" if until >= POS else f"up to {at(until)}"
            doubt = not isinstance(answer, Reason) or self._is_doubtful(answer)
            beside = ": one of them might change this" if doubt else ""
            yield f"{earlier}, which held {when}, are not known any more{beside}"
        if isinstance(answer, WhyNot) and fact[3] > self._frontier:
            known = f"up to {at(self._frontier)} alone" if self._frontier > NEG else "at no time yet"
            yield f"the stream is complete {known}: it may still come to hold later"


def _premises(proof: Proof, writer: Writer) -> Iterator[str]:
    """What a fact follows from, one level deep."""
    for each in proof.premises:
        if isinstance(each, Absence):
            yield f"not {writer.absence(each)}"
        elif proof.by == PARTS:
            yield from _premises(each, writer)
        else:
            yield writer.proof(each)
    if not proof.premises and not proof.is_rule:
        yield writer.proof(proof)

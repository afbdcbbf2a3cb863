"""Why a fact does not hold: for each rule that could derive it the first premise that fails, and how near it came."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.plans.data.facts import Record, Row, format_constant
from tidelog.plans.data.intervals import Range, subtracted
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.tree.declared.machines import assigned_of
from tidelog.plans.tree.syntax import Unary
from tidelog.runtime.why.absent.assigned import Assignments
from tidelog.runtime.why.absent.misses import Miss, Misses, first_time
from tidelog.runtime.why.evidence.clauses import Clause, Clauses
from tidelog.runtime.why.evidence.following import Failure, Follower
from tidelog.runtime.why.evidence.grounding import Binding, grounded
from tidelog.runtime.why.evidence.matching import Matcher, TooManyRows, unified
from tidelog.runtime.why.evidence.model import Model, Unbounded
from tidelog.runtime.why.evidence.truth import TruthTeller
from tidelog.runtime.why.evidence.windows import Windows
from tidelog.runtime.why.proofs.certificate import Certificate, Writer
from tidelog.runtime.why.proofs.picture import Lane, draw

MOST_COMPARED = 20
"""Of so many that fail at one premise, the one that came nearest is told."""
MOST_ATTEMPTS = 200
"""So many rules are looked at, at the most, in all levels together."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A rule that does not derive the fact: with the values of `binding` its `premise` fails, as `miss` says.

    `attempts` are those of the fact that is missing, where it is asked for and a rule could derive it; `instead` says what
    holds in its place, where it is of a machine.
    """

    by: str
    binding: Binding
    premise: str
    miss: Miss
    attempts: tuple[Attempt, ...] = ()
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a fact does not hold at all its times: `missing` is the first time at which it does not.

    `nearest` is the range at which the fact itself lies nearest, if at all; `stopped` says that not everything was tried;
    `instead` what holds in the fact's place, where it is of a machine.
    """

    record: Record
    fact: str
    missing: str
    attempts: tuple[Attempt, ...]
    nearest: str | None
    stopped: bool
    writer: Writer
    timeline: Timeline
    holds: bool = False
    notes: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()

    def given(self) -> list[Record]:
        """Nothing that it would rest on: it does not hold."""
        return []

    def text(self) -> str:
        """The rules, each with the first premise that fails and what came nearest to it."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        beside = f"; nearest is {self.nearest}" if self.nearest else ""
        yield f"{self.fact} does not hold: not at {self.missing}{beside}"
        yield from (f"  {line}" for line in self.instead)
        if not self.attempts:
            yield "  no rule could derive it, and it was not given"
        yield from _shown(self.attempts, 1)
        if self.stopped:
            yield "  (the search was stopped: there may be substitutions that come nearer)"
        yield from (f"  ({note})" for note in self.notes)

    def certificate(self) -> Certificate:
        """What failed as plain data."""
        told: Certificate = {"holds": False, "fact": self.fact, "missing": self.missing, "nearest": self.nearest}
        told |= {"instead": list(self.instead)} if self.instead else {}
        told["attempts"] = _as_data(self.attempts)
        return {**told, "stopped": True} if self.stopped else told

    def svg(self) -> str:
        """A timeline: for each rule the range in which its premise fails, and what came nearest."""
        _, _, lo, hi = self.record
        lanes = [Lane(self.fact, "does not hold", 0, "fails", (lo, hi)), *_failures(self.attempts, 1)]
        return draw(lanes, self.timeline)

    def json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.certificate(), ensure_ascii=False)


def _failures(attempts: Sequence[Attempt], level: int) -> Iterator[Lane]:
    for each in attempts:
        miss = each.miss
        if miss.times is not None:
            yield Lane(miss.fails, each.by, level, "fails", miss.times)
            if miss.nearest_times is not None and miss.nearest is not None:
                yield Lane(miss.nearest, "nearest", level + 1, "near", miss.nearest_times)
        yield from _failures(each.attempts, level + 1)


def _as_data(attempts: Sequence[Attempt]) -> list[Certificate]:
    found: list[Certificate] = []
    for each in attempts:
        told: Certificate = {"by": each.by, "premise": each.premise, "fails": each.miss.fails, "nearest": each.miss.nearest}
        told |= {"instead": list(each.instead)} if each.instead else {}
        found.append({**told, "attempts": _as_data(each.attempts)} if each.attempts else told)
    return found


def _shown(attempts: Sequence[Attempt], level: int) -> Iterator[str]:
    indent = "  " * level
    for each in attempts:
        named = [f"{name} = {format_constant(value)}" for name, value in sorted(each.binding.items()) if name[0] != "_"]
        yield f"{indent}by {each.by}{'  where ' + ', '.join(named) if named else ''}"
        inside = "" if each.miss.fails.startswith((each.premise, f"({each.premise})")) else f"{each.premise}: "
        where = "nowhere " if each.miss.anywhere else ""
        yield f"{indent}  fails {inside}{where}{each.miss.fails}"
        if each.miss.nearest:
            yield f"{indent}  nearest {each.miss.nearest}"
        yield from (f"{indent}  instead {line}" for line in each.instead)
        yield from _shown(each.attempts, level + 2)


class Refuter:
    """Finds out why facts of one model do not hold."""

    def __init__(self, model: Model, clauses: Clauses, windows: Windows, writer: Writer) -> None:
        self._model = model
        self._clauses = clauses
        self._windows = windows
        self._writer = writer
        self._matcher = Matcher(windows, model)
        teller = TruthTeller(windows, model, self._matcher.locals)
        self._follower = Follower(self._matcher, teller)
        self._misses = Misses(model, self._matcher, teller, writer)
        self._assignments = Assignments(model, clauses, self._follower, writer)
        self._stopped = False
        self._attempted = 0

    def why_not(self, fact: Record, depth: int = 1) -> WhyNot:
        """Why a fact does not hold; with a `depth` above 1, also why what it lacks does not hold, so deep."""
        predicate, row, lo, hi = fact
        self._stopped, self._attempted = False, 0
        try:
            held = self._model.ranges(predicate, row, lo, hi, exact=False)
            missing = self._first(subtracted([(lo, hi)], held))
            attempts = tuple(self._attempts(predicate, row, missing, depth))
            instead = self._instead(predicate, row, missing[0])
        except Unbounded as error:
            raise MethodError(f"`{error.predicate}` repeats for ever: too much of it would have to be looked at") from None
        nearest = self._model.nearest(predicate, row, *missing)
        told = None if nearest is None else self._writer.fact(predicate, row, *nearest)
        text = self._writer.fact(predicate, row, lo, hi)
        at, timeline = self._writer.times(*missing), self._model.timeline
        return WhyNot(fact, text, at, attempts, told, self._stopped, self._writer, timeline, instead=instead)

    def _instead(self, predicate: str, row: Row, time: int) -> tuple[str, ...]:
        is_machine = self._assignments.is_machine(predicate)
        return self._assignments.instead(predicate, row, time).lines if is_machine else ()

    def _first(self, missing: Sequence[Range]) -> Range:
        return first_time(missing, is_integer=self._model.timeline.is_integer)

    def _attempts(
        self, predicate: str, row: Row, missing: Range, depth: int, *, anywhere: bool = False
    ) -> Iterator[Attempt]:
        """The rules for a predicate, and what each lacks at the times that are missing, or, `anywhere`, at one of them."""
        for clause in self._clauses.of(predicate):
            if clause.tells_machine and self._assignments.is_machine(predicate):
                since = self._assignments.instead(predicate, row, missing[0]).since
                needed = since, max(since, missing[0] - 1)
                yield from self._attempts(assigned_of(predicate), row, needed, depth, anywhere=True)
                continue
            self._misses.asked = missing[1]
            self._attempted += 1
            if self._attempted > MOST_ATTEMPTS:
                self._stopped = True
                return
            self._matcher.tried = 0
            try:
                attempt = self._attempt(clause, row, missing, depth, anywhere=anywhere)
            except TooManyRows:
                self._stopped = True
                continue
            if attempt is not None:
                yield attempt

    def _attempt(self, clause: Clause, row: Row, missing: Range, depth: int, *, anywhere: bool) -> Attempt | None:
        """Follow a rule from premise to premise; None if its head is not the fact's."""
        start = unified(clause.head.arguments, row, {})
        times = missing
        if start is not None and clause.point is not None:
            name, place = clause.point.variable.name, missing[0] - clause.point.shift
            start = None if start.get(name, place) != place else {**start, name: place}
            times = NEG, POS
        if start is None:
            return None
        self._follower.was_cut = False
        failure = self._follower.failure(clause.body, start, *self._body_times(clause, times), anywhere=True)
        self._stopped = self._stopped or self._follower.was_cut
        if failure is None:  # the head's arithmetic differs
            return None
        return self._failed(clause, failure, depth, anywhere=anywhere)

    def _body_times(self, clause: Clause, times: Range) -> Range:
        """When the body has to hold at one time, for the head to hold at these."""
        reason = clause.reason
        while isinstance(reason, Unary):
            times = self._windows.seen(reason, *times)
            reason = reason.operand
        return times

    def _failed(self, clause: Clause, failure: Failure, depth: int, *, anywhere: bool) -> Attempt:
        premise = failure.premise
        is_one_time = anywhere or clause.point is not None or isinstance(clause.reason, Unary)
        tried: list[tuple[tuple[float, float], int, Binding, Miss]] = []
        for binding, ranges in failure.states[:MOST_COMPARED]:
            lo, hi = self._misses.nearest_of(ranges)
            miss = self._misses.of(premise, binding, lo, hi, anywhere=is_one_time and lo < hi, beside=clause.body)
            tried.append((miss.distance, len(tried), binding, miss))
        _, _, binding, miss = min(tried, key=lambda item: item[:2])
        below: tuple[Attempt, ...] = ()
        instead = () if miss.wanted is None else self._instead(*miss.wanted[:3])
        if depth > 1 and miss.wanted is not None and self._clauses.of(miss.wanted[0]):
            predicate, row, lo, hi = miss.wanted
            gaps = subtracted([(lo, hi)], self._model.ranges(predicate, row, lo, hi, exact=False))
            if gaps:
                below = tuple(self._attempts(predicate, row, self._first(gaps), depth - 1))
        return Attempt(clause.text, binding, self._writer.valued(grounded(premise, binding)), miss, below, instead)

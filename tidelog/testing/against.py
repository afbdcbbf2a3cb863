"""Two programs beside each other: facts of which one tells what the other does not, or a proof that there are none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tidelog.plans.data.facts import Record
from tidelog.plans.data.refining import common_divisor
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.beside.below import Beside
from tidelog.plans.proving.budget import Reason, why
from tidelog.plans.proving.changing import variants
from tidelog.plans.proving.findings import book_of
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.tree.syntax import Interval
from tidelog.testing.trying import Run, Runner, narrowed, refined
from tidelog.testing.witnessing import Searcher, fields_of

Outcome = Literal["more", "nothing more", "undecided"]
"""Of one program beside the other: there are facts of which it tells more; it is proved that there are none; neither."""
_PROOFS = 0.4
"""So much of the time is there for proofs."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one program tells of an output beside another: `facts` of which it tells `told`, which the other does not.

    Where it is undecided, `reason` says why.
    """

    output: str
    outcome: Outcome
    facts: tuple[Fact, ...] = ()
    told: tuple[Record, ...] = ()
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Against:
    """Two programs: for each output of either, what the new one tells more, and what the old one does.

    `plans` are those of both, the new one first, on one timeline.
    """

    plans: tuple[Plan, Plan]
    new: tuple[Comparison, ...]
    old: tuple[Comparison, ...]


def against(new: Plan, old: Plan, seconds: float) -> Against:
    """Compare two programs within some seconds of computing; SpecError where their times do not mean the same."""
    resolution = common_divisor(new.timeline.resolution, old.timeline.resolution)
    timeline = replace(new.timeline, resolution=resolution)
    if timeline != replace(old.timeline, resolution=resolution):
        raise SpecError("--against: the two programs have different timelines, so no facts are those of both")
    begun = time.process_time()
    coarse = (new.timeline, old.timeline)
    new, old = plans = (refined(new, timeline), refined(old, timeline))
    beside = Beside(book_of(new), book_of(old), partial(_is_past, begun + seconds * _PROOFS))
    names = list(dict.fromkeys([*new.outputs, *old.outputs]))
    found: tuple[list[Comparison], list[Comparison]] = ([], [])
    waiting: list[tuple[int, str]] = []
    for side, name in ((side, name) for name in names for side in (0, 1) if name in plans[side].outputs):
        if name in plans[1 - side].outputs and beside.is_below(side, name):
            found[side].append(Comparison(name, "nothing more"))
        else:
            waiting.append((side, name))
    proved = time.process_time()
    for number, (side, name) in enumerate(waiting, 1):
        end = proved + (begun + seconds - proved) * number / len(waiting)
        finder = _Finder(name, plans[side], plans[1 - side], coarse, partial(_is_past, end))
        found[side].append(finder.comparison())
    places = {name: place for place, name in enumerate(names)}
    one, another = (tuple(sorted(each, key=lambda item: places[item.output])) for each in found)
    return Against(plans, one, another)


def _is_past(end: float) -> bool:
    return time.process_time() > end


_NOTHING = Run({}, {})


class _Finder:
    """Looks for facts of which one program tells more of an output than another."""

    def __init__(
        self, name: str, first: Plan, second: Plan, coarse: Sequence[Timeline], is_over: Callable[[], bool]
    ) -> None:
        self._name, self._is_over, self._coarse = name, is_over, coarse
        self._books = (book_of(first), book_of(second))
        self._searcher = Searcher(first, self._books[0], is_over, [(second, self._books[1])])
        self._fields = {**fields_of(second), **fields_of(first)}
        self._takers = (Runner(first), Runner(second))
        self._first = Runner(narrowed(first, name))
        self._second = Runner(narrowed(second, name)) if name in second.outputs else None

    def comparison(self) -> Comparison:
        """Facts that show what the first program tells more, or that none were found."""
        told = self._found()
        if told is None:
            return Comparison(self._name, "undecided", reason=why(self._is_over()))
        return Comparison(self._name, "more", *told)

    def _found(self) -> tuple[tuple[Fact, ...], tuple[Record, ...]] | None:
        """Facts, and what is told of them by the first program alone; None where none were found."""
        for facts in self._tried():
            more = self._more(facts)
            if more:
                return self._shrunk(facts)
        return None

    def _tried(self) -> Iterator[tuple[Fact, ...]]:
        """Guesses, the plain ones first, then with other values and with facts beside them."""
        guesses: list[tuple[Fact, ...]] = []
        for guess in self._searcher.moved_guesses(self._name):
            if self._is_over():
                return
            guesses.append(guess)
            yield guess
        for guess in sorted(guesses, key=len):
            if self._first.told(guess).get(self._name):
                for changed in variants(guess, self._books, self._fields):
                    if self._is_over():
                        return
                    yield changed

    def _more(self, facts: Sequence[Fact]) -> tuple[Record, ...]:
        """What the first program tells, at times at which the second one does not, as far as both are decided.

        Each is given the facts that it takes, as in a stream. Facts that one of them says can never come show nothing.
        """
        if not all(map(self._is_for_both, facts)):
            return ()
        first = self._first.followed(self._taken(0, facts))
        told = first.told.get(self._name, ())
        if not told:
            return ()
        second = _NOTHING if self._second is None else self._second.followed(self._taken(1, facts))
        if second.is_void:
            return ()
        limit = min(first.limit(self._name), second.limit(self._name))
        both = second.told.get(self._name, ())
        told = tuple((*record[:3], min(record[3], limit)) for record in told if record[2] <= limit)
        return tuple(piece for record in told for piece in _without(record, both))

    def _is_for_both(self, fact: Fact) -> bool:
        """Whether the times of a fact are not too fine for one of the programs."""
        try:
            for timeline in self._coarse:
                timeline.encode_interval(Interval(fact.low, fact.high))
        except DataError:
            return False
        return True

    def _taken(self, side: int, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        return tuple(filter(self._takers[side].takes, facts))

    def _shrunk(self, facts: tuple[Fact, ...]) -> tuple[tuple[Fact, ...], tuple[Record, ...]]:
        for fact in facts:
            less = tuple(each for each in facts if each != fact)
            if self._more(less):
                facts = less
        return facts, self._more(facts)


def _without(record: Record, others: Sequence[Record]) -> Iterator[Record]:
    """The pieces of a record that no other of the same row covers."""
    predicate, row, lo, hi = record
    for _, _, low, high in sorted(each for each in others if each[1] == row):
        if high < lo or low > hi:
            continue
        if low > lo:
            yield predicate, row, lo, low - 1
        lo = high + 1
    if lo <= hi:
        yield predicate, row, lo, hi

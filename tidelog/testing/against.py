"""Two programs beside each other: facts of which one tells what the other does not, or a proof that there are none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.changing import variants
from tidelog.plans.proving.findings import book_of
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.proving.judging import Judge
from tidelog.plans.proving.merging import merged, other
from tidelog.testing.trying import Run, Runner, narrowed
from tidelog.testing.witnessing import Searcher

Outcome = Literal["more", "nothing more", "undecided"]
"""Of one program beside the other: there are facts of which it tells more; it is proved that there are none; neither."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one program tells of an output beside another: `facts` of which it tells `told`, which the other does not."""

    output: str
    outcome: Outcome
    facts: tuple[Fact, ...] = ()
    told: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Against:
    """Two programs: for each output of either, what the new one tells more, and what the old one does."""

    new: tuple[Comparison, ...]
    old: tuple[Comparison, ...]


def against(new: Plan, old: Plan, seconds: float) -> Against:
    """Compare two programs within some seconds of computing; SpecError where their times do not mean the same."""
    if new.timeline != old.timeline:
        raise SpecError("--against: the two programs have different timelines, so no facts are those of both")
    begun = time.process_time()
    names = list(dict.fromkeys([*new.outputs, *old.outputs]))
    sides = [(name, first, second) for name in names for first, second in ((new, old), (old, new)) if name in first.outputs]
    found: list[tuple[Plan, Comparison]] = []
    for number, (name, first, second) in enumerate(sides, 1):
        end = begun + seconds * number / len(sides)
        found.append((first, _compared(name, first, second, lambda: time.process_time() > end)))  # noqa: B023
    return Against(
        tuple(comparison for plan, comparison in found if plan is new),
        tuple(comparison for plan, comparison in found if plan is old),
    )


def _compared(name: str, first: Plan, second: Plan, is_over: Callable[[], bool]) -> Comparison:
    if name in second.outputs and _tells_no_more(name, first, second, is_over):
        return Comparison(name, "nothing more")
    told = _Finder(name, first, second, is_over).find()
    return Comparison(name, "undecided") if told is None else Comparison(name, "more", *told)


def _tells_no_more(name: str, first: Plan, second: Plan, is_over: Callable[[], bool]) -> bool:
    """Whether it is proved that one program tells nothing of an output that the other does not."""
    judge = Judge(merged(book_of(first), book_of(second)), is_over)
    return judge.implies(name, other(name))


_NOTHING = Run({}, {})


class _Finder:
    """Looks for facts of which one program tells more of an output than another."""

    def __init__(self, name: str, first: Plan, second: Plan, is_over: Callable[[], bool]) -> None:
        self._name, self._is_over = name, is_over
        self._searcher = Searcher(first, book_of(first), is_over)
        self._books = (book_of(first), book_of(second))
        self._first = Runner(narrowed(first, name))
        self._second = Runner(narrowed(second, name)) if name in second.outputs else None
        self._taken = {known for known, item in second.schema.predicates.items() if item.accepts_input}

    def find(self) -> tuple[tuple[Fact, ...], tuple[Record, ...]] | None:
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
                for changed in variants(guess, self._books, self._searcher.fields):
                    if self._is_over():
                        return
                    yield changed

    def _more(self, facts: Sequence[Fact]) -> tuple[Record, ...]:
        """What the first program tells, at times at which the second one does not, as far as both are decided."""
        first = self._first.followed(facts)
        told = first.told.get(self._name, ())
        if not told:
            return ()
        second = _NOTHING if self._second is None else self._second.followed(self._of_both(facts))
        limit = min(first.limit(self._name), second.limit(self._name))
        both = second.told.get(self._name, ())
        told = tuple((*record[:3], min(record[3], limit)) for record in told if record[2] <= limit)
        return tuple(piece for record in told for piece in _without(record, both))

    def _of_both(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        return tuple(fact for fact in facts if fact.predicate in self._taken)

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

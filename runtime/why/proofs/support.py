"""What a formula that holds rests on: facts that are needed and no more of them, and ranges in which nothing was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tidelog.plans.data.facts import Row
from tidelog.plans.data.intervals import Range, united, within
from tidelog.plans.data.timeline import LIMIT, NEG, POS
from tidelog.plans.tree.names import time_names, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Latest,
    Negation,
    Threshold,
    TimePoint,
    Unary,
    Value,
    Window,
)
from tidelog.runtime.why.evidence.counting import Counted, group_of, held_of, opened, pairs_of, reached, rows_of
from tidelog.runtime.why.evidence.grounding import Binding, any_held, grounded
from tidelog.runtime.why.evidence.truth import TruthTeller, atom_of, place_of, row_of

MOST_PAIRS = 20
"""So many facts that an aggregate counts are shown, at the most; of the others it is said how many there are."""

_Option = TypeVar("_Option")
Reach = Callable[[int, int], Range | None]
"""The times at which an operator holds for what held in a range."""


@dataclass(frozen=True, slots=True)
class Premise:
    """A row that holds throughout `lo … hi`; it was looked for in `window`, all that the rule's operators see."""

    predicate: str
    row: Row
    lo: int
    hi: int
    window: Range


@dataclass(frozen=True, slots=True)
class Absence:
    """A formula of which nothing holds within `lo … hi`: mostly an atom, its wildcards standing for any value.

    `times` are the values of the time variables that are left in it.
    """

    formula: Formula
    lo: int
    hi: int
    times: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Total:
    """The value of an aggregate throughout `lo … hi`, worked out over all pairs in its windows.

    `premises` are what the pairs rest on that are shown, `more` is how many there are besides (None: endlessly many).
    """

    formula: Formula
    lo: int
    hi: int
    premises: tuple[Support, ...]
    more: int | None
    window: Range


Support = Premise | Absence | Total


class NotSupported(Exception):
    """A formula does not hold where it should: what it rests on cannot be told."""


class Supporter:
    """Tells what formulas rest on, as the coverage has it that their `teller` looks at."""

    def __init__(self, teller: TruthTeller) -> None:
        self._teller = teller
        self._windows = teller.windows

    def support(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Iterator[Support]:
        """What the formula rests on throughout `lo … hi`, in the order of the text; NotSupported where it does not hold."""
        match formula:
            case Atom():
                yield self._atom(formula, binding, lo, hi)
            case Conjunction():
                for part in formula.parts:
                    yield from self.support(part, binding, lo, hi)
            case Negation():
                yield from self._absence(formula.operand, binding, lo, hi)
            case Unary():
                yield from self._unary(formula, binding, lo, hi)
            case Binary():
                yield from self._since_or_until(formula, binding, lo, hi)
            case Window():
                yield from self._window(formula, binding, lo, hi)
            case Aggregate():
                yield from self._aggregate(formula, binding, lo, hi)
            case Latest():
                yield from self._latest(formula, binding, lo, hi)
            case _:
                return

    def _atom(self, atom: Atom, binding: Binding, lo: int, hi: int) -> Premise:
        if atom.at is not None:
            place = place_of(atom.at, binding)
            if place is None:
                raise NotSupported
            return Premise(atom.predicate, row_of(atom, binding), place, place, (place, place))
        return Premise(atom.predicate, row_of(atom, binding), lo, hi, (lo, hi))

    def _unary(self, formula: Unary, binding: Binding, lo: int, hi: int) -> Iterator[Support]:
        seen = self._windows.seen(formula, lo, hi)
        if formula.operator in ("boxminus", "boxplus"):
            yield from self.support(formula.operand, binding, *seen)
            return

        def reach(low: int, high: int) -> Range:
            return self._windows.seeing(formula, low, high)

        yield from self._witnesses(formula.operand, binding, (lo, hi), seen, reach, late=formula.operator == "diamondminus")

    def _witnesses(
        self, operand: Formula, binding: Binding, goal: Range, seen: Range, reach: Reach, *, late: bool
    ) -> Iterator[Support]:
        """As few ranges of the operand as are enough for a diamond to hold throughout the goal."""
        held = self._teller.truth(operand, binding, *seen)
        at, end = goal
        while at <= end:
            best, until = None, at - 1
            for each in reversed(held) if late else held:
                reached = reach(*each)
                if reached is not None and reached[0] <= at and min(reached[1], end) > until:
                    best, until = each, min(reached[1], end)
            if best is None:
                raise NotSupported
            low, high = narrowed(reach, best, at, until, late=late)
            for premise in self.support(operand, binding, low, high):
                yield premise if isinstance(premise, Absence) else replace(premise, window=seen)
            at = until + 1

    def _since_or_until(self, formula: Binary, binding: Binding, lo: int, hi: int) -> Iterator[Support]:
        meetings = [(met, (right, closed)) for right, closed, met in self._teller.meetings(formula, binding, lo, hi)]
        seen = self._windows.seen(formula, lo, hi)
        is_past = formula.operator == "since"
        for (right, closed), at, until in _in_turn(meetings, lo, hi, lambda end, sides: (end, sides[1] is None)):
            low, high = narrowed(self._reach(formula, closed), right, at, until, late=is_past)
            for premise in self.support(formula.right, binding, low, high):
                yield premise if isinstance(premise, Absence) else replace(premise, window=seen)
            if closed is not None:
                first, last = self._windows.between(*((low, until) if is_past else (at, high)))
                if first <= last:
                    yield from self.support(formula.left, binding, first, last)

    def _reach(self, formula: Binary, closed: Range | None) -> Reach:
        if closed is None:
            return lambda low, high: self._windows.alone(formula, low, high)

        def reach(low: int, high: int) -> Range:
            first, last = self._windows.seeing(formula, low, high)
            return max(first, closed[0]), min(last, closed[1])

        return reach

    # --- windows --------------------------------------------------------------------------------------------------------

    def _window(self, formula: Window, binding: Binding, lo: int, hi: int) -> Iterator[Support]:
        window = formula.window
        if window.tuples:
            yield from self._in_tuples(formula, binding, lo, hi)
        elif formula.mode == "at":
            premise = self._atom(atom_of(formula), binding, lo, hi)
            yield replace(premise, window=self._windows.window_seen(window, lo, hi))
        elif formula.mode == "always":
            first, last = self._windows.window_seen(window, lo, hi)
            yield from self.support(formula.operand, binding, max(first, self._windows.start), last)
        else:

            def reach(low: int, high: int) -> Range | None:
                return self._windows.window_seeing(window, low, high)

            seen = self._windows.window_seen(window, lo, hi)
            yield from self._witnesses(formula.operand, binding, (lo, hi), seen, reach, late=True)

    def _in_tuples(self, formula: Window, binding: Binding, lo: int, hi: int) -> Iterator[Premise]:
        atom = atom_of(formula)
        row = row_of(atom, binding)
        if formula.mode == "always":
            runs = self._windows.runs(formula.window, atom.predicate, row)
            for first, last in united(run for run in runs if lo <= run[1] <= hi):
                yield Premise(atom.predicate, row, first, last, (first, last))
            return
        place = None if atom.at is None else place_of(atom.at, binding)
        every = self._windows.stays(formula.window, atom.predicate, row)
        stays = [(stay, time) for time, stay in every if place in (None, time)]
        for time, _, until in _in_turn(stays, lo, hi, lambda end, time: (end, time)):
            yield Premise(atom.predicate, row, time, time, (time, until))

    # --- aggregates and held values ---------------------------------------------------------------------------------------

    def _aggregate(self, formula: Aggregate, binding: Binding, lo: int, hi: int) -> Iterator[Support]:
        seen = self._windows.window_seen(formula.window, lo, hi)
        group = group_of(formula, binding)
        pairs = pairs_of(self._teller, formula, group, *seen)
        limit = formula.threshold
        if limit is not None:
            shown = list(self._enough(formula, limit, pairs, lo, hi))
            if len(shown) <= MOST_PAIRS:
                for each, low, high in shown:
                    for premise in self.support(formula.operand, each.binding, low, high):
                        yield premise if isinstance(premise, Absence) else replace(premise, window=seen)
                return
        yield self._total(formula, binding, pairs, (lo, hi), seen)

    def _enough(
        self, formula: Aggregate, limit: Threshold, pairs: Sequence[Counted], lo: int, hi: int
    ) -> Iterator[tuple[Counted, int, int]]:
        """Pairs that are enough for a threshold throughout `lo … hi`, each once: at each time the latest ones."""
        taken: set[tuple[int, int, int]] = set()
        at = lo
        while at <= hi:
            first, last = self._windows.window_seen(formula.window, at, at)
            inside = [(low, high, each) for each in pairs for low, high in within(each.ranges, first, last)]
            inside.sort(key=lambda item: (item[1], item[0]), reverse=True)
            if formula.function == "distinct":
                inside = list({item[2].value: item for item in reversed(inside)}.values())[::-1]
            chosen, until = self._until_reached(formula, limit, inside, at, hi)
            for low, high, each in chosen:
                if (id(each), low, high) not in taken:
                    taken.add((id(each), low, high))
                    yield each, low, high
            at = until + 1

    def _until_reached(
        self, formula: Aggregate, limit: Threshold, inside: Sequence[tuple[int, int, Counted]], at: int, hi: int
    ) -> tuple[Sequence[tuple[int, int, Counted]], int]:
        """As few of the first of some pairs as are enough at a time, and until when they are."""

        def until(size: int) -> int | None:
            some = [replace(each, ranges=[(low, high)]) for low, high, each in inside[:size]]
            held = within(reached(self._windows, formula, limit, some, hi), at, hi)
            return held[0][1] if held and held[0][0] == at else None

        low, high = 1, len(inside)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if until(middle) is not None else (middle + 1, high)
        found = until(low) if inside else None
        if found is None:
            raise NotSupported
        if formula.function in ("min", "max"):
            return inside[low - 1 : low], found
        return inside[:low], found

    def _total(self, formula: Aggregate, binding: Binding, pairs: Sequence[Counted], goal: Range, seen: Range) -> Total:
        value = binding.get(formula.result.name) if formula.threshold is None else None
        spells = [(each.value != value, -high, low, each) for each in pairs for low, high in each.ranges]
        spells.sort(key=lambda item: item[:3])
        shown = sorted(spells[:MOST_PAIRS], key=lambda item: (item[2], -item[1]))
        premises: list[Support] = []
        for _, high, low, each in shown:
            premises += self.support(formula.operand, each.binding, low, -high)
        rest = [-high - low + 1 for _, high, low, _ in spells[MOST_PAIRS:]]
        more = None if any(-high >= POS or low <= NEG for _, high, low, _ in spells[MOST_PAIRS:]) else sum(rest)
        return Total(grounded(formula, binding), *goal, tuple(premises), more, seen)

    def _latest(self, formula: Latest, binding: Binding, lo: int, hi: int) -> Iterator[Support]:
        """What is held, at its last time or where it holds itself; and that nothing of its group came since."""
        holds = held_of(self._teller, self._teller.in_the_end(), formula, binding, lo, hi)
        seen = self._windows.window_seen(formula.window, lo, hi)
        held = [(hold.times, hold) for hold in holds]
        for best, at, until in _in_turn(held, lo, hi, lambda end, hold: (hold.silence is None, end)):
            if best.silence is None:
                source = self._windows.window_end(formula.window, at), self._windows.window_end(formula.window, until)
                yield from self._held(formula, binding, *source, seen)
            else:
                yield from self._held(formula, binding, *best.source, seen)
                silent = best.silence[0], self._windows.window_end(formula.window, until)
                yield Absence(any_held(formula, binding), *silent)

    def _held(self, formula: Latest, binding: Binding, lo: int, hi: int, seen: Range) -> Iterator[Premise]:
        """Rows that hold throughout `lo … hi`, of those that `latest` tells alike."""
        own = {name: binding[name] for name in variables(formula.atom)}
        atom = opened(formula)
        rows = [(times, full) for full, ranges in rows_of(self._teller, formula, own, lo, hi) for times in ranges]
        for full, at, until in _in_turn(rows, lo, hi, lambda end, full: end):
            yield Premise(atom.predicate, row_of(atom, full), at, until, seen)

    # --- absence --------------------------------------------------------------------------------------------------------

    def _absence(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Iterator[Absence]:
        """Where nothing was, so that a formula held nowhere in `lo … hi`."""
        if isinstance(formula, Comparison):
            return
        atom = formula.operand if isinstance(formula, Window) and formula.mode == "at" else formula
        if isinstance(atom, Atom) and atom.at is not None:
            yield from self._absence_at(atom, atom.at, binding)
            return
        if isinstance(formula, Unary) and formula.operator in ("diamondminus", "diamondplus"):
            yield from self._absence(formula.operand, binding, *self._windows.seen(formula, lo, hi))
            return
        if isinstance(formula, Binary):
            seen = self._windows.seen(formula, lo, hi)
            if not self._teller.denied(Negation(formula.right), binding, *seen):
                yield from self._absence(formula.right, binding, *seen)
                return
        if isinstance(formula, Conjunction):
            for part in formula.parts:
                if isinstance(part, Atom) and not self._teller.denied(Negation(part), binding, lo, hi):
                    yield from self._absence(part, binding, lo, hi)
                    return
        times = sorted((name, binding[name]) for name in set(time_names(formula)) if name in binding)
        yield Absence(grounded(formula, binding), lo, hi, tuple(times))

    def _absence_at(self, atom: Atom, point: TimePoint, binding: Binding) -> Iterator[Absence]:
        """What was not at a time; nothing where it was, but the time lies in no window: that can be reckoned."""
        place = place_of(point, binding)
        alone = replace(atom, at=None)
        if place is not None and not self._teller.denied(Negation(alone), binding, place, place):
            yield Absence(grounded(alone, binding), place, place)


def _in_turn(
    options: Sequence[tuple[Range, _Option]], lo: int, hi: int, rank: Callable[[int, _Option], Any]
) -> Iterator[tuple[_Option, int, int]]:
    """Options that hold throughout `lo … hi` one after the other, each with the times for which it is taken.

    Of those that hold at a time it is the one of the highest `rank`, given its end and what it is. NotSupported where none
    holds.
    """
    at = lo
    while at <= hi:
        usable = [(last, option) for (first, last), option in options if first <= at <= last]
        if not usable:
            raise NotSupported
        until, option = max(usable, key=lambda item: rank(*item))
        yield option, at, min(until, hi)
        at = until + 1


def narrowed(reach: Reach, within: Range, lo: int, hi: int, *, late: bool) -> Range:
    """The least part of a range that is enough to reach all of `lo … hi`: the last such part, or the first."""
    low, high = within
    if late:
        first = _last(lambda time: _reaches(reach, time, high, lo, hi), low, high)
        last = _first(lambda time: _reaches(reach, first, time, lo, hi), first, high)
    else:
        last = _first(lambda time: _reaches(reach, low, time, lo, hi), low, high)
        first = _last(lambda time: _reaches(reach, time, last, lo, hi), low, last)
    # sums beyond the ends of time say nothing: what goes on for ever is taken whole, what began at no time up to the goal
    if last < -LIMIT:
        last = min(high, hi)
    if first > LIMIT:
        first = max(low, lo)
    return (low if first < -LIMIT else first), (high if last > LIMIT else last)


def _reaches(reach: Reach, low: int, high: int, lo: int, hi: int) -> bool:
    reached = reach(low, high)
    return reached is not None and reached[0] <= lo and hi <= reached[1]


def _last(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The last time at which it is enough; it is at the first one."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if enough(middle) else (low, middle - 1)
    return low


def _first(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The first time at which it is enough; it is at the last one."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low

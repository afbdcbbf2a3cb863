"""Finding out from what a fact follows, and how it came to hold: only what the fact may rest on is looked at.

First backwards: from the fact to all rows and times that it may rest on, as the model has them (the *demand*). Then
forwards, in rounds, over what is demanded alone: round k adds what one application of a rule gives from the rounds before
it. So each piece of coverage has a *height*, the least that a proof can have, and rests on lower ones only: no proof is
circular.
Negations are looked up in the model.

Work is bounded: of the substitutions with which a rule holds at first few are followed, then more, and in the end no more
than `MOST_STEPS`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE
from tidelog.operators.stores.coverage import Bounds, merge
from tidelog.plans.data.facts import Fact, Row, format_atom
from tidelog.plans.data.intervals import Range, Ranges, covers, intersected, subtracted, united
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.tree.syntax import Aggregate, Atom, Binary, Conjunction, Formula, Latest, Unary, Window
from tidelog.runtime.why.evidence.clauses import Clause, Clauses
from tidelog.runtime.why.evidence.grounding import Binding
from tidelog.runtime.why.evidence.matching import Matcher
from tidelog.runtime.why.evidence.model import Kind, Model, Unbounded, among
from tidelog.runtime.why.evidence.truth import TruthTeller, place_of
from tidelog.runtime.why.evidence.windows import Windows

MOST_STEPS = 100_000
"""So often a substitution of a rule is looked at, at the most, until a search gives up."""
_BREADTHS = (6, 60, 10_000)
"""How many substitutions of a rule are followed for a row, at first and then."""

Key = tuple[str, Row]


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """A rule with values for its variables."""

    clause: Clause
    binding: Binding


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a row's coverage that came to hold in one round: by a rule, or by being given."""

    lo: int
    hi: int
    height: int
    by: Instance | Kind


@dataclass(slots=True)
class _Node:
    """A row that is demanded: at which times, the instances that may derive it, and what is known of it so far."""

    demanded: Bounds = field(default_factory=list)
    instances: dict[tuple[int, tuple[tuple[str, object], ...]], Instance] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    users: dict[int, tuple[Key, Instance]] = field(default_factory=dict)


class View:
    """What held before one round, of what is demanded; what is only given holds from the beginning."""

    def __init__(self, search: Search, height: int) -> None:
        self._search = search
        self._height = height

    def ranges(self, predicate: str, row: Row, lo: int, hi: int, *, exact: bool = True) -> Ranges:
        """When a row holds within `lo … hi`; `exact` in a negation, which asks the model."""
        if exact or not self._search.is_derived(predicate):
            return self._search.model.ranges(predicate, row, lo, hi, exact=exact)
        pieces = self._search.pieces((predicate, row), lo, hi)
        return united((max(piece.lo, lo), min(piece.hi, hi)) for piece in pieces if piece.height < self._height)


class Search:
    """How one fact came to hold. `solve` first; then `pieces` tells of all that was demanded."""

    def __init__(self, model: Model, clauses: Clauses, windows: Windows) -> None:
        self.model = model
        self.clauses = clauses
        self.windows = windows
        self.matcher = Matcher(windows, model)
        self._known = TruthTeller(windows, model, self.matcher.locals)
        self.height = 0
        self._nodes: dict[Key, _Node] = {}
        self._breadth = 0
        self._was_cut = False
        self._steps = 0

    def is_derived(self, predicate: str) -> bool:
        """Whether a rule derives the predicate."""
        return bool(self.clauses.of(predicate))

    def pieces(self, key: Key, lo: int, hi: int) -> list[Piece]:
        """The pieces of a row that meet `lo … hi`, in order of time."""
        node = self._nodes.get(key)
        if node is None:
            return []
        pieces = node.pieces
        first = _first_ending_at(pieces, lo)
        found = []
        for piece in islice(pieces, first, None):
            if piece.lo > hi:
                break
            found.append(piece)
        return found

    def instances(self, key: Key) -> Iterable[Instance]:
        """The instances of rules that may derive a row, of those that were followed."""
        return list(self._nodes[key].instances.values()) if key in self._nodes else []

    def teller(self, height: int) -> TruthTeller:
        """Tells what held before a round."""
        return TruthTeller(self.windows, View(self, height), self.matcher.locals)

    def solve(self, predicate: str, row: Row, lo: int, hi: int, *, exhaust: bool = False) -> None:
        """Find out how a fact that holds in the model came to hold; with `exhaust`, go on to the last round.

        MethodError where the work has grown too much.
        """
        try:
            for breadth in _BREADTHS:
                self._nodes, self._breadth, self._was_cut = {}, breadth, False
                self._demand_all((predicate, row), lo, hi)
                if self._rounds((predicate, row), lo, hi, exhaust=exhaust):
                    return
                if not self._was_cut:
                    break
        except Unbounded as error:
            raise MethodError(
                f"`{error.predicate}` repeats for ever, and a rule looks at more of it than can be laid out"
            ) from None
        raise MethodError(f"{format_atom(predicate, row)} holds, but follows in no finite number of steps")

    # --- backwards ------------------------------------------------------------------------------------------------------

    def _demand_all(self, goal: Key, lo: int, hi: int) -> None:
        waiting: list[tuple[Key, Range]] = [(goal, (lo, hi))]
        while waiting:
            key, (low, high) = waiting.pop()
            for need in self._demand(key, low, high):
                for clause in self.clauses.of(key[0]):
                    waiting += self._follow(key, clause, *need)

    def _demand(self, key: Key, lo: int, hi: int) -> Ranges:
        """Note that a row is demanded; returns the times at which rules have to derive it, as one range."""
        node = self._nodes.setdefault(key, _Node())
        new: list[Fact] = []
        for low, high in self.model.ranges(*key, lo, hi, exact=False):
            merge(node.demanded, low, high, 1, key[1], new)
        need: Ranges = []
        for _, low, high in new:
            given = self.model.given(*key, low, high)
            for (first, last), kind in given:
                _insert(node.pieces, Piece(first, last, 0, kind))
            need += subtracted([(low, high)], [each for each, _ in given])
        return [(need[0][0], need[-1][1])] if need else []

    def _follow(self, key: Key, clause: Clause, lo: int, hi: int) -> Iterator[tuple[Key, Range]]:
        """Note a rule's instances that may derive a row at some times; yields what these may rest on."""
        node = self._nodes[key]
        found = 0
        for binding in self.matcher.heads(clause, key[1], lo, hi):
            self.step()
            instance = Instance(clause, binding)
            if not self.held(self._known, instance, lo, hi):
                continue
            if found >= self._breadth:
                self._was_cut = True
                return
            found += 1
            number = (id(clause), tuple(sorted(binding.items())))
            instance = node.instances.setdefault(number, instance)
            times = (NEG, POS) if clause.point is not None else (lo, hi)
            for predicate, row, low, high in self.matcher.used(clause.reason, binding, *times):
                if self.is_derived(predicate):
                    used = predicate, row
                    self._nodes.setdefault(used, _Node()).users[id(instance)] = (key, instance)
                    yield used, (low, high)

    def step(self) -> None:
        """Count a step; MethodError where there have been too many."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise MethodError(f"the search for a proof was stopped after {MOST_STEPS:,} steps")

    # --- forwards -------------------------------------------------------------------------------------------------------

    def _rounds(self, goal: Key, lo: int, hi: int, *, exhaust: bool) -> bool:
        """Go round until the goal holds; whether it does."""
        self.height = 0
        due: dict[int, tuple[Key, Instance, Range]] = {
            id(instance): (key, instance, (NEG, POS))
            for key, node in self._nodes.items()
            for instance in node.instances.values()
        }
        while due and (exhaust or not self._is_known(goal, lo, hi)):
            self.height += 1
            teller = self.teller(self.height)
            news: list[tuple[Key, Range]] = []
            for key, instance, times in due.values():
                news += self._apply(teller, key, instance, times)
            due = self._due(news)
        return self._is_known(goal, lo, hi)

    def _is_known(self, goal: Key, lo: int, hi: int) -> bool:
        return covers(united((piece.lo, piece.hi) for piece in self.pieces(goal, lo, hi)), lo, hi)

    def _apply(self, teller: TruthTeller, key: Key, instance: Instance, times: Range) -> Iterator[tuple[Key, Range]]:
        node = self._nodes[key]
        demanded = among(node.demanded, *times)
        if not demanded:
            return
        self.step()
        held = self.held(teller, instance, demanded[0][0], demanded[-1][1])
        known = [(piece.lo, piece.hi) for piece in self.pieces(key, demanded[0][0], demanded[-1][1])]
        for lo, hi in subtracted(intersected(held, demanded), united(known)):
            _insert(node.pieces, Piece(lo, hi, self.height, instance))
            yield key, (lo, hi)

    def held(self, teller: TruthTeller, instance: Instance, lo: int, hi: int) -> Ranges:
        """When an instance of a rule derives its head, within `lo … hi`."""
        clause, binding = instance.clause, instance.binding
        try:
            if clause.point is None:
                return teller.truth(clause.reason, binding, lo, hi)
            place = place_of(clause.point, binding)
            if place is None or not lo <= place <= hi or not teller.truth(clause.reason, binding, NEG, POS):
                return []
        except UNCOMPUTABLE:
            return []
        return [(place, place)]

    def _due(self, news: Sequence[tuple[Key, Range]]) -> dict[int, tuple[Key, Instance, Range]]:
        due: dict[int, tuple[Key, Instance, Range]] = {}
        for key, (lo, hi) in news:
            for number, (user, instance) in self._nodes[key].users.items():
                clause = instance.clause
                reached = (NEG, POS) if clause.point is not None else affected(self.windows, clause.reason, key[0], lo, hi)
                if reached is not None:
                    before = due[number][2] if number in due else reached
                    due[number] = user, instance, (min(before[0], reached[0]), max(before[1], reached[1]))
        return due


def affected(windows: Windows, formula: Formula, predicate: str, lo: int, hi: int) -> Range | None:
    """All times at which a formula may begin to hold when a predicate does in `lo … hi`; None if it has no such atom."""
    match formula:
        case Atom():
            if formula.predicate != predicate:
                return None
            return (lo, hi) if formula.at is None else (NEG, POS)
        case Unary():
            inner = affected(windows, formula.operand, predicate, lo, hi)
            return None if inner is None else windows.seeing(formula, *inner)
        case Conjunction():
            return _hull(affected(windows, part, predicate, lo, hi) for part in formula.parts)
        case Binary():
            right = affected(windows, formula.right, predicate, lo, hi)
            left = affected(windows, formula.left, predicate, lo, hi)
            return _hull([right and windows.seeing(formula, *right), left and _beside(windows, formula, *left)])
        case Window():
            inner = affected(windows, formula.operand, predicate, lo, hi)
            if inner is None or formula.window.tuples or formula.mode == "at":
                return inner and (NEG, POS)
            return windows.window_seeing(formula.window, *inner)
        case Aggregate(operand=operand) | Latest(atom=operand):
            inner = affected(windows, operand, predicate, lo, hi)
            return inner and windows.window_seeing(formula.window, *inner)
    return None


def _beside(windows: Windows, formula: Binary, lo: int, hi: int) -> Range:
    """The times at which since or until may hold by the left side in `lo … hi`."""
    low, high = windows.closure(lo, hi)
    first, last = windows.seeing(formula, low, high)
    return min(first, low), max(last, high)


def _hull(ranges: Iterable[Range | None]) -> Range | None:
    found = [each for each in ranges if each is not None]
    return (min(lo for lo, _ in found), max(hi for _, hi in found)) if found else None


def _first_ending_at(pieces: Sequence[Piece], lo: int) -> int:
    """The index of the first piece that ends at a time or behind it."""
    return bisect_left(pieces, lo, key=attrgetter("hi"))


def _insert(pieces: list[Piece], piece: Piece) -> None:
    pieces.insert(_first_ending_at(pieces, piece.lo), piece)

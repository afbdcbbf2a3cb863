"""What holds at all times, however far away, in programs whose recursion never ends: naive evaluation, then a proof.

A stratum is evaluated naively within a horizon, outside of which nothing holds but what is known to: what is found is
sound (`_derived`). Where it repeats towards both ends, it is taken to go on so (`_repeating`), once one more period has
been derived from nothing but what lies before it (`_goes_on`): then all periods follow, one after another. Else the
horizon doubles. It is the least model as soon as no rule derives anything else from it (`_is_closed`), so that in the end
nothing is guessed. What `boxplus[0,inf)` sees only when all of a tail is there is found in the next turn, as the tail is
known from then on.

On dense time the repeating parts are as long as an even number of cells, so that points stay points.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from oracle.evaluate import (
    GroundFact,
    check,
    finite_numbers,
    is_dense,
    program_facts,
    rules_of,
    strata,
    without_anonymous,
)
from oracle.grid import common_step
from oracle.grounding import Row, constants, head_atom, is_bottom
from oracle.tracks import PAST, Frame, Reading, Track, ones, operators
from oracle.truth import OTHER
from oracle.values import Undefined, canonical, evaluate_expression
from tidelog.plans.tree.syntax import Atom, Conjunction, Interval, Program, Rule, Time, Unary, Value

Ground = tuple[str, Row]
Tracks = dict[Ground, Track]

DOUBLINGS = 8
"""How often the horizon is doubled before the oracle gives up."""


class UnsettledError(Exception):
    """No repeating model has been found within the widest horizon."""


@dataclass
class PeriodicModel:
    """The least model over all times, and for each violated constraint (its number among the rules) when it is."""

    dense: bool
    step: Fraction
    tracks: Tracks
    violations: dict[int, Track] = field(default_factory=dict)

    def rows(self, predicate: str) -> set[Row]:
        """The rows that hold at some time."""
        return {row for (name, row), track in self.tracks.items() if name == predicate and track.bits}

    def cell(self, time: Time) -> int:
        """The cell of a time that is a multiple of the step."""
        place = Fraction(time) / self.step * (2 if self.dense else 1)
        if place.denominator != 1:
            raise ValueError(f"{time} is no multiple of {self.step}")
        return int(place)

    def covers(self, fact: GroundFact) -> bool:
        """Whether a fact holds at all times of its interval, which may have no end; without times it does."""
        predicate, row, interval = fact
        track = self.tracks.get((predicate, tuple(map(canonical, row))))
        lo, end = self.cells(interval, track)
        if track is None:
            return lo >= end
        return track.cut(lo, end) == ones(max(end - lo, 0))

    def cells(self, interval: Interval, track: Track | None = None) -> tuple[int, int]:
        """The cells of an interval, the second behind the last one; an infinite end is cut where the track repeats."""
        if track is None:
            track = Track(0, 2, 0, 2, 2)
        low, high = interval.low, interval.high
        end = _next(self.cell(high), interval.right_open, self.dense) if math.isfinite(high) else None
        lo = self.cell(low) + int(interval.left_open) if math.isfinite(low) else None
        if lo is None:
            lo = min(track.lo, track.end if end is None else end) - track.left
        if end is None:
            end = max(track.end, lo) + track.right
        return lo, end

    def runs(self, predicate: str, row: Row, low: int, high: int) -> str:
        """When the row holds from low to high, as text: `[3,6) 7`; what goes on beyond is cut."""
        track = self.tracks.get((predicate, tuple(map(canonical, row))))
        return "" if track is None else self.shown(track, low, high)

    def shown(self, track: Track, low: int, high: int) -> str:
        """The runs of a track from low to high, as text."""
        return " ".join(map(_text, self.ranges(track, low, high)))

    def ranges(self, track: Track, low: int, high: int) -> list[Interval]:
        """The runs of a track from low to high, cut there."""
        first, runs = self.cell(low), list[list[int]]()
        bits = track.cut(first, self.cell(high) + 1)
        for cell in (first + i for i in range(bits.bit_length()) if bits >> i & 1):
            if runs and runs[-1][1] == cell - 1:
                runs[-1][1] = cell
            else:
                runs.append([cell, cell])
        return [self._interval(a, b) for a, b in runs]

    def _interval(self, first: int, last: int) -> Interval:
        begins, ends = self.dense and first % 2 == 1, self.dense and last % 2 == 1
        return Interval(self._time(first - begins), self._time(last + ends), begins, ends)

    def _time(self, cell: int) -> Fraction:
        return cell * self.step / (2 if self.dense else 1)


def _text(when: Interval) -> str:
    if when.low == when.high:
        return str(when.low)
    return f"{'[('[when.left_open]}{when.low},{when.high}{'])'[when.right_open]}"


def _next(cell: int, is_open: bool, dense: bool) -> int:
    """The cell behind the last one of an interval that ends at a cell."""
    return cell if is_open else cell + 1


def periodic_model(program: Program, facts: Iterable[GroundFact], also: Iterable[Fraction] = ()) -> PeriodicModel:
    """The least model of a program and facts; the times `also` will be asked for.

    ValueError for what the oracle does not cover, UnsettledError where no repeating model is found.
    """
    given = list(facts)
    solver = _Solver(program, given, also)
    for level in strata(solver.rules):
        solver.solve([rule for rule in level if head_atom(rule.head) is not None])
    found = PeriodicModel(solver.dense, solver.step, solver.tracks)
    for number, rule in enumerate(solver.rules):
        if is_bottom(rule.head):
            violated = solver.violated(rule)
            if violated is not None:
                found.violations[number] = violated
    return found


@dataclass(frozen=True)
class _Window:
    """The cells lo … end−1."""

    lo: int
    end: int


class _Solver:
    """Strata are solved one after another; `tracks` is what is known to hold."""

    def __init__(self, program: Program, facts: Sequence[GroundFact], also: Iterable[Fraction]) -> None:
        for number, rule in enumerate(rules_of(program)):
            check(rule, number)
        self.rules = [without_anonymous(rule) for rule in rules_of(program)]
        self.dense = is_dense(program)
        self.step = common_step([Fraction(x) for x in (*finite_numbers(program, facts), *also)])
        if not self.dense:
            self.step = Fraction(1)
        self.unit = 2 if self.dense else 1
        """The smallest period."""
        self.tracks: Tracks = {}
        formulas = [part for rule in self.rules for part in (rule.head, *rule.body)]
        self.domain: set[Value] = {OTHER}.union(*map(constants, formulas))
        begins = [self._add(*fact) for fact in [*facts, *program_facts(program)]][: len(facts)]
        self.start = min(begins, default=-math.inf)
        self.width = max([8 * self.unit, *map(self._far, self.rules)])
        """How wide the first horizon is: at least as far as a rule sees."""

    def _add(self, predicate: str, row: Row, interval: Interval) -> float:
        """Let a fact hold; returns the cell in which it begins."""
        ground = predicate, tuple(map(canonical, row))
        self.domain.update(ground[1])
        known = self.tracks.get(ground, self._empty)
        place = PeriodicModel(self.dense, self.step, {})
        finite = [place.cell(end) for end in (interval.low, interval.high) if math.isfinite(end)]
        first, last = min([0, *finite, known.lo]) - 2 * self.unit, max([0, *finite, known.end]) + 2 * self.unit
        lo, end = place.cells(interval, Track(first, last - first, 0, self.unit, self.unit))
        if lo < end:
            bits = known.cut(first - self.unit, last + self.unit) | ones(end - lo) << (lo - first + self.unit)
            self.tracks[ground] = Track(first - self.unit, last - first + 2 * self.unit, bits, self.unit, self.unit)
        return lo if math.isfinite(interval.low) else -math.inf

    @property
    def _empty(self) -> Track:
        return Track(0, self.unit, 0, self.unit, self.unit)

    def _far(self, rule: Rule) -> int:
        """How many cells the finite ends of a rule's operators add up to."""
        ends = [end for part in (rule.head, *rule.body) for each in operators(part) for end in (each.low, each.high)]
        return int(sum((Fraction(end) for end in ends if math.isfinite(end)), Fraction(0)) / self.step) * self.unit

    def frame(self, tracks: Mapping[Ground, Track], window: _Window, rules: Sequence[Rule]) -> Frame:
        """A frame around a window, in which all that these rules say comes to repeat before its ends."""
        left = math.lcm(self.unit, *(track.left for track in tracks.values()))
        right = math.lcm(self.unit, *(track.right for track in tracks.values()))
        lo = min([window.lo, *(track.lo for track in tracks.values())])
        end = max([window.end, *(track.end for track in tracks.values())])
        if math.isfinite(self.start):
            lo, end = min(lo, int(self.start)), max(end, int(self.start) + 1)
        before, behind = self.settling(rules, left), self.settling(rules, right)
        return Frame(self.dense, self.step, lo - before, end - lo + before + behind, left, right)

    def settling(self, rules: Sequence[Rule], period: int) -> int:
        """How many cells behind its atoms' last changes a formula of these rules repeats, and some more."""
        count = max((len([x for part in (rule.head, *rule.body) for x in operators(part)]) for rule in rules), default=0)
        return max(map(self._far, rules), default=0) + (period + 2) * (count + 2)

    def reading(self, frame: Frame, tracks: Mapping[Ground, Track]) -> Reading:
        """What the tracks say in a frame."""
        rows: dict[str, set[Row]] = defaultdict(set)
        atoms = {}
        for (predicate, row), track in tracks.items():
            if track.bits:
                rows[predicate].add(row)
                atoms[predicate, row] = track.cut(frame.lo, frame.lo + frame.size)
        before = min(max(self.start - frame.lo, 0), frame.size)
        start = frame.full & ~ones(int(before))
        return Reading(frame, atoms, rows, sorted(self.domain, key=repr), start)

    # --- a stratum ------------------------------------------------------------------------------------------------------

    def solve(self, rules: Sequence[Rule]) -> None:
        """Add the least model of a stratum."""
        for doubling in range(DOUBLINGS):
            width = self.width << doubling
            lo = min((track.lo for track in self.tracks.values()), default=0)
            end = max((track.end for track in self.tracks.values()), default=0)
            window = _Window(lo - width, end + width)
            found = self._derived(rules, self.tracks, window)
            if not self._is_closed(rules, found):
                found = self._repeating(rules, found, _Window(lo, end), width)
            if found is not None:
                self.tracks = found
                if self._is_closed(rules, found):
                    return
        raise UnsettledError

    def _derived(self, rules: Sequence[Rule], tracks: Tracks, window: _Window) -> Tracks:
        """The naive evaluation: what follows within a window, if nothing else holds outside of it."""
        frame = self.frame(tracks, window, rules)
        inside = ones(window.end - window.lo) << (window.lo - frame.lo)
        reading = self.reading(frame, tracks)
        atoms, rows = dict(reading.atoms), {name: set(rows) for name, rows in reading.rows.items()}
        news = True
        while news:
            reading = Reading(frame, atoms, rows, sorted(self.domain, key=repr), reading.start)
            instances = [(rule, each) for rule in rules for each in reading.bindings(rule.body, {})]
            news = grown = False
            while not grown:
                derived = False
                for (predicate, row), bits in self._consequences(reading, instances):
                    known = atoms.get((predicate, row), 0)
                    if bits & inside & ~known:
                        atoms[predicate, row] = known | bits & inside
                        derived = True
                        if row not in rows.setdefault(predicate, set()):
                            rows[predicate].add(row)
                            self.domain.update(row)
                            grown = True
                news = news or derived
                if not derived:
                    break
        found = dict(tracks)
        for ground, bits in atoms.items():
            new = (bits & inside) >> (window.lo - frame.lo)
            if new:
                found[ground] = tracks.get(ground, self._empty).with_bits(window.lo, window.end, new)
        return found

    def _consequences(
        self, reading: Reading, instances: Sequence[tuple[Rule, Mapping[str, Value]]]
    ) -> Iterator[tuple[Ground, int]]:
        """What instances of rules derive: their heads' atoms, and when."""
        for rule, binding in instances:
            atom = head_atom(rule.head)
            assert isinstance(atom, Atom)
            try:
                bits = reading.truth(Conjunction(rule.body), binding)
                row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
            except Undefined:
                continue
            head = rule.head
            while isinstance(head, Unary):
                bits = reading.frame.somewhere(bits, head.interval, head.operator not in PAST)
                head = head.operand
            if bits:
                yield (atom.predicate, row), bits

    def _is_closed(self, rules: Sequence[Rule], tracks: Tracks) -> bool:
        """Whether the rules derive nothing from the tracks, at all times, that is not there."""
        reading = self.reading(self.frame(tracks, _Window(0, 0), rules), tracks)
        instances = [(rule, each) for rule in rules for each in reading.bindings(rule.body, {})]
        return all(not bits & ~reading.atoms.get(ground, 0) for ground, bits in self._consequences(reading, instances))

    def violated(self, rule: Rule) -> Track | None:
        """When a constraint's body holds; None if never."""
        frame = self.frame(self.tracks, _Window(0, 0), [rule])
        reading, violated = self.reading(frame, self.tracks), 0
        for binding in reading.bindings(rule.body, {}):
            try:
                violated |= reading.truth(Conjunction(rule.body), binding)
            except Undefined:
                continue
        return Track(frame.lo, frame.size, violated, frame.left, frame.right) if violated else None

    # --- tails ----------------------------------------------------------------------------------------------------------

    def _repeating(self, rules: Sequence[Rule], found: Tracks, core: _Window, width: int) -> Tracks | None:
        """What was found, going on at both ends as it repeats there; None if it does not, or may not go on."""
        lo, end = core.lo - width // 2, core.end + width // 2
        seen = width // 4
        tails = {}
        for ground, track in found.items():
            right = self._period(track.cut(end - seen, end), seen)
            left = self._period(track.cut(lo, lo + seen), seen)
            if right is None or left is None:
                return None
            tails[ground] = track.repeating(lo, end, left, right)
        left = math.lcm(*(track.left for track in tails.values()))
        right = math.lcm(*(track.right for track in tails.values()))
        if seen < max(self.settling(rules, left), self.settling(rules, right)):
            return None
        known = {ground: self._known(found, ground, lo, end) for ground in found}
        ahead, behind = _Window(end, end + width), _Window(lo - width, lo)
        if self._goes_on(rules, known, tails, ahead, _Window(end, end + right)):
            known = {
                ground: track.repeating(track.lo, end, track.left, tails[ground].right) for ground, track in known.items()
            }
            if self._goes_on(rules, known, tails, behind, _Window(lo - left, lo)):
                return tails
        return None

    def _period(self, bits: int, size: int) -> int | None:
        """The smallest period that so many bits have been through three times."""
        for period in range(self.unit, size // 3 + 1, self.unit):
            if not (bits ^ bits >> period) & ones(size - period):
                return period
        return None

    def _known(self, found: Tracks, ground: Ground, lo: int, end: int) -> Track:
        """What was found at the cells lo … end−1, and elsewhere only what was known before."""
        return self.tracks.get(ground, self._empty).with_bits(lo, end, found[ground].cut(lo, end))

    def _goes_on(self, rules: Sequence[Rule], known: Tracks, tails: Tracks, window: _Window, block: _Window) -> bool:
        """Whether the next block of all tails follows from what is known before it."""
        derived = self._derived(rules, known, window)
        return all(
            not track.cut(block.lo, block.end) & ~derived[ground].cut(block.lo, block.end) for ground, track in tails.items()
        )

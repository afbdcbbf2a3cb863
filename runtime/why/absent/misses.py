"""Where a formula fails, and how near it came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, evaluate, holds
from tidelog.plans.data.facts import Row, format_constant
from tidelog.plans.data.intervals import Range, Ranges, covers, length, subtracted, united, within
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Formula,
    Latest,
    Negation,
    Unary,
    Value,
    Variable,
    Window,
)
from tidelog.plans.tree.traverse import children
from tidelog.runtime.why.evidence.clauses import variables_of
from tidelog.runtime.why.evidence.counting import opened, pairs_of, rows_of, values_of
from tidelog.runtime.why.evidence.following import Follower
from tidelog.runtime.why.evidence.grounding import Binding, grounded
from tidelog.runtime.why.evidence.matching import Matcher
from tidelog.runtime.why.evidence.model import Model
from tidelog.runtime.why.evidence.truth import TruthTeller, atom_of, place_of, row_of
from tidelog.runtime.why.evidence.views import View, Views
from tidelog.runtime.why.proofs.certificate import Writer
from tidelog.runtime.why.proofs.support import Premise, Supporter

MOST_VALUES = 20
"""So many values of variables, and so many ranges, are compared, at the most, for those that come nearest."""
MOST_ROWS = 1_000
"""So many rows are looked at, at the most, for the one that came nearest."""


@dataclass(frozen=True, slots=True)
class Miss:
    """What fails, as text, and what came nearest to it; `distance` orders misses, the least is the nearest.

    `wanted` is the row that is missing and when, where it is one; `anywhere` tells that one time of these would do.
    `times` and `nearest_times` are the ranges of both texts.
    """

    fails: str
    nearest: str | None
    distance: tuple[float, float]
    wanted: tuple[str, Row, int, int] | None = None
    anywhere: bool = False
    times: Range | None = None
    nearest_times: Range | None = None


class Misses:
    """Looks for the reason for which a formula does not hold.

    `asked` is the time of the fact that does not hold. Of times that would do as well the one nearest to it is told, so that
    what is told next, once that has been added, belongs to the same way to the fact.
    """

    def __init__(self, model: Model, matcher: Matcher, teller: TruthTeller, writer: Writer) -> None:
        self._model = model
        self._matcher = matcher
        self._teller = teller
        self._windows = teller.windows
        self._views = Views(teller.windows)
        self._follower = Follower(matcher, teller)
        self._writer = writer
        self.asked = 0

    def of(
        self,
        formula: Formula,
        binding: Binding,
        lo: int,
        hi: int,
        *,
        anywhere: bool = False,
        beside: Sequence[Formula] = (),
    ) -> Miss:
        """Why a formula does not hold throughout `lo … hi`, or, where one time would do, `anywhere` in it.

        Of the values that its own variables take in the facts, those with which it comes nearest; but none that break a
        comparison in the formula or `beside` it.
        """
        if isinstance(formula, Atom | Unary | Binary | Window) and not self._is_bound(formula, binding):
            every = islice(self._matcher.formula(formula, binding, lo, hi), MOST_VALUES)
            usable = [full for full in every if not any(_is_broken(part, full) for part in (formula, *beside))]
            if usable:
                tried = [self._with(formula, full, lo, hi, anywhere=anywhere) for full in usable]
                return min(tried, key=lambda miss: miss.distance)
        return self._with(formula, binding, lo, hi, anywhere=anywhere)

    def nearest_of(self, ranges: Ranges) -> Range:
        """Of some ranges, in any of which something may hold, the one nearest to the time that is asked for."""
        return min(ranges, key=lambda each: max(each[0] - self.asked, self.asked - each[1], 0))

    @staticmethod
    def _is_bound(formula: Formula, binding: Binding) -> bool:
        return variables_of(formula, negated=False) <= binding.keys()

    def _with(self, formula: Formula, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        if not anywhere and lo < hi and not isinstance(formula, Comparison) and self._is_bound(formula, binding):
            gaps = subtracted([(lo, hi)], self._held(formula, binding, lo, hi))
            lo, hi = gaps[0] if gaps else (lo, hi)
        match formula:
            case Atom():
                return self._atom(formula, binding, lo, hi, anywhere=anywhere)
            case Comparison():
                return replace(self._comparison(formula, binding), times=(lo, hi))
            case Negation():
                return self._negation(formula, binding, lo, hi)
            case Unary():
                return self._unary(formula, binding, lo, hi, anywhere=anywhere)
            case Binary():
                return self._binary(formula, binding, lo, hi, anywhere=anywhere)
            case Window() | Aggregate() | Latest():
                return self._windowed(formula, binding, lo, hi, anywhere=anywhere)
            case Conjunction():
                return self._conjunction(formula, binding, lo, hi, anywhere=anywhere)
        return self._whole(formula, binding, lo, hi)

    def _conjunction(self, formula: Conjunction, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        """The first part that fails where all before it hold."""
        failure = self._follower.failure(formula.parts, binding, lo, hi, anywhere=anywhere)
        if failure is None:
            return self._whole(formula, binding, lo, hi)
        places = ((full, *self.nearest_of(ranges)) for full, ranges in failure.states[:MOST_VALUES])
        parts = formula.parts
        tried = [self.of(failure.premise, full, low, high, anywhere=anywhere, beside=parts) for full, low, high in places]
        return min(tried, key=lambda miss: miss.distance)

    def _held(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Ranges:
        return self._teller.truth(formula, binding, lo, hi)

    def _whole(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Miss:
        return Miss(self._writer.held(grounded(formula, binding), lo, hi), None, (2.0, 0.0), times=(lo, hi))

    # --- what there is ----------------------------------------------------------------------------------------------------

    def _atom(self, atom: Atom, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        if atom.at is not None:
            place = place_of(atom.at, binding) if atom.at.variable.name in binding else None
            lo, hi = (lo, hi) if place is None else (place, place)
        wanted = grounded(replace(atom, at=None), binding)
        fails = self._writer.held(wanted, lo, hi)
        found = min(self._candidates(atom, binding, lo, hi), key=lambda item: item[0], default=None)
        names = {term.name for term in atom.arguments if isinstance(term, Variable)}
        key = (atom.predicate, row_of(atom, binding), lo, hi) if names <= binding.keys() else None
        if found is None:
            return Miss(fails, None, (1.0, float(POS)), key, anywhere, (lo, hi))
        distance, row, (low, high) = found
        nearest = self._writer.fact(atom.predicate, row, low, high)
        return Miss(fails, nearest, distance, key, anywhere, (lo, hi), (low, high))

    def _candidates(
        self, atom: Atom, binding: Binding, lo: int, hi: int
    ) -> Iterator[tuple[tuple[float, float], Row, Range]]:
        """Rows that are like the atom's, the more values they share and the nearer they lie the better."""
        known = {
            column: binding[term.name] if isinstance(term, Variable) else term.value
            for column, term in enumerate(atom.arguments)
            if (isinstance(term, Variable) and term.name in binding) or isinstance(term, Constant)
        }
        columns = tuple(known)
        rows: Sequence[Row] = self._model.matching(atom.predicate, columns, tuple(known.values()))
        for row in (rows or list(self._model.rows(atom.predicate)))[:MOST_ROWS]:
            nearest = self._model.nearest(atom.predicate, row, lo, hi)
            if nearest is not None:
                unlike = sum(row[column] != value for column, value in known.items() if column < len(row))
                away = max(nearest[0] - hi, lo - nearest[1], 0)
                yield (float(unlike), float(away)), row, nearest

    def _comparison(self, formula: Comparison, binding: Binding) -> Miss:
        text = self._writer.formula(grounded(formula, binding))
        try:
            left, right = evaluate(formula.left, binding), evaluate(formula.right, binding)
        except (*UNCOMPUTABLE, KeyError):
            return Miss(text, None, (2.0, 0.0))
        if isinstance(left, str) or isinstance(right, str):
            return Miss(text, f"{format_constant(left)} against {format_constant(right)}", (1.0, 0.0))
        by = _difference(left, right)
        return Miss(text, f"{format_constant(left)} misses {format_constant(right)} by {by!r}", (0.0, float(abs(by))))

    # --- what there is not ------------------------------------------------------------------------------------------------

    def _negation(self, formula: Negation, binding: Binding, lo: int, hi: int) -> Miss:
        """What is negated holds: what of it, and when."""
        text = f"not {self._writer.held(grounded(formula.operand, binding), lo, hi)}"
        inner = formula.operand
        for full in self._matcher.locals(inner, binding, lo, hi):
            held = self._held(inner, full, lo, hi)
            if held:
                low, high = held[0]
                nearest, times = self._against(inner, full, low, high)
                return Miss(text, nearest, (0.0, 0.0), times=(lo, hi), nearest_times=times)
        return Miss(text, None, (2.0, 0.0), times=(lo, hi))

    def _against(self, inner: Formula, binding: Binding, lo: int, hi: int) -> tuple[str, Range]:
        """What speaks against a negation: the first fact that its operand rests on, or the operand itself."""
        for premise in Supporter(self._teller).support(inner, binding, lo, hi):
            if isinstance(premise, Premise):
                found = self._model.nearest(premise.predicate, premise.row, premise.lo, premise.hi)
                times = (premise.lo, premise.hi) if found is None else found
                return self._writer.fact(premise.predicate, premise.row, *times), times
        return self._writer.held(grounded(inner, binding), lo, hi), (lo, hi)

    # --- operators --------------------------------------------------------------------------------------------------------

    def _unary(self, formula: Unary, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        view = self._views.of(formula)
        is_diamond = formula.operator in ("diamondminus", "diamondplus")
        return (self._sometime if is_diamond else self._always)(formula.operand, view, binding, lo, hi, anywhere=anywhere)

    def _sometime(self, operand: Formula, view: View, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        """What lacks for an operand to be seen once from each time of a range, or from one of them."""
        if anywhere or self._views.is_point(lo, hi):
            return self.of(operand, binding, *view.seen(lo, hi), anywhere=True)
        low, high = self._views.in_common(view, lo, hi)
        if low <= high:
            return self.of(operand, binding, low, high, anywhere=True)
        return self.of(operand, binding, *view.enough(lo, hi))

    def _always(self, operand: Formula, view: View, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        """What lacks for an operand to hold at all times that are seen from a range, or from the best time of it."""
        if anywhere:
            held = self._held_with_some(operand, binding, *view.seen(lo, hi))
            edges = (time for each in held[:MOST_VALUES] for end in each for time in view.seeing(end, end))
            times = self._views.points(lo, hi, edges)
            lo = hi = self._best(times, lambda time: length(subtracted([view.seen(time, time)], held)))
        return self.of(operand, binding, *view.seen(lo, hi))

    def _best(self, times: Sequence[int], lack: Callable[[int], int]) -> int:
        """The time at which least is lacking, of several the one nearest to the time that is asked for."""
        return min(times, key=lambda time: (lack(time), abs(time - self.asked)))

    def _lack(self, formula: Binary, view: View, binding: Binding, time: int, rights: Ranges) -> int:
        """For how long the left side does not hold between a time and what of the right side it sees."""
        sources = within(rights, *view.seen(time, time))
        if not sources:
            return POS
        ends = (sources[-1][1], time) if formula.operator == "since" else (time, sources[0][0])
        first, last = self._windows.between(*ends)
        return length(subtracted([(first, last)], self._held_with_some(formula.left, binding, first, last)))

    def _held_with_some(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Ranges:
        """When a formula holds for some values of what the binding leaves open."""
        every = islice(self._matcher.formula(formula, binding, lo, hi), MOST_VALUES)
        return united(each for full in every for each in self._held(formula, full, lo, hi))

    def _binary(self, formula: Binary, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        """What lacks on the right side, or, where that holds, on the left up to it."""
        view = self._views.of(formula)
        seen = view.seen(lo, hi)
        rights = self._held_with_some(formula.right, binding, *seen)
        if anywhere and rights:
            sources = (times for right in rights[:MOST_VALUES] for times in (right[:1] * 2, right[1:] * 2))
            edges = (time for source in sources for time in view.seeing(*source))
            time = self._best(
                self._views.points(lo, hi, edges), lambda time: self._lack(formula, view, binding, time, rights)
            )
            return self._up_to(formula, view, binding, time, time)
        if anywhere or (not rights and self._views.is_point(lo, hi)):
            return self.of(formula.right, binding, *seen, anywhere=True)
        return self._up_to(formula, view, binding, lo, hi)

    def _up_to(self, formula: Binary, view: View, binding: Binding, lo: int, hi: int) -> Miss:
        """What lacks for since or until throughout a range, by one time of the right side if one is enough."""
        is_past = formula.operator == "since"
        is_point = self._views.is_point(lo, hi)
        low, high = view.seen(lo, hi) if is_point else self._views.in_common(view, lo, hi)
        if low <= high:
            rights = self._held_with_some(formula.right, binding, low, high)
            if not rights:
                return self.of(formula.right, binding, low, high, anywhere=True)
            low = high = rights[-1][1] if is_past else rights[0][0]
        else:
            low, high = view.enough(lo, hi)
            if not covers(self._held_with_some(formula.right, binding, low, high), low, high):
                return self.of(formula.right, binding, low, high)
        first, last = self._windows.between(*((low, hi) if is_past else (lo, high)))
        return self.of(formula.left, binding, first, last) if first <= last else self._whole(formula, binding, lo, hi)

    def _windowed(self, formula: Window | Aggregate | Latest, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        match formula:
            case Aggregate():
                return self._aggregate(formula, binding, lo, hi, anywhere=anywhere)
            case Latest():
                return self._latest(formula, binding, lo, hi)
            case Window():
                return self._window(formula, binding, lo, hi, anywhere=anywhere)

    def _window(self, formula: Window, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        if formula.window.tuples:
            miss = self._atom(atom_of(formula), binding, lo, hi, anywhere=True)
            return replace(miss, fails=self._whole(formula, binding, lo, hi).fails)
        view = self._views.of(formula)
        if formula.mode == "always":
            ends = self._windows.ending_in(formula.window, self._windows.start, POS)
            if ends is None or hi < ends[0]:  # no window ends before the stream starts, whatever holds
                return self._whole(formula, binding, lo, hi)
            return self._always(formula.operand, view, binding, max(lo, ends[0]), hi, anywhere=anywhere)
        if formula.mode == "sometime":
            return self._sometime(formula.operand, view, binding, lo, hi, anywhere=anywhere)
        return self._at(formula, atom_of(formula), binding, lo, hi)

    def _at(self, formula: Window, atom: Atom, binding: Binding, lo: int, hi: int) -> Miss:
        """The atom at its time, or where it may be; where it holds at its time, it is the window that lies elsewhere."""
        place = place_of(atom.at, binding) if atom.at is not None and atom.at.variable.name in binding else None
        miss = self.of(atom, binding, *self._windows.window_seen(formula.window, lo, hi))
        if place is not None and miss.wanted is not None and self._model.ranges(*miss.wanted, exact=False):
            return self._whole(formula, binding, lo, hi)
        return miss

    # --- aggregates and held values ---------------------------------------------------------------------------------------

    def _aggregate(self, formula: Aggregate, binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Miss:
        """A value that is another, or too small; or a window in which there is nothing."""
        names = [variable.name for variable in formula.by]
        group = {name: binding[name] for name in names if name in binding}
        seen = self._windows.window_seen(formula.window, lo, hi)
        if len(group) < len(names):
            return self.of(formula.operand, group, *seen, anywhere=True)
        pairs = pairs_of(self._teller, formula, group, *seen)
        told = [(value, times) for value, times in values_of(self._windows, formula, pairs, hi) if times[1] >= lo]
        if not told:
            return self.of(formula.operand, group, *seen, anywhere=True)
        limit = formula.threshold
        wanted = limit.limit if limit is not None else binding.get(formula.result.name, told[0][0])
        off = [(_distance(value, wanted), number) for number, (value, _) in enumerate(told)]
        value, times = told[(min if anywhere or limit is None else max)(off)[1]]
        text = f"{self._writer.valued(grounded(formula, binding))}@{self._writer.times(lo, hi)}"
        by = "" if isinstance(value, str) or isinstance(wanted, str) else f", off by {_difference(value, wanted)!r}"
        nearest = f"{format_constant(value)}@{self._writer.times(max(times[0], lo), min(times[1], hi))}{by}"
        return Miss(text, nearest, (0.0, _distance(value, wanted)), times=(lo, hi), nearest_times=times)

    def _latest(self, formula: Latest, binding: Binding, lo: int, hi: int) -> Miss:
        """What is held instead of what was wanted; or a window in which there is nothing."""
        group = {variable.name: binding[variable.name] for variable in formula.by if variable.name in binding}
        seen = self._windows.window_seen(formula.window, lo, hi)
        beats = [(times, full) for full, all_ in rows_of(self._teller, formula, group, *seen) for times in all_]
        if not beats:
            return self.of(opened(formula), group, *seen, anywhere=True)
        (low, high), full = max(beats, key=lambda item: item[0][1])
        atom = opened(formula)
        nearest = self._writer.fact(atom.predicate, row_of(atom, full), low, high)
        miss = self._whole(formula, binding, lo, hi)
        return replace(miss, nearest=nearest, distance=(1.0, 0.0), nearest_times=(low, high))


def _is_broken(formula: Formula, binding: Binding) -> bool:
    """Whether a comparison in a formula, whose variables have values, does not hold."""
    if isinstance(formula, Comparison):
        return set(variables(formula)) <= binding.keys() and not holds(formula, binding)
    if isinstance(formula, Negation | Aggregate | Latest):
        return False
    return any(_is_broken(part, binding) for part in children(formula))


def _distance(value: Value, wanted: Value) -> float:
    return (
        0.0
        if value == wanted
        else 1e300
        if isinstance(value, str) or isinstance(wanted, str)
        else abs(float(value - wanted))
    )


def _difference(left: float, right: float) -> float:
    """How far two numbers lie apart, as people would write it."""
    by = abs(left - right)
    return by if isinstance(by, int) else float(f"{by:.12g}")


def first_time(ranges: Sequence[Range], *, is_integer: bool) -> Range:
    """The first time of a set, as a range of one; on rational timelines a point rather than a gap, if there is one."""
    lo, hi = ranges[0]
    if lo <= NEG:
        lo = min(hi, 0)
    if hi >= POS:
        hi = max(lo, 0)
    if not is_integer and lo & 1 and lo < hi:
        lo += 1
    return lo, lo

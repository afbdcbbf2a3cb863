"""Which substitutions may make a formula hold within some times: rows are looked up, never guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, evaluate
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Latest,
    Negation,
    TimePoint,
    Unary,
    Value,
    Variable,
    Window,
)
from tidelog.runtime.why.evidence.clauses import Clause, variables_of
from tidelog.runtime.why.evidence.counting import opened, pairs_of, values_of
from tidelog.runtime.why.evidence.grounding import OTHER, Binding
from tidelog.runtime.why.evidence.model import Model
from tidelog.runtime.why.evidence.truth import TruthTeller, place_of, row_of
from tidelog.runtime.why.evidence.windows import Windows

MOST_TIMES = 10_000
"""So many times are tried for one `@T`, at the most."""
MOST_ROWS = 3_000_000
"""So many rows are tried by one matcher, at the most."""


class TooManyRows(MethodError):
    """A rule's premises leave too many rows to be tried."""


@dataclass(frozen=True, slots=True)
class Needed:
    """An atom that has to hold at one of the times `lo … hi` for the formula around it to hold; `free` are those on the
    left side of since and until, which may stand for anything where nothing lies between. Of an aggregate and of `latest`,
    `lo … hi` are the times at which they have to hold. Of several rows the `latest` counts most, or else the first."""

    part: Atom | Aggregate | Latest
    lo: int
    hi: int
    free: bool = False
    latest: bool = True


class Matcher:
    """Finds the substitutions of a formula, one after the other."""

    def __init__(self, windows: Windows, model: Model) -> None:
        self.windows = windows
        self._model = model
        self._teller = TruthTeller(windows, model, self.locals, is_final=True)
        self.tried = 0

    def heads(self, clause: Clause, row: Row, lo: int, hi: int) -> Iterator[Binding]:
        """The substitutions with which a rule may derive a row at one of the times `lo … hi`.

        Where the head has a time, it has each of these; where they are too many, whatever the body says.
        """
        start = unified(clause.head.arguments, row, {})
        if start is None:
            return
        starts: Iterable[Binding] = [start]
        if clause.point is not None and hi - lo < MOST_TIMES:
            name, shift = clause.point.variable.name, clause.point.shift
            values = (time - shift for time in range(lo, hi + 1))
            starts = ({**start, name: value} for value in values if start.get(name, value) == value)
        times = (lo, hi) if clause.point is None else (NEG, POS)
        for given in starts:
            for binding in self.formula(clause.reason, given, *times):
                if _agrees(clause.head.arguments, row, binding):
                    yield binding

    def formula(self, formula: Formula, given: Binding, lo: int, hi: int) -> Iterator[Binding]:
        """The substitutions that extend `given` to the variables of a formula outside its negations."""
        needed = list(self.needed(formula, lo, hi))
        equations = list(_equations(formula))
        wanted = variables_of(formula, negated=False)
        seen: set[tuple[tuple[str, Value], ...]] = set()
        for binding in self._match(needed, equations, dict(given)):
            full = {**binding, **dict.fromkeys(wanted - binding.keys(), OTHER)}
            key = tuple(sorted(full.items()))
            if key not in seen:
                seen.add(key)
                yield full

    def locals(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Iterator[Binding]:
        """The substitutions of a negation's own variables under which its operand may hold."""
        if variables_of(formula) <= binding.keys():
            yield binding
        else:
            yield from self.formula(formula, binding, lo, hi)

    def needed(self, formula: Formula, lo: int, hi: int, *, free: bool = False, latest: bool = True) -> Iterator[Needed]:
        """The atoms of a formula outside its negations, with the times at which they matter for it within `lo … hi`."""
        match formula:
            case Atom():
                low, high = (lo, hi) if formula.at is None else (NEG, POS)
                yield Needed(formula, low, high, free, latest)
            case Conjunction():
                for part in formula.parts:
                    yield from self.needed(part, lo, hi, free=free, latest=latest)
            case Unary():
                is_past = formula.operator not in ("diamondplus", "boxplus")
                yield from self.needed(formula.operand, *self.windows.seen(formula, lo, hi), free=free, latest=is_past)
            case Binary():
                low, high = self.windows.seen(formula, lo, hi)
                yield from self.needed(formula.right, low, high, free=free, latest=formula.operator == "since")
                yield from self.needed(formula.left, min(low, lo), max(high, hi), free=True)
            case Window():
                yield from self._needed_in(formula, lo, hi, free=free)
            case Aggregate() | Latest():
                yield Needed(formula, lo, hi, free)
            case _:
                return

    def used(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Iterator[tuple[str, Row, int, int]]:
        """The rows that a formula may rest on within `lo … hi` with the values of a binding, and their times."""
        for item in self.needed(formula, lo, hi):
            part = item.part
            if isinstance(part, Atom):
                place = None if part.at is None else place_of(part.at, binding)
                if part.at is None:
                    yield part.predicate, row_of(part, binding), item.lo, item.hi
                elif place is not None:
                    yield part.predicate, row_of(part, binding), place, place
                continue
            seen = self.windows.window_seen(part.window, item.lo, item.hi)
            inner = opened(part) if isinstance(part, Latest) else part.operand
            given = {name: binding[name] for name in _known_inside(part)}
            for full in self.formula(inner, given, *seen):
                yield from self.used(inner, full, *seen)

    def _needed_in(self, formula: Window, lo: int, hi: int, *, free: bool) -> Iterator[Needed]:
        if formula.window.tuples:
            yield from self.needed(formula.operand, NEG, hi, free=free)
        elif formula.mode == "at" and isinstance(formula.operand, Atom):
            yield Needed(formula.operand, *self.windows.window_seen(formula.window, lo, hi), free)
        else:
            yield from self.needed(formula.operand, *self.windows.window_seen(formula.window, lo, hi), free=free)

    # --- joining --------------------------------------------------------------------------------------------------------

    def _match(
        self, needed: Sequence[Needed], equations: Sequence[Comparison], binding: dict[str, Value]
    ) -> Iterator[Binding]:
        """Depth first, the atom next of which the most is known; those that may stand for anything come last."""
        solved = _solved(equations, binding)
        if solved is None:
            return
        open_ = [item for item in needed if not variables_of(item.part) <= solved.keys()]
        if not open_:
            yield solved
            return
        item = min(open_, key=lambda item: (item.free, isinstance(item.part, Aggregate), _unbound(item.part, solved)))
        rest = [other for other in open_ if other is not item]
        found = self._rows(item, solved)
        if item.free:  # nothing need lie between: whatever no other atom binds stands for what no fact has
            names = variables_of(item.part) - solved.keys()
            yield from self._match(rest, equations, {**solved, **dict.fromkeys(names, OTHER)})
        for extended in found:
            yield from self._match(rest, equations, extended)

    def _rows(self, item: Needed, binding: dict[str, Value]) -> Iterator[dict[str, Value]]:
        match item.part:
            case Aggregate():
                yield from self._groups(item.part, item.lo, item.hi, binding)
            case Latest():
                seen = self.windows.window_seen(item.part.window, item.lo, item.hi)
                yield from self._rows_of(item.part.atom, *seen, binding)
            case Atom():
                yield from self._rows_of(item.part, item.lo, item.hi, binding, latest=item.latest)

    def _groups(self, aggregate: Aggregate, lo: int, hi: int, binding: dict[str, Value]) -> Iterator[dict[str, Value]]:
        """The groups of an aggregate, each with the values that it has within `lo … hi`."""
        names = [variable.name for variable in aggregate.by]
        seen = self.windows.window_seen(aggregate.window, lo, hi)
        given = {name: binding[name] for name in names if name in binding}
        every = self.formula(aggregate.operand, given, *seen)
        groups = dict.fromkeys(tuple([full[name] for name in names]) for full in every)
        for values in groups:
            group = dict(zip(names, values, strict=True))
            if aggregate.threshold is not None:
                yield {**binding, **group}
                continue
            pairs = pairs_of(self._teller, aggregate, group, *seen)
            self._count(len(pairs))
            told = values_of(self.windows, aggregate, pairs, hi)
            for value in dict.fromkeys(value for value, times in told if times[1] >= lo):
                yield {**binding, **group, aggregate.result.name: value}

    def _count(self, rows: int) -> None:
        self.tried += rows
        if self.tried > MOST_ROWS:
            raise TooManyRows(f"the search was stopped after {MOST_ROWS:,} rows had been tried")

    def _rows_of(
        self, atom: Atom, lo: int, hi: int, binding: dict[str, Value], *, latest: bool = True
    ) -> Iterator[dict[str, Value]]:
        columns, key = _known(atom, binding)
        for row in self._model.holding(atom.predicate, columns, key, lo, hi, latest=latest):
            self._count(1)
            extended = unified(atom.arguments, row, binding)
            if extended is None:
                continue
            if atom.at is None or atom.at.variable.name in extended:
                yield extended
            else:
                for time in self._times(atom, row, atom.at, lo, hi):
                    yield {**extended, atom.at.variable.name: time}

    def _times(self, atom: Atom, row: Row, point: TimePoint, lo: int, hi: int) -> Iterator[int]:
        tried = 0
        for low, high in reversed(self._model.ranges(atom.predicate, row, lo, hi, exact=False)):
            first, last = (max(low, high - MOST_TIMES), high) if high < POS else (low, low + MOST_TIMES)
            if first <= NEG:
                first, last = -MOST_TIMES, MOST_TIMES
            for time in range(last, first - 1, -1):
                tried += 1
                if tried > MOST_TIMES:
                    return
                yield time - point.shift


def _unbound(part: Formula, binding: Binding) -> int:
    return len(variables_of(part) - binding.keys())


def _known_inside(part: Aggregate | Latest) -> set[str]:
    """The variables outside of an aggregate, or of `latest`, of which its formula knows the values."""
    return {variable.name for variable in part.by} if isinstance(part, Aggregate) else variables_of(part)


def _known(atom: Atom, binding: Binding) -> tuple[tuple[int, ...], Row]:
    columns, key = [], []
    for column, term in enumerate(atom.arguments):
        if isinstance(term, Constant):
            columns.append(column)
            key.append(_plain(term.value))
        elif isinstance(term, Variable) and term.name in binding:
            columns.append(column)
            key.append(binding[term.name])
    return tuple(columns), tuple(key)


def _plain(value: Value) -> Value:
    return value if isinstance(value, str) else canonical(value)


def unified(terms: Sequence[Expression], row: Row, binding: Binding) -> dict[str, Value] | None:
    """The binding with which these terms are the row; None if there is none. Arithmetic is not looked at."""
    extended = dict(binding)
    if len(terms) != len(row):
        return None
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, Constant):
            if _plain(term.value) != value:
                return None
        elif isinstance(term, Variable) and extended.setdefault(term.name, value) != value:
            return None
    return extended


def _agrees(terms: Sequence[Expression], row: Row, binding: Binding) -> bool:
    """Whether the arithmetic among a head's terms gives the row's values."""
    try:
        return all(
            evaluate(term, binding) == value for term, value in zip(terms, row, strict=True) if isinstance(term, Arithmetic)
        )
    except UNCOMPUTABLE:
        return False


def _equations(formula: Formula) -> Iterator[Comparison]:
    """The equations that can bind a variable."""
    match formula:
        case Comparison():
            if formula.operator == "=":
                yield formula
        case Conjunction():
            for part in formula.parts:
                yield from _equations(part)
        case Unary() | Window():
            yield from _equations(formula.operand)
        case Binary():
            yield from _equations(formula.right)
        case Negation() | _:
            return


def _solved(equations: Sequence[Comparison], binding: dict[str, Value]) -> dict[str, Value] | None:
    """The binding with what equations compute; None where one of them has no value."""
    solved = dict(binding)
    for _ in equations:
        for equation in equations:
            for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
                if not isinstance(one, Variable) or one.name in solved:
                    continue
                if not solved.keys() >= set(expression_variables(other)):
                    continue
                try:
                    solved[one.name] = _plain(evaluate(other, solved))
                except UNCOMPUTABLE:
                    return None
    return solved

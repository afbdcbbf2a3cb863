"""Which substitutions may make a formula hold within some times: rows are looked up, never guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidelog.operators.sld.values import UNCOMPUTABLE, evaluate
from tidelog.plans.errors import MethodError
from tidelog.plans.facts import Row
from tidelog.plans.numerals import canonical
from tidelog.plans.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Negation,
    TimePoint,
    Unary,
    Value,
    Variable,
    Window,
)
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.why.clauses import Clause, variables_of
from tidelog.runtime.why.ranges import Ranges
from tidelog.runtime.why.truth import Windows

OTHER: Value = "\0other"
"""The constant that occurs nowhere: it stands for all those that no fact has."""
MOST_TIMES = 10_000
"""So many times are tried for one `@T`, at the most."""
MOST_ROWS = 3_000_000
"""So many rows are tried by one matcher, at the most."""

Binding = Mapping[str, Value]


class TooManyRows(MethodError):
    """A rule's premises leave too many rows to be tried."""


class Source(Protocol):
    """Where rows are looked up."""

    def matching(self, predicate: str, columns: tuple[int, ...], key: Row) -> Sequence[Row]:
        """The rows that hold at some time and have these values in these columns."""

    def ranges(self, predicate: str, row: Row, lo: int, hi: int, *, exact: bool = True) -> Ranges:
        """When a row holds, within `lo … hi`."""


@dataclass(frozen=True, slots=True)
class Needed:
    """An atom that has to hold at one of the times `lo … hi` for the formula around it to hold; `free` are those on the
    left side of since and until, which may stand for anything where nothing lies between."""

    atom: Atom
    lo: int
    hi: int
    free: bool = False


class Matcher:
    """Finds the substitutions of a formula, one after the other."""

    def __init__(self, windows: Windows, source: Source) -> None:
        self.windows = windows
        self._source = source
        self.tried = 0

    def clause(self, clause: Clause, row: Row, lo: int, hi: int) -> Iterator[Binding]:
        """The substitutions with which a rule may derive a row at one of the times `lo … hi`."""
        start = unified(clause.head.arguments, row, {})
        if start is None:
            return
        if clause.point is not None:
            lo, hi = NEG, POS
        for binding in self.formula(clause.reason, start, lo, hi):
            if _agrees(clause.head.arguments, row, binding):
                yield binding

    def heads(self, clause: Clause, row: Row, lo: int, hi: int) -> Iterator[Binding]:
        """As `clause`, but where the head has a time, with all values that it takes in `lo … hi`."""
        start = unified(clause.head.arguments, row, {})
        if start is None:
            return
        if clause.point is None:
            yield from self.clause(clause, row, lo, hi)
            return
        name, shift = clause.point.variable.name, clause.point.shift
        if hi - lo >= MOST_TIMES:
            yield from self.clause(clause, row, lo, hi)
            return
        for time in range(lo, hi + 1):
            extended = {**start, name: time - shift}
            if start.get(name, extended[name]) != extended[name]:
                continue
            for binding in self.formula(clause.reason, extended, NEG, POS):
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

    def needed(self, formula: Formula, lo: int, hi: int, *, free: bool = False) -> Iterator[Needed]:
        """The atoms of a formula outside its negations, with the times at which they matter for it within `lo … hi`."""
        match formula:
            case Atom():
                yield Needed(formula, lo, hi, free) if formula.at is None else Needed(formula, NEG, POS, free)
            case Conjunction():
                for part in formula.parts:
                    yield from self.needed(part, lo, hi, free=free)
            case Unary():
                yield from self.needed(formula.operand, *self.windows.seen(formula, lo, hi), free=free)
            case Binary():
                low, high = self.windows.seen(formula, lo, hi)
                yield from self.needed(formula.right, low, high, free=free)
                yield from self.needed(formula.left, min(low, lo), max(high, hi), free=True)
            case Window():
                yield from self._needed_in(formula, lo, hi, free=free)
            case _:
                return

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
        open_ = [item for item in needed if not _is_bound(item.atom, solved)]
        if not open_:
            yield solved
            return
        item = min(open_, key=lambda item: (item.free, _unbound(item.atom, solved)))
        rest = [other for other in open_ if other is not item]
        found = self._rows(item, solved)
        if item.free:  # nothing need lie between: whatever no other atom binds stands for what no fact has
            names = variables_of(item.atom) - solved.keys()
            yield from self._match(rest, equations, {**solved, **dict.fromkeys(names, OTHER)})
        for extended in found:
            yield from self._match(rest, equations, extended)

    def _rows(self, item: Needed, binding: dict[str, Value]) -> Iterator[dict[str, Value]]:
        atom = item.atom
        columns, key = _known(atom, binding)
        for row in self._source.matching(atom.predicate, columns, key):
            self.tried += 1
            if self.tried > MOST_ROWS:
                raise TooManyRows(f"the search was stopped after {MOST_ROWS:,} rows had been tried")
            extended = unified(atom.arguments, row, binding)
            if extended is None:
                continue
            if atom.at is None or atom.at.variable.name in extended:
                if self._source.ranges(atom.predicate, row, item.lo, item.hi, exact=False):
                    yield extended
            else:
                for time in self._times(item, row, atom.at):
                    yield {**extended, atom.at.variable.name: time}

    def _times(self, item: Needed, row: Row, point: TimePoint) -> Iterator[int]:
        tried = 0
        for lo, hi in reversed(self._source.ranges(item.atom.predicate, row, item.lo, item.hi, exact=False)):
            first, last = (max(lo, hi - MOST_TIMES), hi) if hi < POS else (lo, lo + MOST_TIMES)
            if first <= NEG:
                first, last = -MOST_TIMES, MOST_TIMES
            for time in range(last, first - 1, -1):
                tried += 1
                if tried > MOST_TIMES:
                    return
                yield time - point.shift


def _unbound(atom: Atom, binding: Binding) -> int:
    return len(variables_of(atom) - binding.keys())


def _is_bound(atom: Atom, binding: Binding) -> bool:
    return variables_of(atom) <= binding.keys()


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
                if not isinstance(one, Variable) or one.name in solved or not expression_names(other) <= solved.keys():
                    continue
                try:
                    solved[one.name] = _plain(evaluate(other, solved))
                except UNCOMPUTABLE:
                    return None
    return solved


def expression_names(expression: Expression) -> set[str]:
    """The names of the variables of an expression."""
    if isinstance(expression, Variable):
        return {expression.name}
    if isinstance(expression, Arithmetic):
        return set().union(*map(expression_names, expression.operands))
    return set()

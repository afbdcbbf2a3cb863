"""Thresholds of one reading beside each other: where two overlap, leave a gap, or cover all values.

A rule says for which values of a reading its head holds, if its body is the reading and comparisons of one value with
numbers: then the values are an interval, a band. Bands of one reading are compared exactly. That neither of two heads holds
is told only where all their rules are bands of it. What is told is so. Whether it is meant is for people, so only that is
told which hardly is:

- between two bands one value is in neither, or in both. Around 0 it is the sign that is asked for;
- a band with two ends reaches into the next one, without holding all of it or being held by it;
- the bands of one head hold all numbers: the comparison says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.language.printing import format_formula, format_term
from tidelog.plans.proving.rulebook import Clause, Rulebook, with_names
from tidelog.plans.tree.arithmetic import MIRRORED
from tidelog.plans.tree.declared.machines import is_of_machine, machine_of
from tidelog.plans.tree.syntax import (
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    Latest,
    Negation,
    Time,
    Variable,
    Wildcard,
)
from tidelog.plans.tree.traverse import substitute


@dataclass(frozen=True, slots=True)
class Band:
    """The values of a reading for which the head of a rule holds. Of whole numbers, all ends are whole, and belong to it.

    `reading` has its variables named by their places; `head` says what holds, in their terms.
    """

    clause: Clause
    reading: Formula
    place: int
    low: Time
    high: Time
    left_open: bool
    right_open: bool
    is_whole: bool
    head: Atom
    is_guarded: bool = False
    """Whether the rule also asks for the state that it assigns to."""

    def holds(self, value: Fraction) -> bool:
        """Whether a value belongs to it."""
        above = self.low < value or (self.low == value and not self.left_open)
        return above and (value < self.high or (value == self.high and not self.right_open))

    @property
    def is_empty(self) -> bool:
        """Whether no value belongs to it."""
        return self.low > self.high or (self.low == self.high and (self.left_open or self.right_open))

    @property
    def has_two_ends(self) -> bool:
        """Whether it ends above and below."""
        return self.low != -math.inf and self.high != math.inf

    @property
    def name(self) -> str:
        """What holds, for people."""
        head = self.clause.head
        if is_of_machine(head.predicate):
            return f"{machine_of(head.predicate)} := {format_term(head.arguments[-1])}"
        return format_formula(head) if any(isinstance(term, Constant) for term in head.arguments) else head.predicate


def bands_of(book: Rulebook) -> list[Band]:
    """The bands of all rules that have one."""
    found = [_band(book, clause) for clauses in book.clauses.values() for clause in clauses]
    return [band for band in found if band is not None and not band.is_empty]


def _band(book: Rulebook, clause: Clause) -> Band | None:
    readings = [part for part in clause.body if isinstance(part, Atom | Latest) and not _is_state(clause, part)]
    comparisons = [part for part in clause.body if isinstance(part, Comparison)]
    guards = [part for part in clause.body if _is_state(clause, part)]
    if len(readings) != 1 or not comparisons or len(clause.body) != 1 + len(comparisons) + len(guards):
        return None
    reading = readings[0]
    atom = reading.atom if isinstance(reading, Latest) else reading
    compared = {name for part in comparisons for name in _compared(part)}
    if len(compared) != 1 or atom.predicate not in book.given or atom.at is not None or clause.head.at is not None:
        return None
    places = [place for place, term in enumerate(atom.arguments) if isinstance(term, Variable) and term.name in compared]
    if len(places) != 1:
        return None
    return _bounded(book, clause, reading, places[0], comparisons, bool(guards))


def _is_state(clause: Clause, part: Formula) -> bool:
    """Whether a part asks for the state that a rule assigns to."""
    atom = part.operand if isinstance(part, Negation) else part
    return (
        isinstance(atom, Atom)
        and is_of_machine(clause.head.predicate)
        and atom.predicate == machine_of(clause.head.predicate)
    )


def _compared(part: Comparison) -> Iterator[str]:
    """The variable that a comparison compares with a number; `?` for any other comparison."""
    match part:
        case Comparison(
            operator="<" | "<=" | ">" | ">=" | "=", left=Variable(name=name), right=Constant(value=int() | float())
        ):
            yield name
        case Comparison(
            operator="<" | "<=" | ">" | ">=" | "=", left=Constant(value=int() | float()), right=Variable(name=name)
        ):
            yield name
        case _:
            yield "?"


def _bounded(
    book: Rulebook, clause: Clause, reading: Atom | Latest, place: int, comparisons: Sequence[Comparison], is_guarded: bool
) -> Band | None:
    low: tuple[Time, bool] = (-math.inf, True)
    high: tuple[Time, bool] = (math.inf, True)
    for part in comparisons:
        operator, limit = part.operator, part.right
        if isinstance(part.left, Constant):
            operator, limit = MIRRORED[operator], part.left
        if not isinstance(limit, Constant) or isinstance(limit.value, str):
            return None
        value = Fraction(limit.value)
        if operator in (">", ">=", "="):
            low = max(low, (value, operator == ">"))
        if operator in ("<", "<=", "="):
            high = min(high, (value, operator == "<"), key=lambda end: (end[0], not end[1]))
    atom = reading.atom if isinstance(reading, Latest) else reading
    types = book.types.get(atom.predicate, ())
    is_whole = place < len(types) and types[place] == "integer"
    if is_whole:
        low, high = (_up(*low), low[0] == -math.inf), (_down(*high), high[0] == math.inf)
    names: dict[str, Variable] = {}

    def change(term: Expression) -> Expression:
        return substitute(term, lambda name: names.setdefault(name.name, Variable(f"V{len(names)}")))

    named, head = with_names(reading, change), with_names(clause.head, change)
    if not isinstance(head, Atom):
        return None
    return Band(clause, named, place, low[0], high[0], low[1], high[1], is_whole, head, is_guarded)


def _up(value: Time, is_open: bool) -> Time:
    if not isinstance(value, Fraction):
        return value
    return Fraction(math.floor(value) + 1) if is_open else Fraction(math.ceil(value))


def _down(value: Time, is_open: bool) -> Time:
    if not isinstance(value, Fraction):
        return value
    return Fraction(math.ceil(value) - 1) if is_open else Fraction(math.floor(value))


def threshold_findings(book: Rulebook, bands: Iterable[Band]) -> Iterator[Diagnostic]:
    """What is hardly meant about the thresholds of one reading."""
    groups: dict[tuple[object, ...], list[Band]] = {}
    for band in bands:
        if not is_of_machine(band.clause.head.predicate):
            groups.setdefault((band.reading, band.place, *_reach(band.clause)), []).append(band)
    for group in groups.values():
        yield from _always(book, group)
        for one, other in combinations(sorted(group, key=lambda band: (band.low, band.left_open, band.high)), 2):
            if one.head != other.head and _things(one.head) == _things(other.head):
                yield from _beside(book, one, other, group)


def _reach(clause: Clause) -> tuple[object, ...]:
    return clause.low, clause.high, clause.left_open, clause.right_open


def _things(head: Atom) -> set[Expression]:
    """Of what a head holds: its variables."""
    return {term for term in head.arguments if not isinstance(term, Constant | Wildcard)}


def _always(book: Rulebook, group: Sequence[Band]) -> Iterator[Diagnostic]:
    """Heads that hold whatever the value is."""
    for head in dict.fromkeys(band.head for band in group):
        bands = sorted((band for band in group if band.head == head), key=lambda band: (band.low, band.left_open))
        reading = bands[0].reading
        atom = reading.atom if isinstance(reading, Latest) else reading
        types = book.types.get(atom.predicate, ()) if isinstance(atom, Atom) else ()
        place = bands[0].place
        if place >= len(types) or types[place] not in ("number", "integer") or not isinstance(atom, Atom):
            continue
        if atom.predicate in book.facts or not _covers_all(bands):
            continue
        first, *rest = bands
        notes = tuple(Note(band.clause.rule.span, "and this") for band in rest)
        message = f"`{first.name}` holds whatever `{atom.predicate}` says"
        label = "together the comparisons leave no number out"
        yield Diagnostic("always-true", message, first.clause.rule.span, label, notes, severity="warning")


def _covers_all(bands: Sequence[Band]) -> bool:
    """Whether bands, in the order of their lower ends, hold all numbers."""
    if bands[0].low != -math.inf:
        return False
    reached, is_open = bands[0].high, bands[0].right_open
    for band in bands[1:]:
        if reached == math.inf:
            break
        step = 1 if band.is_whole else 0
        if band.low > reached + step or (band.low == reached and is_open and band.left_open):
            return False
        if (band.high, not band.right_open) > (reached, not is_open):
            reached, is_open = band.high, band.right_open
    return reached == math.inf


def _beside(book: Rulebook, one: Band, other: Band, group: Sequence[Band]) -> Iterator[Diagnostic]:
    """Of two bands, the first of which begins lower."""
    if one.high == math.inf or other.low == -math.inf or not isinstance(one.high, Fraction):
        return
    between = one.high + 1 if one.is_whole else one.high
    leaves_one = one.right_open and other.left_open and other.low == one.high
    is_gap = (
        (other.low == one.high + 2 if one.is_whole else leaves_one) and between != 0 and _are_all(book, (one, other), group)
    )
    if is_gap and not any(band.holds(between) for band in group):
        yield _told("threshold-gap", f"at {_number(between)} neither `{one.name}` nor `{other.name}` holds", one, other)
    elif other.low == one.high and one.holds(one.high) and other.holds(one.high) and one.low != one.high != other.high:
        yield _told("threshold-overlap", f"at {_number(one.high)} both `{one.name}` and `{other.name}` hold", one, other)
    elif one.low < other.low < one.high < other.high and (one.has_two_ends or other.has_two_ends):
        span = f"from {_number(other.low)} to {_number(one.high)}"
        yield _told("threshold-overlap", f"{span} both `{one.name}` and `{other.name}` hold", one, other)


def _are_all(book: Rulebook, bands: Sequence[Band], group: Sequence[Band]) -> bool:
    """Whether what two bands hold is derived by rules of their group alone."""
    numbers = {band.clause.number for band in group}
    names = {band.clause.head.predicate for band in bands}
    return not any(name in book.open or name in book.facts for name in names) and all(
        clause.number in numbers for name in names for clause in book.of(name)
    )


def _told(code: str, message: str, one: Band, other: Band) -> Diagnostic:
    notes = (Note(one.clause.rule.span, f"`{one.name}` ends here"),)
    return Diagnostic(code, message, other.clause.rule.span, f"`{other.name}` begins here", notes, severity="warning")


def _number(value: Time) -> str:
    return format_term(Constant(int(value) if value == int(value) else float(value)))


def crossing(bands: Iterable[Band]) -> Iterator[tuple[Band, Band, Fraction]]:
    """Pairs of assignments of different values, both guarded by the state, with a reading at which both are made."""
    machines = [band for band in bands if is_of_machine(band.clause.head.predicate) and band.is_guarded]
    for one, other in combinations(machines, 2):
        if (one.reading, one.place) != (other.reading, other.place) or one.head.predicate != other.head.predicate:
            continue
        if one.head.arguments[:-1] != other.head.arguments[:-1] or one.head == other.head:
            continue
        low = max((one.low, one.left_open), (other.low, other.left_open))
        high = min((one.high, one.right_open), (other.high, other.right_open), key=lambda end: (end[0], not end[1]))
        both = replace(one, low=low[0], left_open=low[1], high=high[0], right_open=high[1])
        value = _value(both)
        if value is not None:
            yield one, other, value


def _value(band: Band) -> Fraction | None:
    """A value of a band; None where there is none."""
    low, high = band.low, band.high
    tried: list[Fraction] = []
    if isinstance(low, Fraction):
        tried += [low, low + 1]
    if isinstance(high, Fraction):
        tried += [high, high - 1]
    if isinstance(low, Fraction) and isinstance(high, Fraction) and not band.is_whole:
        tried.append((low + high) / 2)
    return next((value for value in (*tried, Fraction(0)) if band.holds(value)), None)

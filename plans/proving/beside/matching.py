"""Which predicates of two programs are the same by how they are written: names of variables and of helpers aside.

All predicates of both programs are put into classes. At first those are alike of which the same may hold without a rule.
Then classes are divided until the rules of all predicates of one class are the same, with a class in place of each
predicate that they read. Programs whose rules are the same, but for names, have the same models; so what is in one class at
the end holds at the same times, also where rules are recursive, negate, or count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

from tidelog.plans.proving.rulebook import Clause, Rulebook
from tidelog.plans.tree.names import predicates
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    CalendarDeclaration,
    Comparison,
    ComparisonOperator,
    Constant,
    Latest,
    Negation,
    Period,
    Unary,
    Variable,
    Visits,
    Window,
    WindowSize,
)
from tidelog.plans.tree.walk import statements_of

Sign = Literal["more", "less", "exact"]
"""What follows where a predicate holds more often: that a formula does; that it holds less often; or neither."""
Token = Callable[[str, Sign], Hashable]
"""What stands in place of a predicate."""
_TURNED: dict[Sign, Sign] = {"more": "less", "less": "more", "exact": "exact"}
_FLIPPED: dict[str, ComparisonOperator] = {"<": ">", "<=": ">="}


def classes(book: Rulebook, second: Rulebook) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The classes of the predicates of two programs on one timeline, by their names."""
    books = (book, second)
    known: dict[tuple[int, str], int] = {}
    first = {(side, name): _brought(each, name) for side, each in enumerate(books) for name in _all(each)}
    found = _numbered(first)
    while len(set(found.values())) > len(set(known.values())):
        known = found
        signs = {(side, name): (known[side, name], _rules(books[side], name, _token(side, known))) for side, name in known}
        found = _numbered(signs)
    one, other = ({name: found[side, name] for side, name in found if side == which} for which in (0, 1))
    return one, other


def _token(side: int, known: Mapping[tuple[int, str], int]) -> Token:
    return lambda name, _: known.get((side, name), name)


def _numbered(signs: Mapping[tuple[int, str], Hashable]) -> dict[tuple[int, str], int]:
    numbers: dict[Hashable, int] = {}
    return {key: numbers.setdefault(sign, len(numbers)) for key, sign in signs.items()}


def _all(book: Rulebook) -> set[str]:
    read = {
        name for clauses in book.clauses.values() for clause in clauses for part in clause.body for name in predicates(part)
    }
    excepted = {name for item in statements_of(book.program, CalendarDeclaration) for name in item.excepted}
    return read | excepted | set(book.clauses) | set(book.facts) | book.given


def _calendar(book: Rulebook, name: str) -> CalendarDeclaration | None:
    declared = (item for item in statements_of(book.program, CalendarDeclaration) if item.predicate == name)
    return next(declared, None)


def _brought(book: Rulebook, name: str) -> Hashable:
    """What holds of a predicate without a rule."""
    calendar = _calendar(book, name)
    told = None if calendar is None else (replace(calendar, predicate="", excepted=()), calendar.events)
    given = (name, book.types.get(name)) if name in book.given and calendar is None else None
    return given, told, frozenset(book.facts.get(name, ()))


def _rules(book: Rulebook, name: str, token: Token) -> Hashable:
    calendar = _calendar(book, name)
    excepted = frozenset(token(each, "exact") for each in calendar.excepted) if calendar is not None else None
    return frozenset(form(book, clause, token) for clause in book.of(name)), excepted


def form(book: Rulebook, clause: Clause, token: Token) -> Hashable:
    """A rule without the names of its variables and of its predicate: rules of one form derive the same of the same."""
    blind = _Form(book, token, is_blind=True)
    body = sorted(clause.body, key=lambda part: repr(blind.of(part, "more")))
    named = _Form(book, token)
    parts = tuple(named.of(part, "more") for part in body)
    head = (named.of(clause.head.arguments, "exact"), named.of(clause.head.at, "exact"))
    return parts, head, clause.low, clause.high, clause.left_open, clause.right_open, clause.rule.assigns


@dataclass
class _Form:
    """Writes formulas without names, by numbers for variables in the order in which they come."""

    book: Rulebook
    token: Token
    is_blind: bool = False

    def __post_init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, item: object, sign: Sign) -> Hashable:  # noqa: PLR0911 - a line for each kind
        match item:
            case Variable(name=name):
                return "variable", 0 if self.is_blind else self._numbers.setdefault(name, len(self._numbers))
            case Constant(value=value):
                return "constant", isinstance(value, str), value
            case Atom(predicate=name):
                return "atom", self.token(name, sign), self.of(item.arguments, sign), self.of(item.at, sign)
            case Negation():
                return "not", self.of(item.operand, _TURNED[sign])
            case Comparison(operator="<" | "<="):
                return self.of(Comparison(_FLIPPED[item.operator], item.right, item.left), sign)
            case Period(name=name):
                return "period", name, self.token(name, "exact"), item.zone
            case WindowSize(of=of):
                known = tuple(self.token(name, "exact") for name in of)
                return "size", known, self._start(item), self._fields(replace(item, of=()), "exact")
            case Latest() | Aggregate() | Visits():
                return self._fields(item, "exact")
            case Window() | Unary(clipped=True):
                is_exact = isinstance(item, Window) and (item.window.tuples or item.mode == "at")
                begins = isinstance(item, Unary) or item.mode == "always"
                return self._given() if begins else None, self._fields(item, "exact" if is_exact else sign)
            case tuple():
                return tuple(self.of(each, sign) for each in item)
        if is_dataclass(item):
            return self._fields(item, sign)
        return item if isinstance(item, Hashable) else repr(item)

    def _fields(self, item: Any, sign: Sign) -> Hashable:
        named = ((each.name, self.of(getattr(item, each.name), sign)) for each in fields(item) if each.compare)
        return type(item).__name__, tuple(named)

    def _start(self, size: WindowSize) -> Hashable:
        """What the last facts are, of whatever predicate, depends on which of them a program takes."""
        return self._given() if size.tuples and not size.of else None

    def _given(self) -> Hashable:
        """What a stream may bring: with the first of it a window begins."""
        return tuple((name, self.book.types.get(name)) for name in sorted(self.book.given))

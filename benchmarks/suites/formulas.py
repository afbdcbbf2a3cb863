"""Past-time MTL as Timescales writes it: `historically (once[:10] q -> (!p since q))`, read into a tree.

From the tightest to the loosest: not, and, or, implies, pre, once, historically, since, and then the last three with
bounds, as in the grammar that the suite publishes. So `once[:5] p && q` is `once[:5] (p && q)`. `[a:b]` are distances into
the past, both ends included; `[:b]` begins at 0, and `[a:]` has no end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """Distances into the past, from `low` to `high`, both included; None for no end."""

    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Proposition:
    """A column of the trace."""

    name: str


@dataclass(frozen=True, slots=True)
class Not:
    """Where the operand does not hold."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Both:
    """`and`, `or` and `implies`."""

    kind: str
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Past:
    """`pre`, `once` and `historically`: at the row before, at some row, at all rows of the trace within the bound."""

    kind: str
    operand: Formula
    bound: Bound = Bound()


@dataclass(frozen=True, slots=True)
class Since:
    """At some row within the bound the right side held, and at each row after it the left side."""

    left: Formula
    right: Formula
    bound: Bound = Bound()


Formula = Proposition | Not | Both | Past | Since


class FormulaError(ValueError):
    """A formula cannot be read; says where, and what was expected."""


_WORDS = {
    "not": "!",
    "and": "&&",
    "or": "||",
    "implies": "->",
    **dict.fromkeys(("Y", "pre", "previously"), "pre"),
    **dict.fromkeys(("P", "once", "past_eventually"), "once"),
    **dict.fromkeys(("H", "historically", "past_always"), "historically"),
    **dict.fromkeys(("S", "since"), "since"),
    **dict.fromkeys(("X", "F", "G", "U", "next", "eventually", "always", "globally", "until"), "future"),
}
_KINDS = {"&&": "and", "||": "or", "->": "implies"}
_TIGHTNESS = {"!": 12, "&&": 11, "||": 10, "->": 9, "pre": 8, "once": 7, "historically": 6, "since": 5}
_WITH_BOUND = {"once": 4, "historically": 3, "since": 2}
_TOKEN = re.compile(r"\s*(?:(&&|\|\||->|[!()])|\[\s*(\d*)\s*:\s*(\d*)\s*\]|([A-Za-z_]\w*))")


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of the text; an operator by its first spelling, a bound as `[]`."""

    kind: str
    at: int
    name: str = ""
    bound: Bound = Bound()


def parse_formula(text: str) -> Formula:
    """The tree of a formula; FormulaError for what is none, and for operators that look ahead.

    >>> parse_formula("once[:3] p")
    Past(kind='once', operand=Proposition(name='p'), bound=Bound(low=0, high=3))
    """
    parser = _Parser(text)
    found = parser.formula(0)
    parser.expect("")
    return found


def propositions(formula: Formula) -> list[str]:
    """The columns that a formula reads, in the order in which they are first met."""
    return list(dict.fromkeys(_names(formula)))


def _names(formula: Formula) -> Iterator[str]:
    match formula:
        case Proposition(name):
            yield name
        case Not(operand) | Past(operand=operand):
            yield from _names(operand)
        case Both(left=left, right=right) | Since(left, right):
            yield from _names(left)
            yield from _names(right)


class _Parser:
    """Precedence climbing over the tokens of one formula."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def formula(self, loosest: int) -> Formula:
        """What stands here, up to the first operator that is looser."""
        left = self._operand()
        while True:
            operator = self._token.kind
            bound = self._bound_behind() if operator == "since" else None
            tightness = _WITH_BOUND["since"] if bound else _TIGHTNESS.get(operator, -1)
            if (operator not in _KINDS and operator != "since") or tightness < loosest:
                return left
            self._next += 2 if bound else 1
            right = self.formula(tightness + 1)
            left = Since(left, right, bound or Bound()) if operator == "since" else Both(_KINDS[operator], left, right)

    def _operand(self) -> Formula:
        token, bound = self._token, self._bound_behind()
        if token.kind == "future":
            raise FormulaError(self._told(f"`{token.name}` looks ahead; expected a formula of the past"))
        if token.kind == "name":
            self._next += 1
            return Proposition(token.name)
        if token.kind == "(":
            self._next += 1
            inner = self.formula(0)
            self.expect(")")
            return inner
        if token.kind == "!":
            self._next += 1
            return Not(self.formula(_TIGHTNESS["!"]))
        if token.kind in ("pre", "once", "historically") and not (bound and token.kind == "pre"):
            self._next += 2 if bound else 1
            tightness = _WITH_BOUND[token.kind] if bound else _TIGHTNESS[token.kind]
            return Past(token.kind, self.formula(tightness), bound or Bound())
        raise FormulaError(self._told("expected a proposition, `(`, or an operator of the past"))

    def _bound_behind(self) -> Bound | None:
        behind = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        return behind.bound if behind.kind == "[]" else None

    def expect(self, kind: str) -> None:
        """Pass over a token of this kind, "" for the end; FormulaError for any other."""
        if self._token.kind != kind:
            raise FormulaError(self._told(f"expected `{kind}`" if kind else "expected the end"))
        self._next += 1

    def _told(self, why: str) -> str:
        found = self._text[self._token.at :].strip()[:20] or "the end"
        return f"formula `{self._text}`, character {self._token.at + 1}: {why}; found `{found}`"


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise FormulaError(
                f"formula `{text}`, character {at + 1}: `{text[at:].strip()[:20]}` is no part of past-time MTL"
            )
        sign, low, high, name = found.groups()
        begin = found.end() - len(found[0].lstrip())
        if sign:
            yield _Token(sign, begin)
        elif name:
            yield _Token(_WORDS.get(name, _WORDS.get(name.lower() if name.isupper() else name, "name")), begin, name)
        else:
            bound = Bound(int(low or 0), int(high) if high else None)
            if bound.high is not None and bound.high < bound.low:
                raise FormulaError(f"formula `{text}`, character {begin + 1}: the bound [{low}:{high}] is empty")
            yield _Token("[]", begin, bound=bound)
        at = found.end()
    yield _Token("", len(text))

"""Short ways to write syntax trees, facts and runs in tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from oracle.evaluate import GroundFact, Model, evaluate
from oracle.programs import Kind
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Constant,
    Expression,
    Formula,
    Interval,
    Program,
    Rule,
    TimelineDeclaration,
    Unary,
    UnaryOperator,
    Value,
    Variable,
    Wildcard,
)


def iv(text: str) -> Interval:
    """`[1,5/2)` or `3` as an interval."""
    match = re.fullmatch(r"([\[(])(.*),(.*)([\])])", text)
    if not match:
        return Interval(Fraction(text), Fraction(text))
    low, high = (float(end) if "inf" in end else Fraction(end) for end in (match[2], match[3]))
    return Interval(low, high, match[1] == "(", match[4] == ")")


def term(text: str | float) -> Variable | Wildcard | Constant:
    """A term as the language writes it."""
    if isinstance(text, str) and text == "_":
        return Wildcard()
    return Variable(text) if isinstance(text, str) and text[0].isupper() else Constant(text)


def at(predicate: str, *arguments: str | float) -> Atom:
    """An atom."""
    return Atom(predicate, tuple(map(term, arguments)))


def op(operator: UnaryOperator, interval: str, operand: Formula) -> Unary:
    """A metric operator over a formula."""
    return Unary(operator, iv(interval), operand)


def binary(left: Formula, operator: Literal["since", "until"], interval: str, right: Formula) -> Binary:
    """`left since[a,b] right` or `left until[a,b] right`."""
    return Binary(operator, iv(interval), left, right)


def fact(predicate: str, *rest: Value) -> GroundFact:
    """A fact; the last argument is its interval."""
    return predicate, tuple(rest[:-1]), iv(str(rest[-1]))


def program(*rules: Rule, timeline: Kind = "rational") -> Program:
    """A program of these rules."""
    return Program((TimelineDeclaration(timeline), *rules))


def solve(
    body: Formula | Sequence[Formula],
    facts: Sequence[GroundFact],
    *,
    timeline: Kind = "rational",
    head: Formula | None = None,
    start: int | None = None,
) -> Model:
    """The model of `h :- body` over the times -4 … 12."""
    parts = tuple(body) if isinstance(body, Sequence) else (body,)
    return evaluate(program(Rule(head or at("h"), parts), timeline=timeline), facts, low=-4, high=12, start=start)


def runs(model: Model, predicate: str = "h", row: tuple[Value, ...] = ()) -> str:
    """The runs of a row on a timeline of whole steps, as text: `[3,6) [7,7]`."""
    shown = []
    for low, high in model.intervals(predicate).get(row, []):
        left = f"({low - Fraction(1, 2)}" if low.denominator > 1 else f"[{low}"
        right = f"{high + Fraction(1, 2)})" if high.denominator > 1 else f"{high}]"
        shown.append(f"{left},{right}")
    return " ".join(shown)


def calc(operator: str, *operands: str | float | Expression) -> Arithmetic:
    """An arithmetic expression."""
    expressions = tuple(x if not isinstance(x, str | int | float) else term(x) for x in operands)
    return Arithmetic(operator, expressions)  # type: ignore[arg-type]

"""The literals of a program's text, times with units, intervals and quoted text: read from tokens, or refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import cast

from lark import Token

from tidelog.plans.diagnostics.errors import DataError, Diagnostic, Span
from tidelog.plans.tree.numerals import read_fraction
from tidelog.plans.tree.syntax import Interval, Time

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UNIT_SECONDS: Mapping[str, Fraction] = MappingProxyType(
    {
        "us": Fraction(1, 1_000_000),
        "ms": Fraction(1, 1000),
        "s": Fraction(1),
        "min": Fraction(60),
        "h": Fraction(3600),
        "d": Fraction(86400),
    }
)
"""The units that may follow a number in a time literal, each in seconds."""

_TIME = re.compile(r"(?P<number>[+-]?(?:inf|[0-9./]+(?:[eE][+-]?[0-9]+)?))(?P<unit>[a-z]*)\Z")
_ESCAPES = {"\\": "\\", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)")


class Refusal(Exception):
    """Raised inside the parser alone: what is wrong with the statement being read, one thing or several."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__(*(item.message for item in diagnostics))


def refuse(span: Span, message: str, *, help: str = "", code: str = "syntax", label: str = "") -> Refusal:
    """The exception to raise where a statement is wrong in a way that its grammar cannot tell."""
    return Refusal(Diagnostic(code, message, span, label, (), help))


def token_span(token: Token) -> Span:
    """The token's place in the program's text."""
    return Span(cast(int, token.start_pos), cast(int, token.end_pos))


def read_time(token: Token) -> tuple[Time, str]:
    """A time literal as an exact number and its unit (empty if none): `5 min` is `(5, "min")`."""
    match = _TIME.match("".join(token.split()))
    if match is None:
        raise refuse(token_span(token), f"`{token}` is not a time", code="bad-number")
    number = match["number"]
    if number.endswith("inf"):
        return (-math.inf if number[0] == "-" else math.inf), ""
    try:
        return read_fraction(number), match["unit"]
    except DataError as error:
        raise refuse(token_span(token), error.reason, code="bad-number") from error


def read_interval(items: Sequence[Token], span: Span, read: Callable[[Token], tuple[Time, str]] = read_time) -> Interval:
    """An interval from its bracket, one or two times, and its bracket: `[a]` is `[a,a]`. `read` reads its times."""
    low, low_unit = read(items[1])
    high, high_unit = read(items[-2])
    left_open = items[0].startswith("(") or low == -math.inf
    right_open = items[-1] == ")" or high == math.inf  # an infinite end is never reached, whatever its bracket
    return Interval(low, high, left_open, right_open, low_unit, high_unit, span)


def read_text(token: Token) -> str:
    """The text between double quotes, its escapes resolved."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], token[1:-1])

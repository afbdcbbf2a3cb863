"""Numbers from text, checked before they are computed: `1e1000000` and a million digits are refused at once."""

from __future__ import annotations

import math
import operator
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from tidelog.plans.diagnostics.errors import DataError

MAX_DIGITS = 40
"""The most digits that one number may have."""
MAX_EXPONENT = 30
"""The largest power of ten that one number may be multiplied with or divided by."""
MAX_INTEGER = 1 << 63
"""Integers in rows stay below this, given or computed."""
EXACT_FLOAT = 1 << 53
"""Below this magnitude a float that is whole was written as that whole number."""

_DECIMAL = re.compile(r"[+-]?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?\Z", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)/(\d+)\Z", re.ASCII)


def _refuse(text: str, why: str) -> DataError:
    shown = text if len(text) <= 24 else text[:21] + "..."
    return DataError(f"number {shown} {why}")


def read_fraction(text: str) -> Fraction:
    """The exact value of `3`, `-2.5`, `1e-6` or `1/3`; DataError if it is none, or too long or too large."""
    if len(text) > 2 * MAX_DIGITS + 8:
        raise _refuse(text, f"has more than {MAX_DIGITS} digits")
    ratio = _FRACTION.match(text)
    if ratio:
        return _read_ratio(text, ratio[1], ratio[2])
    decimal = _DECIMAL.match(text)
    if not decimal:
        raise _refuse(text, "cannot be read")
    if len(decimal[1]) + len(decimal[2] or "") > MAX_DIGITS:
        raise _refuse(text, f"has more than {MAX_DIGITS} digits")
    exponent = decimal[3]
    if exponent and (len(exponent) > 4 or abs(int(exponent)) > MAX_EXPONENT):
        raise _refuse(text, f"has an exponent beyond {MAX_EXPONENT}")
    return Fraction(text)


def _read_ratio(text: str, above: str, below: str) -> Fraction:
    if max(len(above), len(below)) > MAX_DIGITS:
        raise _refuse(text, f"has more than {MAX_DIGITS} digits")
    if int(below) == 0:
        raise _refuse(text, "divides by zero")
    return Fraction(int(above), int(below))


def read_number(text: str) -> int | float:
    """The number that stands in a row: an int where it is whole, otherwise the nearest float."""
    exact = read_fraction(text)
    if exact.denominator == 1:
        if abs(exact.numerator) >= MAX_INTEGER:
            raise _refuse(text, "is beyond 64 bits")
        return exact.numerator
    return canonical(float(exact))


def canonical(number: int | float) -> int | float:
    """One Python value for each number, so that equal numbers print the same: `3.0` becomes `3`.

    DataError if it is infinite, no number, or an integer beyond 64 bits.
    """
    if isinstance(number, float):
        if not number.is_integer():
            if not math.isfinite(number):
                raise DataError("a number must be finite")
            return number
        if abs(number) >= MAX_INTEGER:
            return number
        return int(number)
    if abs(number) >= MAX_INTEGER:
        raise DataError("an integer must fit into 64 bits")
    return number


def plain_number(value: object) -> int | float | None:
    """The int or float that a number of another type stands for, such as NumPy's or a Decimal; None for what is no number.

    Exact where the value is whole, otherwise the nearest float. DataError for what is not finite, or beyond 64 bits.

    >>> plain_number(Decimal("3.0")), plain_number(Fraction(5, 2)), plain_number("3")
    (3, 2.5, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise DataError("a number must be finite")
        return read_number(str(value))
    if isinstance(value, Rational):
        exact = exact_number(value)
        return None if exact is None else _from_exact(exact)
    return canonical(float(value)) if isinstance(value, Real) else None


def exact_number(value: object) -> Fraction | None:
    """The exact value of an integer or a fraction of any type; None for anything else, a boolean too."""
    if isinstance(value, bool) or not isinstance(value, Rational):
        return None
    try:
        return Fraction(operator.index(value.numerator), operator.index(value.denominator))
    except TypeError:  # NumPy's durations say that they are integers
        return None


def _from_exact(number: Fraction) -> int | float:
    try:
        return canonical(number.numerator if number.denominator == 1 else float(number))
    except OverflowError:
        raise DataError("a number must not be larger than a float can be") from None


def shorten(text: str, length: int = 40) -> str:
    """Text for a message: cut where it is long."""
    return text if len(text) <= length else text[: length - 3] + "..."

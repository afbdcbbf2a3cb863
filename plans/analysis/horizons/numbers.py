"""Numbers of any size as text: exact while they are short, in scientific form, rounded up, where they are not."""

from __future__ import annotations

import math

_LONGEST = 10**9
"""Numbers below this are written out."""


def format_bound(number: int) -> str:
    """An upper bound as text: `1234`, `4.01e15`. What is rounded is rounded up, so that it stays a bound.

    >>> format_bound(4_000_001_000_001), format_bound(10**5000)
    ('4.01e12', '1.00e5000')
    """
    if number < _LONGEST:
        return str(number)
    exponent = _digits(number) - 1
    leading = -(-number // 10 ** (exponent - 2))
    if leading >= 1000:
        leading, exponent = 100, exponent + 1
    return f"{leading // 100}.{leading % 100:02}e{exponent}"


def _digits(number: int) -> int:
    """How many decimal digits a positive number has. `str` would take long, and refuses beyond 4300."""
    guess = int((number.bit_length() - 1) * math.log10(2))
    return guess + 2 if number >= 10 ** (guess + 1) else guess + 1

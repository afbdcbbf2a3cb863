"""Numbers among the arguments of text and CSV: read by value, exactly where they are whole."""

from __future__ import annotations

import re

from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import EXACT_FLOAT, MAX_DIGITS, MAX_INTEGER, canonical, read_number

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\Z", re.ASCII)


def read_argument(text: str) -> int | float | None:
    """The number that a text stands for, or None if it does not look like one.

    Whatever an encoder writes is read back: any finite float, and integers of up to 64 bits. DataError beyond that.

    >>> read_argument("3.0"), read_argument("-2.5"), read_argument("wt25")
    (3, -2.5, None)
    """
    match = _NUMBER.match(text)
    if not match:
        return None
    if match[1] is None and match[2] is None:
        return read_number(text)
    if len(text) > 2 * MAX_DIGITS:
        raise DataError(f"number {text[:21]}... has more than {MAX_DIGITS} digits")
    number = float(text)
    if EXACT_FLOAT <= abs(number) < MAX_INTEGER:
        return read_number(text)
    return canonical(number)

"""Numbers on the command line: what each has to be, and what is said where it is not."""

from __future__ import annotations

import argparse
import re


def positive(text: str) -> int:
    """A whole number above 0; ArgumentTypeError for anything else."""
    number = int(text) if text.isdecimal() and len(text) <= 12 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got `{text}`")
    return number


def whole(text: str) -> int:
    """A whole number of 0 or more; ArgumentTypeError for anything else."""
    if not text.isdecimal() or len(text) > 12:
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got `{text}`")
    return int(text)


def number_of_bytes(text: str) -> int:
    """A number of bytes above 0, below some 10 GB; ArgumentTypeError for anything else."""
    number = int(text) if text.isdecimal() and len(text) <= 10 else 0
    if not number:
        raise argparse.ArgumentTypeError(f"expected a number of bytes above 0, got `{text}`")
    return number


def seconds(text: str) -> float:
    """Seconds above 0, below some 30 years; ArgumentTypeError for anything else."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got `{text}`")
    return number


_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


def duration(text: str) -> float:
    """Seconds, also as `500ms`, `10s` or `2 min`, above 0; ArgumentTypeError for anything else.

    >>> duration("2 min"), duration("0.5")
    (120.0, 0.5)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|h)?", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"expected a time such as `10s`, got `{text}`")
    return seconds(str(float(found[1]) * _UNITS[found[2] or ""]))

"""Numbers on the command line: what each has to be, and what is said where it is not."""

from __future__ import annotations

import argparse
import re

from tidelog.connectors.outbox_spec import parse_bytes
from tidelog.plans.literals import UNIT_SECONDS
from tidelog.runtime.durability import Keep


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


def size(text: str) -> int:
    """Bytes above 0, with a unit such as `500MB`; ArgumentTypeError for anything else."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {error}, got `{text}`") from None


def age_or_size(text: str) -> Keep:
    """For how long something is kept (`7d`), or up to how many bytes (`500MB`); ArgumentTypeError for anything else."""
    match = re.fullmatch(r"([0-9]{1,9})(ms|s|min|h|d)", text)
    if match and int(match[1]):
        return Keep(seconds=float(int(match[1]) * UNIT_SECONDS[match[2]]))
    try:
        return Keep(size=parse_bytes(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an age or a size, such as `7d` or `500MB`, got `{text}`") from None

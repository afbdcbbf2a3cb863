"""Sizes and ages on the command line, apart from plain numbers: what reads them loads the runtime."""

from __future__ import annotations

import argparse
import re

from tidelog.connectors.outbox.spec import parse_bytes
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.runtime.ports.durability import Keep


def size(text: str) -> int:
    """Bytes above 0, with a unit such as `500MB`; ArgumentTypeError for anything else."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {error}, got `{text}`") from None


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add `--memory`, of what goes over histories in columns."""
    parser.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="end with an error where a history in columns takes more, such as `2GB` (default: a quarter of the machine's)",
    )


def age_or_size(text: str) -> Keep:
    """For how long something is kept (`7d`), or up to how many bytes (`500MB`); ArgumentTypeError for anything else."""
    match = re.fullmatch(r"([0-9]{1,9})(ms|s|min|h|d)", text)
    if match and int(match[1]):
        return Keep(seconds=float(int(match[1]) * UNIT_SECONDS[match[2]]))
    try:
        return Keep(size=parse_bytes(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an age or a size, such as `7d` or `500MB`, got `{text}`") from None

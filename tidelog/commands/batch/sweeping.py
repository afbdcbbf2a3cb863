"""`--set NAME=VALUES`: which values a parameter takes, one candidate after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.numerals import read_fraction, read_number
from tidelog.plans.tree.syntax import Value

MOST = 10_000
"""More candidates are refused."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of each parameter; every combination of them is a candidate, the last parameter's values first."""

    values: Mapping[str, tuple[Value, ...]]

    def __iter__(self) -> Iterator[dict[str, Value]]:
        for row in product(*self.values.values()):
            yield dict(zip(self.values, row, strict=True))


def parse_sweep(texts: Sequence[str]) -> Sweep | None:
    """The candidates of a command line, None where it has none; SpecError for what cannot be read.

    >>> list(parse_sweep(["LIMIT=70..71:0.5", "MODE=auto"]))
    [{'LIMIT': 70, 'MODE': 'auto'}, {'LIMIT': 70.5, 'MODE': 'auto'}, {'LIMIT': 71, 'MODE': 'auto'}]
    """
    if not texts:
        return None
    found: dict[str, tuple[Value, ...]] = {}
    candidates = 1
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign or not name.strip() or not values.strip():
            raise SpecError(f"--set `{text}`: expected NAME=VALUES, such as `LIMIT=70..95:1` or `LIMIT=70,75`")
        if name.strip() in found:
            raise SpecError(f"--set: `{name.strip()}` is set twice")
        read = _range(text, values) if ".." in values else tuple(_value(text, part.strip()) for part in values.split(","))
        found[name.strip()] = read
        candidates *= len(read)
        if candidates > MOST:
            raise SpecError(f"--set: more than {MOST:,} candidates")
    return Sweep(found)


def _range(text: str, values: str) -> tuple[Value, ...]:
    """`70..95:1`: exact steps, both ends among them where the last step meets the end."""
    ends, _, told = values.partition(":")
    first, last = (_fraction(text, part) for part in ends.split("..", 1))
    step = _fraction(text, told) if told else Fraction(1)
    if step <= 0 or last < first:
        raise SpecError(f"--set `{text}`: a range goes up, by steps above 0")
    count = (last - first) // step + 1
    if count > MOST:
        raise SpecError(f"--set: more than {MOST:,} candidates")
    return tuple(read_number(str(first + number * step)) for number in range(count))


def _fraction(text: str, part: str) -> Fraction:
    try:
        return read_fraction(part.strip())
    except DataError as error:
        raise SpecError(f"--set `{text}`: {error.reason}") from error


def _value(text: str, part: str) -> Value:
    if not part:
        raise SpecError(f"--set `{text}`: a value is missing")
    if part[0] in "+-.0123456789":
        try:
            return read_number(part)
        except DataError as error:
            raise SpecError(f"--set `{text}`: {error.reason}") from error
    return part.removeprefix('"').removesuffix('"')

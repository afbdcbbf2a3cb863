"""Sums without rounding: numbers as digits of many bits, each a whole number of 64 bits that is added by itself.

What is told of a sum is rounded once. Nearly always two floats are enough to say which float is the nearest, and that they
are; where they are not, Python's integers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidelog.operators.columns.arrays import Array, is_number, np
from tidelog.operators.columns.pool import Pool
from tidelog.operators.grouped.counting.sums import root, rounded
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import EXACT_FLOAT
from tidelog.plans.tree.syntax import Value

_BITS = 62
"""So many bits may the sum of a digit have."""
_FEWEST = 8
"""With fewer bits than that a digit is not worth its while."""
_SQUARE = 2.0**450
"""Numbers up to this, and down to its inverse, have exact squares in two floats."""
_MOST_SCALE = 900
"""Powers of two up to this leave two floats room for their errors."""


class NotExactError(Exception):
    """Numbers do not fit into digits."""


@dataclass(slots=True, eq=False)
class Digits:
    """Numbers `Σ parts[k] · 2^(width · (n−1−k)) · 2^exponent`; what is added up of the parts is so of the numbers."""

    parts: list[Array]
    width: int
    exponent: int

    def map(self, function: Callable[[Array], Array]) -> Digits:
        """The same of each part."""
        return Digits([function(part) for part in self.parts], self.width, self.exponent)

    def integers(self) -> list[int]:
        """The numbers in units of 2^exponent."""
        found: list[int] = self.parts[0].tolist()
        for part in self.parts[1:]:
            found = [(above << self.width) + below for above, below in zip(found, part.tolist(), strict=True)]
        return found

    def scaled(self, bits: int) -> list[int]:
        """The numbers in units of 2^-bits, which are fine enough."""
        return [number << self.exponent + bits for number in self.integers()]

    def reach(self, least: Fraction, is_strict: bool) -> Array:
        """For each number whether it is at least this one; more than that, if `is_strict`."""
        exact = least / Fraction(2) ** self.exponent
        missing = exact.numerator // exact.denominator + 1 if is_strict else -(-exact.numerator // exact.denominator)
        rest = np.zeros(len(self.parts[0]), np.int64)
        for part in reversed(self.parts[1:]):
            rest = rest + part - (missing & (1 << self.width) - 1) >> self.width
            missing >>= self.width
        if abs(missing) >= 1 << _BITS:
            return np.full(len(rest), missing < 0)
        found: Array = rest + self.parts[0] >= missing
        return found


def digits_of(floats: Sequence[Array], most: int) -> Digits:
    """Sums of floats at the same place as digits, of which up to `most` are to be added. NotExactError for too many."""
    width = _BITS - most.bit_length() - (len(floats) - 1).bit_length()
    if width < _FEWEST:
        raise NotExactError
    largest = max([float(abs(each).max()) if len(each) else 0.0 for each in floats])
    exponent = int(np.frexp(largest)[1]) - width
    parts = []
    while True:
        wholes = [np.trunc(_times(each, -exponent)) for each in floats]
        parts.append(sum([whole.astype(np.int64) for whole in wholes[1:]], wholes[0].astype(np.int64)))
        floats = [each - _times(whole, exponent) for each, whole in zip(floats, wholes, strict=True)]
        if not any(each.any() for each in floats):
            return Digits(parts, width, exponent)
        exponent -= width


def _times(floats: Array, power: int) -> Array:
    """Floats times a power of two, exact where they have room."""
    found: Array = floats * 2.0**power if abs(power) < _MOST_SCALE else np.ldexp(floats, power)
    return found


def floats_of(column: Array, pool: Pool) -> list[Array]:
    """The numbers of a column as sums of floats: of one each, or of two where an integer needs them."""
    if is_number(column):
        return [column]
    codes, places = np.unique(column, return_inverse=True)
    numbers = [number for number in pool.listed(codes) if not isinstance(number, str)]
    heads = [float(number) for number in numbers]
    rests = [
        float(number - int(head)) if isinstance(number, int) else 0.0 for number, head in zip(numbers, heads, strict=True)
    ]
    return [np.array(heads)[places], np.array(rests)[places]]


def squares_of(floats: Sequence[Array]) -> list[Array]:
    """The squares of sums of floats as such sums. NotExactError where floats have no room for them."""
    for each in floats:
        size = abs(each[each != 0])
        if len(size) and (size.max() > _SQUARE or size.min() < 1 / _SQUARE):
            raise NotExactError
    pairs = [(one, other * (1 + (i < j))) for i, one in enumerate(floats) for j, other in enumerate(floats) if i <= j]
    return [part for one, other in pairs for part in product(one, other)]


def product(one: Array, other: Array) -> tuple[Array, Array]:
    """The product of floats, and what it is beside the exact one (Dekker)."""
    found = one * other
    above, below = _halves(one)
    left, right = _halves(other)
    return found, ((above * left - found) + above * right + below * left) + below * right


def _halves(floats: Array) -> tuple[Array, Array]:
    cut = floats * 134217729.0  # 2²⁷ + 1
    above = cut - (cut - floats)
    return above, floats - above


# --- what is told -------------------------------------------------------------------------------------------------------


def quotients(sums: Digits, counts: Array, pool: Pool) -> tuple[Array, Array]:
    """Sums divided by counts as a column of values, and which of them there are: those that floats reach."""
    found, is_sure = _nearest(sums, counts)
    return _completed(found, ~is_sure, lambda places: _exactly(sums.map(lambda part: part[places]), counts[places]), pool)


def deviations(sums: Digits, squares: Digits, counts: Array, pool: Pool) -> tuple[Array, Array]:
    """The standard deviations of samples, as above; none of fewer than two."""
    bits = max(-sums.exponent, -(squares.exponent // 2), 0)
    values: list[Value | None] = []
    for size, total, square in zip(counts.tolist(), sums.scaled(bits), squares.scaled(2 * bits), strict=True):
        above, below = size * square - total * total, size * (size - 1) << 2 * bits
        values.append(root(above, below) if size > 1 else None)
    there = counts > 1
    return _completed(np.zeros(len(values)), there, lambda places: [values[place] for place in places.tolist()], pool, there)


def _completed(
    found: Array, open_: Array, values_of: Callable[[Array], list[Value | None]], pool: Pool, there: Array | None = None
) -> tuple[Array, Array]:
    """Floats, with other values where some are open."""
    there = np.ones(len(found), np.bool_) if there is None else there.copy()
    places = np.flatnonzero(open_)
    if not len(places):
        return found, there
    values = values_of(places)
    there[places] = [value is not None for value in values]
    column = pool.column([0 if value is None else value for value in values])
    if not is_number(column):
        found[places] = 0.0  # what stands there is no value, and must get no code
        found = pool.coded(found)
    found[places] = column
    return found, there


def _exactly(sums: Digits, counts: Array) -> list[Value | None]:
    bits = max(-sums.exponent, 0)
    return [_value(total, size << bits) for total, size in zip(sums.scaled(bits), counts.tolist(), strict=True)]


def _value(above: int, below: int) -> Value | None:
    try:
        return rounded(above, below)
    except DataError:  # beyond what a value can be
        return None


def _nearest(sums: Digits, counts: Array) -> tuple[Array, Array]:
    """The floats nearest to quotients, and for which of them two floats are enough to be sure of that."""
    top = sums.exponent + sums.width * len(sums.parts)
    if top > _MOST_SCALE or sums.exponent < -_MOST_SCALE:
        return np.zeros(len(counts)), np.zeros(len(counts), np.bool_)
    total, rest, size = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    exponent = sums.exponent + sums.width * (len(sums.parts) - 1)
    for part in sums.parts:
        for half, power in ((part >> 32, exponent + 32), (part & 0xFFFFFFFF, exponent)):
            addend = half * 2.0**power
            both = total + addend
            back = both - total
            rest += (total - (both - back)) + (addend - back)
            total, size = both, size + abs(addend)
        exponent -= sums.width
    divisors = counts.astype(np.float64)
    first = total / divisors
    above, below = product(first, divisors)
    second = (((total - above) - below) + rest) / divisors
    doubt = abs(second) * 2.0**-49 + size / divisors * 2.0**-96
    found, other = first + (second + doubt), first + (second - doubt)
    return found + 0.0, (found == other) & (abs(found) < EXACT_FLOAT) & (counts < EXACT_FLOAT)

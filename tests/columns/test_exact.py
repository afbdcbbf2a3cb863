"""Sums over columns are those of exact fractions, rounded once."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.grouped.exact import NotExactError, deviations, digits_of, floats_of, quotients, squares_of
from tidelog.operators.columns.pool import Pool
from tidelog.operators.grouped.counting.sums import root, rounded
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import EXACT_FLOAT, MAX_INTEGER, canonical
from tidelog.plans.tree.syntax import Value

WHOLE = st.integers(1 - MAX_INTEGER, MAX_INTEGER - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(canonical)
NEAR = st.floats(-1e6, 1e6).map(canonical) | st.sampled_from([0, 0.1, 0.5, 1, 3, -0.1, 10**16, 1e-300])
NUMBERS = st.lists(NEAR, min_size=1, max_size=12) | st.lists(NEAR | WHOLE | FLOATS, min_size=1, max_size=12)


def sums(numbers: list[Value]) -> list[Fraction]:
    """The exact sums of the first, the first two, and so on."""
    return [sum(map(Fraction, numbers[: end + 1]), Fraction(0)) for end in range(len(numbers))]


def as_value(number: Fraction) -> Value | None:
    """What is told of a fraction; None beyond all floats."""
    try:
        return rounded(number.numerator, number.denominator)
    except DataError:
        return None


def shown(value: Value | None) -> Value | None:
    """A number as it is printed; beyond 2⁵³ a pool has one code for an integer and the float that equals it."""
    return repr(value) if isinstance(value, int | float) and abs(value) < EXACT_FLOAT else value


@given(NUMBERS, st.booleans())
def test_means_are_rounded_once(numbers: list[Value], is_mean: bool) -> None:
    """Of numbers of all sizes, and as the values that they are when they are computed one by one."""
    pool, counts = Pool(), np.arange(1, len(numbers) + 1)
    total = digits_of(floats_of(pool.column(numbers), pool), len(numbers)).map(np.cumsum)
    values, there = quotients(total, counts if is_mean else np.ones_like(counts), pool)
    expected = [as_value(each / (size if is_mean else 1)) for size, each in enumerate(sums(numbers), 1)]
    found = [value if is_there else None for value, is_there in zip(pool.listed(values), there.tolist(), strict=True)]
    assert list(map(shown, found)) == list(map(shown, expected))


@given(NUMBERS)
def test_deviations_are_rounded_once(numbers: list[Value]) -> None:
    """As long as their squares have room in floats."""
    pool, counts = Pool(), np.arange(1, len(numbers) + 1)
    floats = floats_of(pool.column(numbers), pool)
    try:
        squares = digits_of(squares_of(floats), len(numbers)).map(np.cumsum)
    except NotExactError:
        assume(False)
    values, there = deviations(digits_of(floats, len(numbers)).map(np.cumsum), squares, counts, pool)
    assert there.tolist() == [size > 1 for size in counts.tolist()]
    for size, (total, found) in enumerate(zip(sums(numbers), pool.listed(values), strict=True), 1):
        mean = total / size
        if size > 1:
            square = sum(((Fraction(number) - mean) ** 2 for number in numbers[:size]), Fraction(0)) / (size - 1)
            assert repr(found) == repr(root(square.numerator, square.denominator))


@given(NUMBERS, st.fractions() | FLOATS.map(Fraction), st.booleans(), st.integers(0, 11))
def test_sums_are_compared_exactly(numbers: list[Value], least: Fraction, is_strict: bool, which: int) -> None:
    """With any fraction, and with a sum itself."""
    for limit in (least, sums(numbers)[which % len(numbers)]):
        pool = Pool()
        total = digits_of(floats_of(pool.column(numbers), pool), len(numbers)).map(np.cumsum)
        assert total.reach(limit, is_strict).tolist() == [
            each > limit or (each == limit and not is_strict) for each in sums(numbers)
        ]


def test_too_much_does_not_fit() -> None:
    """Sums of 2⁵⁵ numbers have no room for their digits."""
    with pytest.raises(NotExactError):
        digits_of([np.ones(2)], 1 << 55)


def test_a_sum_that_floats_cannot_tell_leaves_no_float_in_the_pool() -> None:
    """It would be printed in place of a whole number that comes later and equals it."""
    pool, counts = Pool(), np.ones(2, np.int64)
    for more in range(1, 8):
        total = digits_of(floats_of(pool.column([1 << 53, more]), pool), 2).map(np.cumsum)
        values, _ = quotients(total, counts, pool)
        assert list(map(repr, pool.listed(values))) == [str(1 << 53), str((1 << 53) + more)]

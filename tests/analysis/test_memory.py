"""Window, granularity, `#`-facts, and the bounds of Theorems 12 and 15, against numbers worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import tidelog
from tidelog.plans.analysis.horizons.extent import extent_of
from tidelog.plans.analysis.horizons.memory import MemoryBound, greatest_common_divisor
from tidelog.plans.analysis.horizons.numbers import format_bound
from tidelog.plans.explaining.reports.report import analyse

NETWORK = """
Flag(X,Z) :- Monit(X,Z), boxminus[0,4] diamondminus[0,2] Signal(Z).
boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), Connect(X,Y).
"""
"""Example 1. Its normal form (Example 7) has 5 rules over 7 predicates: those four, and three that are fresh."""


def bounds(text: str, spacing: Fraction | int = 1, step: Fraction | int = 1) -> tuple[MemoryBound, ...]:
    return analyse(tidelog.compile(text), spacing=Fraction(spacing), step=Fraction(step)).bounds


# --- window and granularity ---------------------------------------------------------------------------------------------


def test_extent_of_the_network() -> None:
    """t_Π is 4, the granularity 2, and K, the least endpoint above 0, is 2."""
    extent = extent_of(tidelog.compile(NETWORK))
    assert (extent.window, extent.granularity, extent.least) == (4, 2, 2)
    assert extent.window_rule == "'Flag.2'(Z) :- boxminus[0,4] 'Flag.1'(Z)."
    assert extent.endpoints == (0, 2, 3, 4)


@pytest.mark.parametrize(
    ("text", "window", "granularity", "least"),
    [
        ("p(X) :- q(X), r(X).", 0, math.inf, None),
        ("p(X) :- diamondminus[0,inf) q(X).", 0, math.inf, None),
        ("p(X) :- diamondminus[3,inf) q(X).", 3, math.inf, 3),
        ("p(X) :- diamondminus[2,2] q(X).", 2, 0, 2),
        ("p(X) :- boxminus(1/2,2] q(X).", 2, Fraction(3, 2), Fraction(1, 2)),
        ("timeline integer. p(X) :- boxminus[0,5) q(X).", 4, 4, 4),
    ],
)
def test_extent(text: str, window: int, granularity: float, least: int | None) -> None:
    """Infinite ends do not count for the window; a time alone makes the granularity 0, no interval makes it infinite."""
    extent = extent_of(tidelog.compile(text))
    assert (extent.window, extent.granularity, extent.least) == (window, granularity, least)


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("p(X) :- diamondminus[1,3] q(X).", {"q": 2}),
        ("p(X) :- diamondminus[1,3) q(X).", {"q": 2}),
        ("timeline rational, resolution 1/4. p(X) :- diamondminus(1,3) q(X).", {"q": Fraction(7, 4)}),
        ("timeline integer. p(X) :- diamondminus[1,3] q(X).", {"q": 3}),
        ("p(X) :- diamondminus[0,inf) q(X).", {"q": math.inf}),
        ("p(X) :- diamondminus[1,1] q(X).", {}),
        ("p(X) :- diamondminus[1,3] q(X). r(X) :- q(X).", {}),
    ],
)
def test_sharp_facts(text: str, reach: dict[str, Fraction]) -> None:
    """A predicate that only ◇ reads covers gaps as long as the shortest of its readers bridges."""
    assert {item.predicate: item.reach for item in extent_of(tidelog.compile(text)).sharps} == reach


# --- Theorem 12 ---------------------------------------------------------------------------------------------------------


def test_theorem_12() -> None:
    """t_Π = 4, step = gcd = 1, P = 7, A = 2: (4 · (5/1 + 1)² + 1) · 7 = 1015, times n²."""
    bound = bounds(NETWORK)[0]
    assert (bound.theorem, bound.factor, bound.exponent) == (12, 1015, 2)
    assert bound.value(10) == 101_500
    assert bound.value(0) == 0


def test_theorem_12_takes_the_common_divisor() -> None:
    """Timestamps every 3/4, steps of 1/2, endpoints 0, 2, 3, 4: gcd 1/4, (4 · (4.5 · 4 + 1)² + 1) · 7 = 10115."""
    assert bounds(NETWORK, Fraction(3, 4), Fraction(1, 2))[0].factor == (4 * 19**2 + 1) * 7


def test_default_is_the_resolution() -> None:
    """Without numbers, timestamps and steps are as fine as the timeline: 1/1000 gives (4 · (4001 + 1)² + 1) · 7."""
    plan = tidelog.compile("timeline rational, resolution 0.001." + NETWORK)
    assert analyse(plan).bounds[0].factor == (4 * 4002**2 + 1) * 7


def test_bounds_do_not_overflow() -> None:
    """Bounds are exact, however large: A = 6 and 10¹² constants."""
    bound = bounds("p(A,B,C,D,E,F) :- q(A,B,C,D,E,F).", Fraction(1, 10**9), Fraction(1, 10**9))[0]
    assert bound.factor == (4 * 2**2 + 1) * 2
    assert bound.value(10**12) == 34 * 10**72
    assert MemoryBound(12, Fraction(1), 10**7, "").value(10**12) is None


# --- Theorem 15 ---------------------------------------------------------------------------------------------------------


def test_theorem_15() -> None:
    """t_Π = 4, gran = K = 2, R = 5, step = 1: 9 · (2 · (4/2 + 2) · 5 · 5/2)² · 7 = 630000, times n²."""
    bound = bounds(NETWORK)[1]
    assert (bound.theorem, bound.factor, bound.exponent) == (15, 630_000, 2)
    assert bound.value(3) == 5_670_000


def test_theorem_15_does_not_depend_on_timestamps() -> None:
    """However close timestamps lie, the bound stays; that of Theorem 12 grows."""
    coarse, fine = bounds(NETWORK), bounds(NETWORK, Fraction(1, 1000))
    assert coarse[1].factor == fine[1].factor
    assert (coarse[0].factor or 0) < (fine[0].factor or 0)


def test_theorem_15_without_endpoints() -> None:
    """Without an interval no sums of endpoints arise: 9 · (2 · (0 + 2) · 1)² · 2 = 288."""
    assert bounds("p(X) :- q(X).")[1].factor == 288


def test_theorem_15_with_an_infinite_granularity() -> None:
    """◇[3,inf) alone: t_Π = K = 3, R = 1, step = 1: 9 · (2 · 2 · 4/3)² · 2 = 512."""
    assert bounds("p(X) :- diamondminus[3,inf) q(X).")[1].factor == 512


def test_long_steps_are_told() -> None:
    """Where a step is longer than K, the figure is the paper's, but its proof counts too few sums."""
    assert "proven for steps of up to 2 alone" in bounds(NETWORK, 1, 3)[1].why
    assert "proven" not in bounds(NETWORK, 1, 2)[1].why


# --- where they do not apply --------------------------------------------------------------------------------------------


def test_punctual_intervals_leave_theorem_12_alone() -> None:
    """Granularity 0 excludes Theorem 15, not Theorem 12."""
    twelve, fifteen = bounds("p(X) :- diamondminus[2,2] q(X).")
    assert twelve.factor == (4 * 4**2 + 1) * 2
    assert fifteen.factor is None
    assert "granularity is 0" in fifteen.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("p(X) :- diamondplus[0,2] q(X).", "not forward-propagating: `diamondplus[0,2] q(X)` looks ahead"),
        ("p(X) :- boxminus[0,inf) q(X).", "looks back without end"),
        ("p(W) :- q(X), W = X + 1.", "computes constants"),
        ("output q. input q(x).", "no rules"),
    ],
)
def test_theorems_that_do_not_apply(text: str, why: str) -> None:
    """Outside of forward-propagating normal forms over the stream's constants there is no bound, and the reason is told."""
    for bound in bounds(text):
        assert bound.factor is None
        assert bound.value(5) is None
        assert why in bound.why


@pytest.mark.parametrize(("spacing", "step"), [(0, 1), (1, 0), (-1, 1)])
def test_spacing_and_step_are_above_zero(spacing: int, step: int) -> None:
    """Distances of nothing are refused."""
    with pytest.raises(ValueError, match="above 0"):
        bounds(NETWORK, spacing, step)


def test_negative_objects() -> None:
    """A negative number of constants is refused."""
    with pytest.raises(ValueError, match="cannot be -1"):
        bounds(NETWORK)[0].value(-1)


# --- numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "divisor"),
    [([6, 4], 2), ([Fraction(3, 4), Fraction(1, 2)], Fraction(1, 4)), ([0, 5], 5), ([0, 0], 0), ([], 0)],
)
def test_greatest_common_divisor(numbers: list[Fraction], divisor: Fraction) -> None:
    """The greatest rational that divides all; 0 divides nothing but itself."""
    assert greatest_common_divisor(map(Fraction, numbers)) == divisor


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999_999_999, "999999999"),
        (10**9, "1.00e9"),
        (1_230_000_001, "1.24e9"),
        (9_999_000_000, "1.00e10"),
    ],
)
def test_bounds_are_rounded_up(number: int, text: str) -> None:
    """Long numbers are shortened upwards."""
    assert format_bound(number) == text


@pytest.mark.parametrize(("more", "text"), [(-1, "1.00e4400"), (0, "1.00e4400"), (1, "1.01e4400")])
def test_bounds_beyond_what_python_prints(more: int, text: str) -> None:
    """Numbers with more digits than `str` takes are written too."""
    assert format_bound(10**4400 + more) == text

"""The programs that the benchmarks compare with plain Python written by hand: both sides give the same answers."""

from __future__ import annotations

import pytest

from benchmarks.hand.suite import Case, cases, check


@pytest.mark.parametrize("case", cases(facts=600), ids=lambda case: case.name)
def test_the_engine_tells_what_is_found_by_hand(case: Case) -> None:
    """Duration, disorder, absence, join and hysteresis, each over 600 facts."""
    assert check(case, case.plan) > 20

"""Of several readings that would do, the one is shown that held last; for what looks ahead, the one that held first."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog.runtime.why.explain import Reason
from why.explaining import refusal, verifier, why

BODIES = {
    "t(R, _) within 6": True,
    "t(R, V) within 6, V >= 0": True,
    "sometime t(R, _) in [6]": True,
    "(top since[0,6] t(R, _))": True,
    "diamondplus[0,6] t(R, _)": False,
    "(top until[0,6] t(R, _))": False,
}


@drawn(100)
@given(
    st.sampled_from(sorted(BODIES)),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.sampled_from((0, 0, 2))), min_size=1, max_size=8),
    st.integers(0, 12),
)
def test_the_nearest_reading_is_shown(body: str, readings: list[tuple[int, int, int]], at: int) -> None:
    """Rows were tried in the order in which they had come."""
    low, high = (at - 6, at) if BODIES[body] else (at, at + 6)
    times = [time for _, lo, size in readings for time in range(lo, lo + size + 1) if low <= time <= high]
    program = f"timeline integer. input t(r, v). s(R) :- {body}."
    facts = [f"t(r,{value})@[{lo},{lo + size}]" for value, lo, size in readings]
    reason = why(program, facts, f"s(r)@{at}")
    assert isinstance(reason, Reason) == bool(times)
    if isinstance(reason, Reason):
        certificate = json.loads(reason.json())
        (premise,) = (each["fact"] for each in certificate["proof"]["premises"] if each.get("fact", "").startswith("t("))
        assert premise.partition("@")[2] == str(max(times) if BODIES[body] else min(times))
        assert refusal(verifier(program, facts), certificate) is None


@pytest.mark.parametrize("facts", [["t(r,1)@0", "t(r,2)@50"], ["t(r,2)@50", "t(r,1)@0"]])
def test_in_whatever_order_they_came(facts: list[str]) -> None:
    """Of two readings the older was shown, where it had come first."""
    reason = why("timeline integer. input t(r, v). s(R) :- t(R, _) within 100.", facts, "s(r)@60")
    assert "t(r,2)@50" in reason.text()

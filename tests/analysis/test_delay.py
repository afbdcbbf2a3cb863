"""How far behind the watermark answers become final, and why."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tidelog
from tidelog.plans.analysis.horizons.delay import delays

PAST = "waits for nothing in the future"
CASES = [
    ("p(X) :- boxminus[0,4] q(X).", 0, PAST),
    ("p(X) :- diamondplus[0,5] q(X).", 5, "`diamondplus[0,5]` looks 5 ahead"),
    ("p(X) :- diamondplus(1,5/2) q(X).", Fraction(5, 2), "`diamondplus(1,5/2)` looks 5/2 ahead"),
    (
        "p(X) :- boxminus[2,3] diamondplus[0,5] q(X).",
        3,
        "`diamondplus[0,5]` looks 5 ahead; `boxminus[2,3]` looks 2 back",
    ),
    ("p(X) :- boxminus[5,6] diamondplus[0,5] q(X).", 0, PAST),
    ("p(X) :- r(X) until[0,3] q(X), boxplus[0,1] q(X).", 3, "`until[0,3]` looks 3 ahead"),
    ("p(X) :- q(X), not diamondplus[0,7] r(X).", 7, "`diamondplus[0,7]` looks 7 ahead"),
    ("boxminus[0,2] p(X) :- q(X).", 2, "`boxminus[0,2]` in the head reaches 2 back"),
    ("input r. p(X) :- q(X). q(a)@[1,2).", 0, "no stream feeds it"),
]


@pytest.mark.parametrize(("text", "delay", "why"), CASES)
def test_delay(text: str, delay: Fraction, why: str) -> None:
    """The delay is what the operators on the slowest way look ahead, less what they look back."""
    found = delays(tidelog.compile(f"output p. {text}"))
    assert [(item.predicate, item.delay, item.why) for item in found] == [("p", delay, why)]


def test_delay_through_recursion() -> None:
    """In a loop the slowest way counts once, since a round does not lead into the past."""
    plan = tidelog.compile(
        "input q(x). input e(x, y). output p. p(X) :- diamondplus[0,5] q(X). p(Y) :- diamondminus[0,1] p(X), e(X,Y)."
    )
    assert [(item.delay, item.why) for item in delays(plan)] == [(5, "`diamondplus[0,5]` looks 5 ahead")]


def test_delay_on_integers() -> None:
    """Delays are in the program's unit, with open ends resolved."""
    found = delays(tidelog.compile("timeline integer, unit 1 min. output p. p(X) :- diamondplus[0,2h) q(X)."))
    assert [item.delay for item in found] == [119]

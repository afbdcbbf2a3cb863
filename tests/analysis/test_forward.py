"""Whether programs are forward-propagating (Wałęga et al. 2023, Definition 4), and what in them is not."""

from __future__ import annotations

import pytest

from tidelog.plans.analysis.horizons.forward import obstacles
from tidelog.plans.language.parser import parse

FORWARD = [
    "p(X) :- boxminus[0,4] diamondminus[0,2] q(X), r(X).",
    "boxplus[0,3] boxplus[1,1] p(X) :- q(X).",
    "p(X) :- SOMETIME[-2,-1] q(X), ALWAYS[-2,0] q(X).",
    "p(X) :- sometime q(X) in [5].",
    "p(X) :- q(X,V), V >= 3.",
    "p(X) :- diamondminus[0,inf) q(X). q(a).",
]
NOT_FORWARD = [
    ("p(X) :- diamondplus[0,5] q(X).", "`diamondplus[0,5] q(X)` looks ahead"),
    ("p(X) :- boxminus[0,1] boxplus[0,5] q(X).", "`boxplus[0,5] q(X)` looks ahead"),
    ("p(X) :- r(X) until[0,1] q(X).", "`r(X) until[0,1] q(X)` looks ahead"),
    ("p(X) :- r(X) since[0,1] q(X).", "`r(X) since[0,1] q(X)` is neither diamondminus nor boxminus"),
    ("p(X) :- q(X), not r(X).", "`not r(X)` negates"),
    ("p(X) :- q(X), top.", "`top` is a truth value"),
    ("p(X) :- always q(X) in [5].", "`always q(X) in [5]` is clipped where the stream starts"),
    ("bottom :- q(X).", "`bottom` in the head"),
    ("boxminus[0,1] p(X) :- q(X).", "`boxminus[0,1] p(X)` in the head reaches into the past"),
]


@pytest.mark.parametrize("text", FORWARD)
def test_forward_propagating(text: str) -> None:
    """Boxes and diamonds into the past, head boxes into the future and comparisons are allowed."""
    assert obstacles(parse(text)) == ()


@pytest.mark.parametrize(("text", "what"), NOT_FORWARD)
def test_not_forward_propagating(text: str, what: str) -> None:
    """Anything else is named, with its rule; rules that are in order are not."""
    found = obstacles(parse(f"ok(X) :- diamondminus[0,1] q(X). {text}"))
    assert [(item.rule, item.what) for item in found] == [(text, what)]


def test_windows_that_count_or_step() -> None:
    """Tuple windows, stepped windows and times that are named are outside of the definition."""
    program = parse("timeline integer. p(X) :- q(X) in [#3], r(X) in [6 step 2], s(X)@T in [4]. u(X)@T+1 :- s(X)@T in [4].")
    assert [item.what for item in obstacles(program)] == [
        "`sometime q(X) in [#3]` is a window that counts facts or moves in steps",
        "`sometime r(X) in [6 step 2]` is a window that counts facts or moves in steps",
        "`s(X)@T` names its own time",
        "`u(X)@T+1` in the head moves to a time of its own",
        "`s(X)@T` names its own time",
    ]

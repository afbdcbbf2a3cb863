"""Time variables become metric operators, and columns only where they are used as values."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.normal.normalise import normalise, text_after

CASES = {
    "temporal datalog": ("h(X)@T+1 :- p(X)@T, p(X)@T+1.", "h(X) :- diamondminus[1,1] p(X), p(X)."),
    "past head": ("h(X)@T-2 :- p(X)@T, not q(X)@T.", "h(X) :- diamondplus[2,2] p(X), not diamondplus[2,2] q(X)."),
    "window, head now": ("h(X) :- p(X)@T in [5], q(X).", "h(X) :- diamondminus[0,5] p(X), q(X)."),
    "windows alone, head at T": ("h(X)@T :- p(X)@T in [5], q(X)@T in [3].", "h(X) :- p(X), q(X)."),
    "windows meet": ("h(X) :- p(X)@T in [5], q(X)@T+2 in [9].", "h(X) :- diamondminus[2,5] (p(X), diamondplus[2,2] q(X))."),
    "another literal, head at T": ("h(X)@T :- p(X)@T in [5], q(X).", "h(X) :- p(X), diamondplus[0,5] q(X)."),
    "window on both sides of T": (
        "h(X)@T :- p(X)@T-3 in [5], q(X).",
        "h(X) :- diamondminus[3,3] p(X), diamondplus[2,2] diamondminus[0,5] q(X).",
    ),
    "endless window on both sides of T": (
        "h(X) :- p(X)@T-3 in [inf].",
        "h(X) :- diamondplus[3,3] diamondminus[0,inf) diamondminus[3,3] p(X).",
    ),
    "comparison of the group": ("h(X) :- p(X, V)@T in [5], V > 9.", "h(X) :- diamondminus[0,5] (p(X, V), V > 9)."),
    "negation in the same window": (
        "h(X) :- p(X)@T in [5], not q(X)@T in [7].",
        "h(X) :- diamondminus[0,5] (p(X), not q(X)).",
    ),
    "two times": (
        "h(X) :- p(X)@T in [5], q(X)@U in [3].",
        "h(X) :- diamondminus[0,5] p(X), diamondminus[0,3] q(X).",
    ),
    "two times, head at one": (
        "h(X)@T :- p(X)@T in [5], q(X)@U in [3].",
        "h(X) :- p(X), diamondplus[0,5] diamondminus[0,3] q(X).",
    ),
    "as a value": (
        "h(X, T) :- p(X)@T in [5].",
        """
        'h.1'(X, T)@T :- p(X)@T.
        h(X, T) :- diamondminus[0,5] 'h.1'(X, T).
        """,
    ),
    "a value of what holds together": (
        "h(X, T)@T+1 :- p(X, Y)@T, q(Y)@T, not r(Y)@T.",
        """
        'h.1'(X) :- p(X, Y), q(Y), not r(Y).
        'h.2'(X, T)@T :- 'h.1'(X)@T.
        h(X, T) :- diamondminus[1,1] 'h.2'(X, T).
        """,
    ),
    "an argument that is the time": (
        "h(X) :- p(X, T)@T in [5].",
        """
        'h.1'(X, T, T_)@T_ :- p(X, T)@T_.
        'h.2'(X, T) :- 'h.1'(X, T, T_), T = T_.
        h(X) :- diamondminus[0,5] 'h.2'(X, T).
        """,
    ),
    "negation that leans on another literal": (
        "h(X) :- p(X)@T in [5], r(Y), not q(X, Y)@T.",
        """
        'h.1'(X, T)@T :- p(X)@T.
        'h.2'(X, Y, T)@T :- q(X, Y)@T.
        h(X) :- diamondminus[0,5] 'h.1'(X, T), not diamondminus[0,5] 'h.2'(X, Y, T), r(Y).
        """,
    ),
    "negation that leans on T's atoms": (
        "h(X)@T :- p(X)@T in [5], r(Y), not q(X, Y).",
        "h(X) :- p(X), diamondplus[0,5] (diamondminus[0,5] p(X), r(Y), not q(X, Y)).",
    ),
    "a value moves the head": (
        "h(X)@S :- p(X, D)@T in [5], S = T + D, S >= T - 2.",
        """
        'h.2'(X, D, T)@T :- p(X, D)@T.
        'h.1'(X, S) :- diamondminus[0,5] 'h.2'(X, D, T), S = T + D, S >= T - 2.
        h(X)@S :- 'h.1'(X, S).
        """,
    ),
}


def rules_of(text: str) -> str:
    """What the pass makes of a program's rules, one a line."""
    lines = text_after("bind_times", f"timeline integer. output h. {text}").splitlines()
    return "\n".join(line for line in lines if " :- " in line)


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=list(CASES))
def test_becomes(text: str, expected: str) -> None:
    """The rule says the same by distances in time."""
    assert rules_of(text) == dedent(expected).strip()


STARTS = [
    ("q(a).", "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ("q(a)@3.", "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ('background q from "q.csv".', "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ("q(X) :- diamondplus[0,3] p(X).", "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ("boxminus[0,3] q(X) :- p(X).", "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ("q(X)@T-1 :- p(X)@T.", "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ("q(X) :- p(X) until[0,2] r(X).", "h(X) :- diamondminus[0,2] (always q(X) in [0])."),
    ("q(X) :- diamondminus[0,3] p(X), not r(X).", "h(X) :- diamondminus[0,2] q(X)."),
    ("q(X) :- r(X) since[0,3] p(X).", "h(X) :- diamondminus[0,2] q(X)."),
    ("q(X)@T+1 :- p(X)@T, r(X)@T+5.", "h(X) :- diamondminus[0,2] q(X)."),
    ("q(X) :- r(X), p(X). r(a).", "h(X) :- diamondminus[0,2] q(X)."),
]


@pytest.mark.parametrize(("text", "expected"), STARTS)
def test_windows_begin_with_the_stream(text: str, expected: str) -> None:
    """What may hold before the stream's start is cut off there; what only the stream brings is left as it is."""
    assert rules_of(f"{text} h(X) :- q(X)@T in [2].").splitlines()[-1] == expected


def test_an_atom_of_the_stream_keeps_the_others_behind_the_start() -> None:
    """Nothing is cut off where an atom of the stream holds at the same time, or before."""
    assert rules_of("q(a). h(X) :- q(X)@T in [2], p(X)@T-1.") == "h(X) :- diamondminus[0,2] (q(X), diamondminus[1,1] p(X))."


def test_what_holds_at_all_times_holds_at_any_time() -> None:
    """A background, where no stream may bring it, needs no window to stand beside `@T`, and makes nothing wait."""
    text = "input p(x). b(a, c). h(Y)@T+1 :- p(X)@T, b(X, Y), not b(Y, X)."
    assert rules_of(text) == "h(Y) :- diamondminus[1,1] p(X), b(X, Y), not b(Y, X)."


REFUSED = [
    ("h(X) :- p(X)@T.", "unbounded-time"),
    ("h(X)@T :- p(X)@T, q(X).", "unbounded-time"),
    ("h(X)@T :- p(X)@T, q(X)@U in [3].", "unbounded-time"),
    ("h(X)@T :- p(X)@T, not q(X)@T in [3].", "unbounded-time"),
    ("h(X) :- q(X, T), not p(X)@T.", "unbounded-time"),
    ("b(a). h(X, T)@T :- b(X)@T.", "unbounded-time"),
    ("h(X) :- p(X)@T in [2], q(X)@T-3 in [2].", "never-fires"),
    ("h(X) :- diamondminus[0,3] p(X)@T.", "not-supported"),
    ("h(X) :- sometime p(X)@T in [3].", "not-supported"),
    ("h(X) :- p(X), not (p(X)@T in [3], q(X)).", "not-supported"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_refused(text: str, code: str) -> None:
    """A time that nothing bounds, one that cannot be, and one below an operator are refused by name."""
    with pytest.raises(ProgramError) as caught:
        normalise(parse(f"timeline integer. {text}"))
    assert [item.code for item in caught.value.diagnostics] == [code]

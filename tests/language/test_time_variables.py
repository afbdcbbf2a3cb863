"""What is said of time variables that no stream could decide: the whole message, as it is shown."""

from __future__ import annotations

from textwrap import dedent

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.diagnostics.source import render_diagnostics

MESSAGES = [
    (
        "h(X) :- p(X)@T, q(X).",
        """
        error[unbounded-time]: nothing bounds `T`: it may lie anywhere
         --> <program>:2:9
          |
        2 | h(X) :- p(X)@T, q(X).
          |         ^^^^^^
          = help: `p(X)@T in [5]` keeps it near; `@T` in the head needs no window
        """,
    ),
    (
        "h(X)@T :- p(X)@T, q(X).",
        """
        error[unbounded-time]: nothing bounds `T`: it may lie anywhere
         --> <program>:2:11
          |
        2 | h(X)@T :- p(X)@T, q(X).
          |           ^^^^^^
          = help: `p(X)@T in [5]` says how far away the rest may hold; or write `@T` there, too
        """,
    ),
    (
        "h(X)@T :- p(X)@T, not q(X)@T in [3].",
        """
        error[unbounded-time]: nothing bounds `T`: it may lie anywhere
         --> <program>:2:19
          |
        2 | h(X)@T :- p(X)@T, not q(X)@T in [3].
          |                   ^^^^^^^^^^^^^^^^^
          = help: leave this window away, or give an atom at `T` that is not negated one too
        """,
    ),
    (
        "h(X) :- p(X)@T in [2], q(X)@T-3 in [2].",
        """
        error[never-fires]: the windows of `T` have no time in common, so the rule never fires
         --> <program>:2:9
          |
        2 | h(X) :- p(X)@T in [2], q(X)@T-3 in [2].
          |         ^^^^^^^^^^^^^
          = help: at t, the window of `p@T+k in [n]` holds T from t-k-n to t-k: widen one, or change a `k`
        """,
    ),
    (
        "h(X) :- diamondminus[0,3] p(X)@T.",
        """
        error[not-supported]: `@T` stands below an operator, where its time is no longer the rule's
         --> <program>:2:32
          |
        2 | h(X) :- diamondminus[0,3] p(X)@T.
          |                                ^
          = help: write it beside the other literals, as `p(X)@T` or `p(X)@T in [5]`, or give this part a rule of its own
        """,
    ),
    (
        "h(X)@T :- p(X, T).",
        """
        error[infinite-delay]: `h(X)@T :- p(X, T).` derives what holds at any time in the past, so a stream never decides it
         --> <program>:2:1
          |
        2 | h(X)@T :- p(X, T).
          | ^^^^^^^^^^^^^^^^^
          = help: tie the head's time to one in a window: for `p(X)@T in [5]` write `@T`, or add `S >= T` for `@S`
        """,
    ),
]


@pytest.mark.parametrize(("text", "expected"), MESSAGES, ids=[text for text, _ in MESSAGES])
def test_message(text: str, expected: str) -> None:
    """The message names the time, points at its atom, and says what to write."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(f"timeline integer.\n{text}")
    error = caught.value
    assert render_diagnostics(error.diagnostics, error.name, error.text).strip() == dedent(expected).strip()

"""Tuple windows and stepped windows in normal form."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.form import form_of
from tidelog.plans.normal.normalise import normalise

CASES = {
    "visits are joined before what has left is taken away": (
        "q(X,Z) :- a(X,Y), sometime b(Y,Z) in [#3].",
        """
        'q.1'(Y, Z, Visit) :- entered b(Y, Z) in [#3].
        'q.2'(Visit) :- left b(Y, Z) in [#3].
        'q.3'(X, Z, Visit) :- a(X, Y), 'q.1'(Y, Z, Visit).
        'q.4'(X, Z, Visit) :- 'q.3'(X, Z, Visit), not 'q.2'(Visit).
        q(X, Z) :- 'q.4'(X, Z, Visit).
        """,
    ),
    "what is negated has a predicate": (
        "q(X) :- a(X), not b(X) in [#3].",
        """
        'q.2'(X, Visit) :- entered b(X) in [#3].
        'q.3'(Visit) :- left b(X) in [#3].
        'q.4'(X, Visit) :- 'q.2'(X, Visit), not 'q.3'(Visit).
        'q.1'(X) :- 'q.4'(X, Visit).
        q(X) :- a(X), not 'q.1'(X).
        """,
    ),
    "windows that are the same are shared": (
        "q(X) :- a(X) in [#3], b(X). p(Y) :- a(Y) in [#3], c(Y).",
        """
        'q.1'(X, Visit) :- entered a(X) in [#3].
        'q.2'(Visit) :- left a(X) in [#3].
        'q.3'(X, Visit) :- 'q.1'(X, Visit), b(X).
        'q.4'(X, Visit) :- 'q.3'(X, Visit), not 'q.2'(Visit).
        q(X) :- 'q.4'(X, Visit).
        'p.3'(Y, Visit) :- 'q.1'(Y, Visit), c(Y).
        'p.4'(Y, Visit) :- 'p.3'(Y, Visit), not 'q.2'(Visit).
        p(Y) :- 'p.4'(Y, Visit).
        """,
    ),
    "always is told as times": (
        "q(X) :- always a(X,_) in [#3 of a, b].",
        """
        'q.1'(X, Any) :- always a(X, Any) in [#3 of a, b].
        q(X) :- 'q.1'(X, _).
        """,
    ),
    "a time is a column": (
        "q(X,T) :- a(X)@T+2 in [#3].",
        """
        'q.1'(X, T_, Visit) :- entered a(X)@T_ in [#3].
        'q.2'(Visit) :- left a(X)@T_ in [#3].
        'q.3'(X, Visit, T) :- 'q.1'(X, T_, Visit), T = T_ - 2.
        'q.4'(X, Visit, T) :- 'q.3'(X, Visit, T), not 'q.2'(Visit).
        q(X, T) :- 'q.4'(X, Visit, T).
        """,
    ),
    "a step looks at the last multiple": (
        "q(X) :- always a(X) in [9 step 5], b(X) in [4 step 1].",
        """
        'q.1'(X) :- always a(X) in [9].
        'q.2'(X) :- sometime 'q.1'(X) in [0 step 5].
        'q.3'(X) :- diamondminus[0,4] b(X).
        q(X) :- 'q.2'(X), 'q.3'(X).
        """,
    ),
    "negations leave a step": (
        "q(X) :- a(X), sometime (b(X), not c(X)) in [0 step 5].",
        """
        'q.1'(X) :- b(X), not c(X).
        'q.2'(X) :- sometime 'q.1'(X) in [0 step 5].
        q(X) :- a(X), 'q.2'(X).
        """,
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_normal_form(text: str, expected: str) -> None:
    """Each window becomes rules that one operator computes each."""
    normal = normalise(parse(f"timeline integer. {text}"))
    assert None not in map(form_of, normal.rules)
    assert "\n".join(map(format_statement, normal.rules)) == dedent(expected).strip()


def test_names_do_not_clash() -> None:
    """Variables of the rule keep their meaning, whatever they are called."""
    normal = normalise(parse("timeline integer. q(Visit) :- a(Visit) in [#3], b(Visit)."))
    assert format_statement(normal.rules[0]) == "'q.1'(Visit, Visit2) :- entered a(Visit) in [#3]."

"""All independent errors of a program in one run."""

from __future__ import annotations

import pytest

import tidelog


def test_an_unreadable_statement_hides_no_other_mistake() -> None:
    """What reads is still checked where a neighbour cannot be read."""
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile("alarm(X, Y) :- hot(X), not ok(Y).\nfoo(X :- bar(X).\np(X) :- q(X), not r(Z).")
    assert [item.code for item in caught.value.diagnostics] == ["unsafe-variable", "syntax", "unsafe-variable"]

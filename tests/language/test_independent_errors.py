"""All independent errors of a program in one run."""

from __future__ import annotations

import pytest

import tidelog


def test_an_unreadable_statement_hides_no_other_mistake() -> None:
    """What reads is still checked where a neighbour cannot be read."""
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile("alarm(X, Y) :- hot(X), not ok(Y).\nfoo(X :- bar(X).\np(X) :- q(X), not r(Z).")
    assert [item.code for item in caught.value.diagnostics] == ["unsafe-variable", "syntax", "unsafe-variable"]


def codes(text: str) -> list[str]:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile(text)
    return [item.code for item in caught.value.diagnostics]


def test_intervals_are_checked_beside_what_cannot_be_read() -> None:
    """Intervals, arities and windows are told beside a syntax error, too."""
    text = "timeline integer. p :- q and r. s :- boxminus[0,1/2] t. u :- boxminus[0,-1] t(a). v :- t in [#0]."
    assert codes(text) == ["syntax", "not-whole", "negative-interval", "arity-mismatch", "bad-window"]


@pytest.mark.parametrize("timeline", ["timeline discrete.", "timline integer."])
def test_intervals_wait_for_a_timeline_that_reads(timeline: str) -> None:
    """What depends on the timeline is not told while it cannot be read."""
    assert codes(f"{timeline} s :- t in [#2], boxminus[0,5min] t.") == ["syntax"]


def test_what_may_be_declared_elsewhere_is_not_missed() -> None:
    """A predicate that an unreadable statement may declare is not called unknown."""
    assert codes("input t(a: string). input u. p :- t.") == ["unknown-type"]

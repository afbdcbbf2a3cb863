"""`for 10 min` and `within 10 min`: what they stand for, how far they reach back, and where they are refused."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.explaining.text import explain
from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import parse


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("p :- q for 10 min.", "p :- boxminus[0,10min] q."),
        ("p :- q within 10 min.", "p :- diamondminus[0,10min] q."),
        ("p :- q FOR 0.", "p :- boxminus[0,0] q."),
        ("p :- q for inf.", "p :- boxminus[0,inf) q."),
        ("p :- q within 1/2.", "p :- diamondminus[0,1/2] q."),
        ("p for 10 min :- q.", "p :- q.".replace("p :-", "boxplus[0,10min) p :-")),
        ("boxplus[1,2] p for 3 :- q.", "boxplus[0,3) boxplus[1,2] p :- q."),
        ("p :- not q for 5.", "p :- not boxminus[0,5] q."),
        ("p :- (not q) for 5.", "p :- boxminus[0,5] not q."),
        ("p :- diamondminus[1,2] q for 5.", "p :- boxminus[0,5] diamondminus[1,2] q."),
        ("p :- q for 5 within 9.", "p :- diamondminus[0,9] boxminus[0,5] q."),
        ("p :- q within 5 since r for 2.", "p :- (diamondminus[0,5] q) since (boxminus[0,2] r)."),
        ("p :- (q, r) for 5.", "p :- boxminus[0,5] (q, r)."),
        ("p :- sometime q for 5 in [9].", "p :- sometime (boxminus[0,5] q) in [9]."),
        ("p :- q in [5] for 9.", "p :- boxminus[0,9] (q in [5])."),
        ("for(X) :- within(X), for(X) for 5.", "for(X) :- within(X), boxminus[0,5] for(X)."),
    ],
)
def test_words_stand_for_operators(written: str, meant: str) -> None:
    """A word takes in everything back to the last `not`, as a window does; a head lasts from now on."""
    assert parse(written) == parse(meant)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p within 5 :- q.", "`within` looks back, and a head tells what holds"),
        ("p :- q(V), V > 80 for 5 min.", "`for` stands behind what holds over time, and a comparison always holds or never"),
        ("p :- q for -5.", "`for` is followed by how long, and no time is shorter than 0"),
        ("p :- q for [0,5].", "expected"),
        ("p :- q for.", "expected"),
    ],
)
def test_words_are_refused_where_they_mean_nothing(text: str, message: str) -> None:
    """With the place, and what helps."""
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert message in caught.value.diagnostics[0].message


def test_a_comparison_that_lasts_is_a_rule_of_its_own() -> None:
    """The help has the time that was written."""
    with pytest.raises(ProgramError) as caught:
        parse("p(S) :- q(S, V), V > 80 for 5min.")
    help = "write a rule for what has to last, such as `high(X) :- value(X, V), V > 80`, and then `high(X) for 5 min`"
    assert caught.value.diagnostics[0].help == help


def test_the_formatter_keeps_what_was_written() -> None:
    """Words stay words, and operators stay operators."""
    text = "p(X)  FOR 30s :- q(X) for   10min,boxminus[0,5] r(X), not s(X) Within 5."
    assert format_text(text) == "p(X) for 30 s :- q(X) for 10 min, boxminus[0,5] r(X), not s(X) within 5.\n"


def test_explain_shows_both() -> None:
    """What was written, and the operators of the normal form."""
    plan = tidelog.compile("timeline integer, unit 1 s.\ninput q(x).\np(X) :- q(X) for 2 min, q(X) within 5.\noutput p.")
    shown = explain(plan)
    assert "'p.1'(X) :- boxminus[0,120] q(X)." in shown
    assert "p(X) :- q(X) for 2 min, q(X) within 5." in shown


def test_words_mean_that_over_a_stream() -> None:
    """`for` holds from the last of its time points on, and a head holds as long as it says."""
    text = "timeline integer.\ninput q.\np :- q for 2.\nr :- q within 2.\ns for 2 :- q.\noutput p, r, s."
    session = tidelog.Session(tidelog.compile(text), emit="final")
    session.push("q", interval="[1,4]")
    session.finish()
    assert sorted(map(str, session.pull())) == ["p@[3,4]", "r@[1,6]", "s@[1,5]"]

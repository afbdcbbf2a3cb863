"""Strata, recursion, pruned rules, and what grows without end."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.plans.analysis.horizons.growth import growth_hints
from tidelog.plans.analysis.recursion.recursion import recursions_of
from tidelog.plans.analysis.recursion.strata import strata_of
from tidelog.plans.explaining.reports.pruned import pruned_rules
from tidelog.plans.language.parser import parse


def strata(text: str) -> list[set[str]]:
    return [set(names) for names in strata_of(tidelog.compile(text).normal)]


def test_one_stratum_without_negation() -> None:
    """Without negation there is one stratum, recursive or not."""
    assert strata("p(X) :- q(X). p(X) :- diamondminus[0,1] r(X), p(X).") == [{"p", "q", "r"}]


def test_strata_follow_negation() -> None:
    """A predicate is above what it negates, and above what reads it, but not higher than it must be."""
    text = "a(X) :- q(X), not b(X). b(X) :- q(X), not c(X). c(X) :- r(X). d(X) :- a(X), c(X). e(X) :- c(X)."
    assert strata(text) == [{"q", "r", "c", "e"}, {"b"}, {"a", "d"}]


def test_strata_through_fresh_predicates() -> None:
    """Negation of a formula counts like that of the predicates in it."""
    assert strata("a(X) :- q(X), not boxminus[0,2] (r(X), not s(X)).") == [{"q", "r", "s"}, {"a"}]


def test_no_recursion() -> None:
    """A program without circles has none."""
    assert recursions_of(tidelog.compile("p(X) :- q(X). r(X) :- p(X).")) == ()


def test_recursion_through_time() -> None:
    """The network's recursion moves in time: what is ahead waits at one place."""
    text = "Flag(X,Z) :- Monit(X,Z), Signal(Z). boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), Connect(X,Y)."
    (found,) = recursions_of(tidelog.compile(text))
    assert set(found.predicates) == {"Flag", "Monit"}
    assert found.through_time
    assert len(found.held) == 1
    assert len(found.rules) == 2


def test_recursion_at_one_time() -> None:
    """Plain Datalog recursion holds nothing back; two circles are two recursions."""
    text = "t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z). u(X) :- t(X,X). u(X) :- u(Y), f(X,Y)."
    found = recursions_of(tidelog.compile(text))
    assert sorted(item.predicates for item in found) == [("t",), ("u",)]
    assert [(item.through_time, item.held) for item in found] == [(False, ())] * 2


def test_pruned_rules() -> None:
    """A rule that nothing needs, that never holds, or that says what another says, is named with the reason."""
    text = "output p. p(X) :- q(X). p(Y) :- q(Y). r(X) :- q(X). p(X) :- q(X), bottom. bottom :- s(X). s(X) :- q(X)."
    found = {item.rule: item.why for item in pruned_rules(parse(text))}
    assert found == {
        "p(X) :- q(X), bottom.": "its body never holds",
        "r(X) :- q(X).": "no output and no constraint needs it",
        "p(Y) :- q(Y).": "another rule says the same",
    }


def test_nothing_pruned() -> None:
    """Without outputs declared, each derived predicate is one, and each rule stays."""
    assert pruned_rules(parse("p(X) :- q(X). r(X) :- boxminus[0,1] diamondminus[1,2] p(X), not q(X).")) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("p(X) :- diamondminus[0,inf) q(X).", "`diamondminus[0,inf)` keeps each of its rows for ever"),
        ("p(X) :- r(X), not diamondminus(3,inf) q(X).", "`diamondminus(3,inf)` keeps each of its rows for ever"),
        (
            "p(X) :- q(X). p(W) :- diamondminus[1,1] p(X), W = X + 1.",
            "each round of the recursion may compute new rows of `p`",
        ),
    ],
)
def test_growth(text: str, why: str) -> None:
    """Unbounded diamonds over streams and recursion that computes are told, with the rule as written."""
    (hint,) = growth_hints(tidelog.compile(text))
    assert hint.why == why
    assert hint.rule in text


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- diamondminus[0,1000000] q(X).",
        "input r(x). p(X) :- r(X), diamondminus[0,inf) q(X). q(a)@3.",
        "p(W) :- q(X), W = X + 1.",
        "p(X) :- q(X). p(X) :- p(Y), q(X), Y = X + 1.",
    ],
)
def test_no_growth(text: str) -> None:
    """Bounded operators, facts that no stream feeds, and values that are only compared, are no danger."""
    assert growth_hints(tidelog.compile(text)) == ()

"""The report of `check -v`: as text and as fields."""

from __future__ import annotations

import json

import tidelog
from tidelog.plans.analysis.report import analyse, analysis_fields, format_analysis

PAST = "timeline integer. output p. p(X) :- boxminus[0,2] diamondminus[0,5] q(X)."


def test_text_of_a_simple_program() -> None:
    """Each finding stands on a line of its own, with its reason."""
    shown = format_analysis(analyse(tidelog.compile("input q(x)." + PAST)), objects=20).splitlines()
    assert shown == [
        "forward-propagating: yes (rules read the past and derive the future)",
        "delay:",
        "  p: 0 (waits for nothing in the future)",
        "window: 5 (the largest endpoint, in 'p.1'(X) :- diamondminus[0,5] q(X).)",
        "granularity: 2 (the shortest interval, Algorithm 6, in p(X) :- boxminus[0,2] 'p.1'(X).)",
        "#-facts:",
        "  q: gaps of up to 6 are covered",
        "retention:",
        "  q: 0 (until the watermark has passed)",
        "  'p.1': 0 (until the watermark has passed)",
        "memory:",
        # 3 predicates, 2 rules: (4 · (6/1 + 1)² + 1) · 3, and 9 · (2 · (5/2 + 2) · 2 · 6/2)² · 3
        "  Theorem 12: at most 591 · n facts for n constants, 11820 for n = 20 "
        "(timestamps are multiples of 1, read in steps of 1)",
        "  Theorem 15: at most 78732 · n facts for n constants, 1574640 for n = 20 "
        "(whatever the timestamps are, read in steps of 1)",
        "strata:",
        "  1: q, p",
        "recursion: none",
        "pruned rules: none",
        "grows without end: none",
        "partition keys:",
        "  q(K), p(K)",
    ]


def test_retention_in_words() -> None:
    """Retention may lie behind the watermark, at it, or ahead of it."""
    text = "input q(x). input r(x). output p, s. p(X) :- q(X), diamondplus[0,5] r(X). s(X) :- diamondminus[3,4] q(X)."
    shown = format_analysis(analyse(tidelog.compile(text)))
    assert "  q: 5 behind the watermark\n" in shown
    assert "  r: 0 (until the watermark has passed)\n" in shown
    assert "  s: -3 (gone before the watermark is there)\n" in shown


def test_obstacles_stand_below_their_rule() -> None:
    """A rule that is not forward-propagating is named once, all that is not below it."""
    shown = format_analysis(analyse(tidelog.compile("p(X) :- q(X), not r(X), diamondplus[0,1] s(X)."))).splitlines()
    assert shown[:4] == [
        "forward-propagating: no",
        "  p(X) :- q(X), not r(X), diamondplus[0,1] s(X).",
        "    `not r(X)` negates",
        "    `diamondplus[0,1] s(X)` looks ahead",
    ]


def test_predicates_without_arguments() -> None:
    """Without arguments there is no power of n, and no key."""
    shown = format_analysis(analyse(tidelog.compile("p :- q.")), objects=3)
    assert "at most 34 facts for n constants, 34 for n = 3" in shown
    assert "none, because of p :- q." in shown


def test_program_without_rules() -> None:
    """A program that only declares is analysed too."""
    analysis = analyse(tidelog.compile("input q(x). output q."))
    assert analysis.is_forward_propagating
    assert "does not apply, since the program has no rules" in format_analysis(analysis)


def test_fields_are_json() -> None:
    """Fields hold exact times as text, positions from 1, and null where there is no bound."""
    plan = tidelog.compile(
        "input q(x,y). input r(x). output p. p(X) :- q(Y,X), not diamondplus[0,5/2] r(X). "
        "bottom :- p(X), q(X,X). t(X) :- q(X,_)."
    )
    fields = json.loads(json.dumps(analysis_fields(analyse(plan), objects=10)))
    assert fields["forward_propagating"] is False
    assert fields["delay"] == {"p": {"delay": "5/2", "why": "`diamondplus[0,5/2]` looks 5/2 ahead"}}
    assert fields["window"]["value"] == "5/2"
    assert fields["granularity"] == {"value": "5/2", "rule": "'p.1'(X) :- diamondplus[0,5/2] r(X).", "algorithm": 6}
    assert fields["sharp_facts"] == {"r": "5/2"}
    assert fields["retention"]["p"] == "0"
    assert fields["memory"][0]["factor"] is None
    assert fields["memory"][0]["bound"] is None
    assert fields["strata"] == [["q", "r"], ["p"]]
    assert fields["recursion"] == []
    assert fields["pruned"] == [{"rule": "t(X) :- q(X, _).", "why": "no output and no constraint needs it"}]
    assert fields["growth"] == []
    assert fields["partitions"][0]["keys"] == [{"p": 1, "q": 2, "r": 1}]


def test_fields_of_bounds() -> None:
    """Factors are exact; a bound is there once the number of constants is."""
    analysis = analyse(tidelog.compile(PAST))
    first = analysis_fields(analysis)["memory"]
    assert isinstance(first, list)
    assert (first[0]["factor"], first[0]["bound"], first[0]["objects"]) == ("591", None, None)
    second = analysis_fields(analysis, objects=10**9)["memory"]
    assert isinstance(second, list)
    assert (second[0]["bound"], second[0]["exponent"]) == ("5.91e11", 1)

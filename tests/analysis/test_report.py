"""The report of `check -v`: as text and as fields."""

from __future__ import annotations

import json

import tidelog
from tidelog.plans.explaining.reports.report import analyse, analysis_fields, format_analysis

RULE = "p(X) :- boxminus[0,2] diamondminus[0,5] q(X)."
PAST = f"timeline integer. output p. {RULE}"


def test_a_rule_that_an_assignment_stands_for_is_not_pruned() -> None:
    """Nobody has written it, and the rule that tells what holds reads it. It was listed as needed by nothing."""
    plan = tidelog.compile(
        "timeline integer. input door(room, state). output leaf. leaf(R) := S :- door(R, S). unused(R) :- door(R, _)."
    )
    assert [each["rule"] for each in analysis_fields(analyse(plan), objects=10)["pruned"]] == ["unused(R) :- door(R, _)."]


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
        f"  q: 7 (`diamondminus[0,5]` below `boxminus[0,2]` in {RULE})",
        "  p: 0 (matters at its own time alone)",
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
        "stages:",
        "  1: q(K) -> p(K)",
    ]


def test_retention_in_words() -> None:
    """Each predicate's retention is told with what is the cause."""
    text = "input q(x). input r(x). output p, s. p(X) :- q(X), diamondplus[0,5] r(X). s(X) :- diamondminus[3,4] q(X)."
    shown = format_analysis(analyse(tidelog.compile(text)))
    assert "  q: 5 (waits for the rest of p(X) :- q(X), diamondplus[0,5] r(X).)\n" in shown
    assert "  r: 0 (matters at its own time alone)\n" in shown
    assert "  p: 5 (until it is final)\n" in shown


def test_memory_without_a_theorem() -> None:
    """Where neither theorem applies, the retention bounds the ranges of each row, or it is said that nothing does."""
    text = "timeline integer, unit 1 s. p(X) :- q(X), not diamondminus[1,5min] q(X). r(X) :- diamondminus s(X)."
    shown = format_analysis(analyse(tidelog.compile(text))).splitlines()
    at = shown.index("memory:")
    assert shown[at + 4 : at + 9] == [
        "    s: no bound in time: 1 range, or as many as there are gaps between them",
        "    r: what holds at the watermark, 1 range",
        "    q: at most 300 / spacing + 1 ranges",
        "    p: what holds at the watermark, 1 range",
        "  no bound but the number of different rows: see `grows without end`",
    ]


def test_growth_names_the_operator_as_written() -> None:
    """What grows is told with the operator and the rule of the program's text."""
    shown = format_analysis(analyse(tidelog.compile("p(X) :- r(X), SOMETIME(-inf,-2] q(X).")))
    assert "  `SOMETIME(-inf,-2]` keeps each of its rows for ever" in shown


def test_negation_waits_for_the_watermark() -> None:
    """A delay of 0 under a negation is no answer at once."""
    shown = format_analysis(analyse(tidelog.compile("p(X) :- q(X), not r(X). s(X) :- q(X).")))
    assert "  p: 0 (behind the watermark, for which `not` waits)\n" in shown
    assert "  s: 0 (waits for nothing in the future)\n" in shown


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
    assert fields["retention"]["p"] == {"keeps": "5/2", "why": "until it is final"}
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


def test_stages_as_text_and_as_fields() -> None:
    """What crosses between stages, what each session holds, and what prevents a key, are told in words and as fields."""
    text = "input q(x,y). e(1,2). s(X) :- q(X,Y), e(X,Y). p(X,Y) :- s(X), q(Y,Z), Z > X. boxminus[0,3] s(X) :- q(X,1)."
    analysis = analyse(tidelog.compile(text))
    shown = format_analysis(analysis).splitlines()
    at = shown.index("stages:")
    assert shown[at + 1 :] == [
        "  1: q(K, _) -> s(K)",
        "    each session has e",
        "  2: q(_, _), s(_) -> p(_, _)",
        "    one session, because of p(X, Y) :- s(X), q(Y, Z), Z > X.",
        "    s comes from stage 1, to another key, up to 3 behind the watermark",
    ]
    fields = json.loads(json.dumps(analysis_fields(analysis)))["staged"]
    assert fields["problems"] == []
    first, second = fields["stages"]
    assert (first["key"], first["outputs"], first["told"]) == ({"q": 1, "s": 1}, {"s": "3"}, ["s"])
    crossing = {"name": "s", "predicate": "s", "stage": 1, "key": None, "rekeyed": True, "delay": "3"}
    assert second["inputs"][1] == crossing
    assert second["program"][-1] == "p(X, Y) :- s(X), q(Y, Z), Z > X."


def test_growth_names_since_where_the_rule_has_it() -> None:
    """What the passes make of `since` is not told: it is no operator of the user's."""
    shown = format_analysis(analyse(tidelog.compile("a(S) :- not off(S) since on(S).")))
    assert "  `since` without an end keeps each row until its left side ends" in shown
    assert "`diamondminus[1,inf)` keeps each of its rows" not in shown


PIECES = """timeline integer.
input on(x). input off(x). input e(x).
m(X) :- not off(X) since on(X).
s(X, T) :- m(X)@T in [5].
r(X) :- m(X), e(X).
output s. output r.
"""


def test_it_says_who_is_told_in_pieces() -> None:
    """A time as a value takes what goes on piece by piece; a join takes it as it begins and ends."""
    analysis = analyse(tidelog.compile(PIECES))
    assert [(item.what, item.rules) for item in analysis.pieces] == [("m", ("s(X, T) :- m(X)@T in [5].",))]
    assert "told in pieces:\n  m: to s(X, T) :- m(X)@T in [5].\n" in format_analysis(analysis)
    assert analysis_fields(analysis)["told_in_pieces"] == [{"what": "m", "rules": ["s(X, T) :- m(X)@T in [5]."]}]


def test_nothing_is_said_where_nothing_is_told_in_pieces() -> None:
    analysis = analyse(tidelog.compile(PIECES.replace("s(X, T) :- m(X)@T in [5].", "s(X, 1) :- m(X).")))
    assert analysis.pieces == ()
    assert "in pieces" not in format_analysis(analysis)

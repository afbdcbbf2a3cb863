"""Formatting: one way to write a program, whose meaning stays, with its comments and blank lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.lars_programs import lars_programs
from oracle.programs import EVERYTHING, programs
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.formatting.layout import WIDTH
from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*ROOT.glob("examples/*/*.tide"), *ROOT.glob("tests/fixtures/plans/*.tide")])


def comments(text: str) -> list[str]:
    """The comments of a program that has no `%` in its texts."""
    return [line[line.index("%") :].rstrip() for line in text.split("\n") if "%" in line]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_mean_the_same(path: Path) -> None:
    """Formatted, each program has the same plan, the same comments, and does not change any more."""
    text = path.read_text("utf-8")
    shown = format_text(text, path.name)
    assert format_text(shown) == shown
    assert parse(shown) == parse(text)
    assert comments(shown) == comments(text)
    before = tidelog.compile(text, folder=path.parent)
    after = tidelog.compile(shown, folder=path.parent)
    assert (after.steps, after.loops, after.leads, after.facts) == (before.steps, before.loops, before.leads, before.facts)


def test_the_examples_are_formatted() -> None:
    """The examples are written as `fmt` writes them, but for the one that is in MeTeoR's syntax on purpose."""
    written_otherwise = [
        path.stem
        for path in sorted(ROOT.glob("examples/*/*.tide"))
        if format_text(path.read_text("utf-8")) != path.read_text("utf-8")
    ]
    assert written_otherwise == ["shortstop"]


BREAKS = st.sampled_from(["", " ", "   ", "\n", "\n\n  ", " % why\n", "\n\t% two\n% lines\n"])


@st.composite
def untidy(draw: st.DrawFn, program: str) -> str:
    """The same program with other spaces, line ends, cases of keywords and full stops, and with comments."""
    lines = []
    for line in program.splitlines():
        tidy = re.split(r"(, | :- )", line.removesuffix("."))
        pieces = [piece.rstrip(" ") + draw(BREAKS) if at % 2 else piece for at, piece in enumerate(tidy)]
        stop = draw(st.sampled_from([".", " .", "", ". % last"]))
        lines.append("".join(pieces) + stop + draw(st.sampled_from(["\n", "\n\n", "\n\n\n\n", "\n% own\n"])))
    text = "".join(lines)
    keyword = re.compile(r"\b(?:boxminus|diamondplus|since|until|not|timeline|in|mod)\b")
    return keyword.sub(lambda match: match[0].upper(), text) if draw(st.booleans()) else text


@drawn(100)
@given(st.data())
def test_drawn_programs_have_one_form(data: st.DataObject) -> None:
    """However a program is written, it has one form, which means the same; only comments make a difference."""
    program = data.draw(programs(data.draw(st.sampled_from(["rational", "integer"])), EVERYTHING) | lars_programs())
    text = data.draw(untidy(format_program(program)))
    shown = format_text(text)
    assert parse(shown) == parse(text) == program
    assert format_text(shown) == shown
    assert comments(shown) == comments(text)
    without = re.sub(r"%.*", "", text)
    assert [line for line in format_text(without).splitlines() if line] == format_text(format_program(program)).splitlines()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("\n\n % only\n\n", "% only\n"),
        ("\ufeffp(a)@ 3\r\n", "p(a)@3.\n"),
        ("p(X):-q(X),X>-3", "p(X) :- q(X), X > -3.\n"),
        ("p:-q(X), X-1>=3*( X- -(2) ), s-1=X", "p :- q(X), X - 1 >= 3 * (X - -(2)), s-1 = X.\n"),
        ("p@T + 1:-q(X) @T in[3], r@T - 2", "p@T+1 :- q(X)@T in [3], r@T-2.\n"),
        ("p:-boxminus( 0 ,5 s](a,b),c since [ 1 , 2 ] ( d , e )", "p :- boxminus(0,5s] (a, b), c since[1,2] (d, e).\n"),
        ("p:-q in[# 5 of q,r],q in[10 min step 5min]", "p :- q in [#5 of q, r], q in [10 min step 5 min].\n"),
        ("BOTTOM:-Top, p(Top)", "bottom :- top, p(Top).\n"),
        ("p :- MIN(X, 2) < 3, q (X)", "p :- min(X, 2) < 3, q(X).\n"),
        ("Timeline Integer,Unit 5min,Round Down", "timeline integer, unit 5 min, round down.\n"),
        ("INPUT t( a:Text,b )  delay 2s", "input t(a: text, b) delay 2 s.\n"),
        ('Background g FROM "a  b.csv"', 'background g from "a  b.csv".\n'),
        ("ask p( X )@T", "ask p(X)@T.\n"),
        ("p(a)@[ 1 / 3 ,inf).p( - 3 )@[2024-07-01T10:00Z,+ 5]", "p(a)@[1/3,inf).\np(-3)@[2024-07-01T10:00Z,+5].\n"),
        ("'odd  name'", "'odd  name'.\n"),
        ("a. % one\nbcd. % two\n\ne. % three", "a.    % one\nbcd.  % two\n\ne.  % three\n"),
        ("p(X) % head\n :- q(X) % first\n , r(X)", "p(X) :-    % head\n    q(X),  % first\n    r(X).\n"),
        ("p(X) :- q(X),\n\n  % own\n\n  r(X).", "p(X) :-\n    q(X),\n    % own\n    r(X).\n"),
        ("p :- (q,  % in\n r).", "p :-\n    (q,  % in\n        r).\n"),
        ("p. q. % of q", "p.\nq.  % of q\n"),
    ],
)
def test_each_token_has_its_place(text: str, shown: str) -> None:
    """Spaces, units, signs, brackets, comments: each stands in one way."""
    assert format_text(text) == shown
    assert format_text(shown) == shown
    assert parse(shown) == parse(text)


def test_a_long_rule_has_a_line_for_each_literal() -> None:
    """Brackets and intervals are not torn apart, and nothing but one literal alone is longer than a line."""
    literal = f"boxminus[0,5] (aaaa(X), {'b' * 60}(X))"
    shown = format_text(f"p(X) :- {literal}, {literal}, q(X)")
    assert shown == f"p(X) :-\n    {literal},\n    {literal},\n    q(X).\n"
    names = ", ".join(["a" * 30] * 4)
    assert format_text(f"output {names}").splitlines() == [
        f"output {'a' * 30},",
        *[f"    {'a' * 30},"] * 2,
        f"    {'a' * 30}.",
    ]
    assert len(format_text(f"p :- q, {'r' * (WIDTH - 9)}").splitlines()) == 1
    assert len(format_text(f"p :- q, {'r' * (WIDTH - 8)}").splitlines()) == 3


def test_what_cannot_be_read_is_not_formatted() -> None:
    """Each statement that cannot be read has its diagnostic."""
    with pytest.raises(ProgramError) as caught:
        format_text("p(X :- q.\na. b(. c.")
    assert len(caught.value.diagnostics) == 2

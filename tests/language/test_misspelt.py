"""Keywords that are misspelt are told by their names, with the nearest that could stand there."""

from __future__ import annotations

import pytest

import tidelog
from tidelog import ProgramError


def first_error(text: str) -> tuple[str, str, str]:
    """What a program's first error says, what it points at, and its help."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(text)
    first = caught.value.diagnostics[0]
    return first.message, text[first.span.start : first.span.end], first.help


@pytest.mark.parametrize(
    ("text", "word", "near"),
    [
        ("a(X) :- boxmins[0,2] p(X).", "boxmins", "boxminus"),
        ("a(X) :- Boxmins[0,2]p(X).", "Boxmins", "boxminus"),
        ("a(X) :- boxmins(0,2] p(X).", "boxmins", "boxminus"),
        ("a(X) :- q(X), boxmins(0,2) p(X).", "boxmins", "boxminus"),
        ("a(X) :- diamondmins p(X).", "diamondmins", "diamondminus"),
        ("boxplsu[0,1] a(X) :- b(X).", "boxplsu", "boxplus"),
        ("a(X) :- (q(X), alwyas r(X)).", "alwyas", "always"),
        ("a(X) :- p(X) sicne[0,2] q(X).", "sicne", "since"),
        ("a(X) :- q(X) unitl r(X).", "unitl", "until"),
        ("a :- b, nto p.", "nto", "not"),
        ("a :- b, notp p(X).", "notp", "not"),
        ("a(X) :- q(X), X modd 2 = 1.", "modd", "mod"),
        ("a :- b(X) in [60 stpe 5].", "stpe", "step"),
        ("otput alarm.", "otput", "output"),
        ("inptu temp(sensor: text).", "inptu", "input"),
        ("timelime integer.", "timelime", "timeline"),
        ("timeline intger.", "intger", "integer"),
        ("timeline integer, unti 1 s.", "unti", "unit"),
        ("timeline rational, resoltion 1 ms.", "resoltion", "resolution"),
        ('bakground p from "x.csv".', "bakground", "background"),
        ('background p form "x.csv".', "form", "from"),
        ("input temp(a) dealy 2.", "dealy", "delay"),
        ("aks malf(X)@T.", "aks", "ask"),
    ],
)
def test_the_nearest_keyword_is_named(text: str, word: str, near: str) -> None:
    """The caret stands below the word, not where the parser stopped."""
    assert first_error(text) == (f"unknown keyword `{word}`", word, f"did you mean `{near}`?")


@pytest.mark.parametrize(
    "text",
    [
        "a(X) :- hot(X",
        "inputs(X, <).",
        "a :- min[0,2] b.",
        "knots(a) fits(b)",
        "a(X) :- q(X), outputs(X, [).",
        "not [0,2] a.",
    ],
)
def test_other_words_are_left_alone(text: str) -> None:
    """A word that looks like a keyword, but cannot be meant as one, is not what the error is about."""
    assert not first_error(text)[0].startswith("unknown keyword")


def test_a_negation_without_a_blank() -> None:
    """`notok(X)` is a predicate of its own: where it is not known, but `ok` is, the blank is missing."""
    message, _, help = first_error("input p(a). input ok(b). a(X) :- p(X), notok(X).")
    assert message == "predicate `notok` is neither an input, nor derived, nor a fact"
    assert help == "did you mean `not ok`?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(X) :- q(X, .\n", "rules.tide:1:13: syntax: "),
        (
            "\n  p(X, Y) :- q(X).\n",
            "rules.tide:2:8: unsafe-variable: variable `Y` in the head",
        ),
        ("a(X :- b.\np(X, Y) :- q(X).\n", "rules.tide:1:4: syntax: expected `)`, found `:-` (and 1 more error)"),
        ("a(X :- b.\na(X :- b.\na(X :- b.\n", "rules.tide:1:4: syntax: expected `)`, found `:-` (and 2 more errors)"),
    ],
)
def test_the_message_of_a_program_error_begins_with_its_place(text: str, message: str) -> None:
    """The first error's, as `file:line:column`, and how many more there are."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(text, name="rules.tide")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)

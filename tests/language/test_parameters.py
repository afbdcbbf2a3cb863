"""`parameter LIMIT = 80.` names a constant; a run may give it another value."""

from __future__ import annotations

import re

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program, format_statement
from tidelog.plans.tree.syntax import Parameter, Value

PROGRAM = """parameter LIMIT = 80.
parameter MODE = auto.
hot(R) :- temp(R, V), V >= LIMIT + 1, mode(R, MODE).
many(R) :- count() over hot(R) in [5] by R >= LIMIT."""


@pytest.mark.parametrize(
    ("given", "hot", "many"),
    [
        ({}, "hot(R) :- temp(R, V), V >= 80 + 1, mode(R, auto).", "Count >= 80."),
        ({"LIMIT": 70.5}, "hot(R) :- temp(R, V), V >= 70.5 + 1, mode(R, auto).", "Count >= 70.5."),
        ({"MODE": "off", "LIMIT": -2}, "hot(R) :- temp(R, V), V >= -2 + 1, mode(R, off).", "Count >= -2."),
    ],
)
def test_rules_have_the_constant_in_its_place(given: dict[str, Value], hot: str, many: str) -> None:
    """In comparisons, in arithmetic, as an argument, as an aggregate's limit."""
    statements = list(map(format_statement, parse(PROGRAM, parameters=given).statements))
    assert statements[2] == hot
    assert statements[3].endswith(many)


def test_a_parameter_is_a_statement_with_its_value() -> None:
    """It prints as it was written, with the value that it has."""
    text = 'parameter LIMIT = 80.\nparameter NAME = "two words".\nparameter LOW = -1.5.\np :- q.'
    program = parse(text, parameters={"LIMIT": 7})
    assert [item.value for item in program.statements if isinstance(item, Parameter)] == [7, "two words", -1.5]
    assert format_program(program).splitlines()[:3] == [
        "parameter LIMIT = 7.",
        'parameter NAME = "two words".',
        "parameter LOW = -1.5.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parameter LIMIT = 80. parameter LIMIT = 81.", "parameter `LIMIT` is declared twice"),
        ("parameter limit = 80.", "a parameter is named like a variable, such as `LIMIT`, got `limit`"),
        ("parameter LIMIT = Other.", "a parameter is a constant, and `Other` is a variable"),
        ("parameter LIMIT > 80.", "expected `=`, found `>`"),
        ("parameter LIMIT = 80 + 1.", "expected the end of the statement, found `+`"),
    ],
)
def test_what_is_no_parameter_is_refused_with_its_place(text: str, message: str) -> None:
    """One line says what is wrong, and where."""
    with pytest.raises(ProgramError) as raised:
        parse(text)
    assert [item.message for item in raised.value.diagnostics] == [message]


def test_a_parameter_that_is_not_declared_cannot_be_given() -> None:
    """The names that there are stand in the error."""
    with pytest.raises(ValueError, match=r"declares no parameter `LIMTI` \(it declares: `LIMIT`, `MODE`\)"):
        tidelog.compile(PROGRAM, parameters={"LIMTI": 3})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"LIMIT": "a"}, "line 1: parameter `LIMIT` is a number, and `a`, its value here, is a text"),
        ({"LIMIT": "nan"}, "line 1: parameter `LIMIT` is a number, and `nan`, its value here, is a text"),
        ({"LIMIT": float("nan")}, "the value of parameter `LIMIT` is no number: nan"),
        ({"LIMIT": float("inf")}, "the value of parameter `LIMIT` is no number: inf"),
        ({"MODE": 3}, "line 2: parameter `MODE` is a text, and `3`, its value here, is a number"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(given: dict[str, Value], said: str) -> None:
    """No comparison of a number with a text holds, so the program would tell nothing, and say nothing."""
    with pytest.raises(ValueError, match=re.escape(said)):
        tidelog.compile(PROGRAM, parameters=given)


def test_a_predicate_may_still_be_called_parameter() -> None:
    """The word is a directive only before a name."""
    assert format_statement(parse("parameter(X) :- q(X).").statements[0]) == "parameter(X) :- q(X)."


def test_another_value_is_another_program() -> None:
    """A plan with another value derives other facts."""
    text = "parameter LIMIT = 80. hot(R) :- temp(R, V), V >= LIMIT."
    for given, expected in (({}, []), ({"LIMIT": 75}, ["hot(a)@3"])):
        session = tidelog.Session(tidelog.compile(text, parameters=given))
        session.push("temp", ["a", 77], 3)
        session.finish()
        assert [str(answer) for answer in session.pull()] == expected

"""Plans that follow from one plan are those that would be compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

import tidelog
from tidelog import Plan
from tidelog.plans.compiling.deriving import plans_of
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.tree.syntax import Value

HEAD = "timeline integer, unit 1 s. parameter LIMIT = 3. parameter LOW = 1. input temp(room: text, value: number). "
NUMBERS = [{"LIMIT": value} for value in (2, 3, 5, 70, 71)]
BOTH = [{"LIMIT": limit, "LOW": low} for limit in (2, 3, 4) for low in (0, 1)]
HOT = "hot(R) :- temp(R, V), V >= LIMIT. output hot."


class _Compiling:
    """Compiles a program, and counts how often."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.number = 0

    def __call__(self, values: Mapping[str, Value]) -> Plan:
        self.number += 1
        return tidelog.compile(self.text, parameters=values)


@pytest.mark.parametrize(
    ("rules", "candidates", "compiled"),
    [
        pytest.param(HOT, NUMBERS, 3, id="comparison"),
        pytest.param(HOT, [{"LIMIT": value + 0.25} for value in range(6)], 3, id="fractions"),
        pytest.param(HOT, [{"LIMIT": -value} for value in range(1, 6)], 3, id="below 0"),
        pytest.param(HOT, [{"LIMIT": value} for value in (-4, -3, -2, -1, 0, 0.5, 1.5, 2.5, 3.5, 1, 2, 4)], 9, id="kinds"),
        pytest.param(HOT, [{"LIMIT": value} for value in (1, 2, 3)], 3, id="few"),
        pytest.param("hot(R) :- temp(R, V), V >= LIMIT, V < 70. output hot.", NUMBERS, 3, id="as another number"),
        pytest.param("hot(R) :- temp(R, V), V >= LIMIT * 2 + 1. output hot.", NUMBERS, 3, id="arithmetic"),
        pytest.param("hot(R, W) :- temp(R, V), W = V - LIMIT. output hot.", NUMBERS, 3, id="computed"),
        pytest.param("hot(R, LIMIT) :- temp(R, V). output hot.", NUMBERS, 6, id="head"),
        pytest.param("hot(R) :- temp(R, LIMIT). output hot.", NUMBERS, 6, id="argument"),
        pytest.param("hot(R) :- count() over temp(R, V) in [5] by R >= LIMIT. output hot.", NUMBERS, 6, id="threshold"),
        pytest.param(HOT + "cold(R) :- temp(R, V), V < LIMIT, not hot(R). output cold.", NUMBERS, 3, id="two rules"),
        pytest.param(HOT + "b(R) :- temp(R, V), V > LIMIT. hot(R) :- b(R), temp(R, V), V = LIMIT.", NUMBERS, 3, id="union"),
        pytest.param("alarm hot(room), priority high, acknowledge. " + HOT.partition(" output")[0], NUMBERS, 3, id="alarm"),
        pytest.param("bottom :- temp(R, V), V > LIMIT. output temp.", NUMBERS, 3, id="constraint"),
        pytest.param(
            "hot(R) :- temp(R, V), V > LIMIT. hot(R) :- diamondminus[1,2] hot(R). output hot.", NUMBERS, 3, id="loop"
        ),
        pytest.param("hot(R) :- temp(R, V), V >= LIMIT, V < LIMIT + LOW. output hot.", BOTH, 3, id="two parameters"),
        pytest.param("hot(R, LOW) :- temp(R, V), V >= LIMIT. output hot.", BOTH, 7, id="one of two"),
        pytest.param("hot(R) :- temp(R, V), V > 1. output hot.", NUMBERS, 3, id="without it"),
    ],
)
def test_plans_are_those_that_would_be_compiled(rules: str, candidates: Sequence[dict[str, Value]], compiled: int) -> None:
    """Whatever rules do with a parameter; and where it stands in comparisons alone, three are compiled of each kind."""
    compiling = _Compiling(HEAD + rules)
    found = plans_of(compiling, candidates)
    assert found == [tidelog.compile(HEAD + rules, parameters=values) for values in candidates]
    assert compiling.number == compiled


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([{"LIMIT": value} for value in (1, 2, 3, "a", 4)], "parameter `LIMIT` is a number, and `a`"),
        ([{"LIMIT": value} for value in (1, 2, 3, float("nan"), 4)], "the value of parameter `LIMIT` is no number: nan"),
        ([{"LIMTI": value} for value in range(5)], "the program declares no parameter `LIMTI`"),
    ],
)
def test_what_cannot_be_compiled_is_refused_as_ever(candidates: list[dict[str, Value]], message: str) -> None:
    """With the message of the first candidate that is wrong."""
    with pytest.raises(ValueError, match=re.escape(message)):
        plans_of(_Compiling(HEAD + HOT), candidates)


def test_a_program_that_is_wrong_is_refused_as_ever() -> None:
    """The error speaks of the program's own values."""
    with pytest.raises(ProgramError) as raised:
        plans_of(_Compiling(HEAD + "hot(R) :- temp(R, V), W >= LIMIT. output hot."), NUMBERS)
    with pytest.raises(ProgramError) as expected:
        tidelog.compile(HEAD + "hot(R) :- temp(R, V), W >= LIMIT. output hot.", parameters=NUMBERS[0])
    assert str(raised.value) == str(expected.value)

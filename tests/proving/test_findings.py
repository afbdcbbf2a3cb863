"""What is found about rules, and what is not: by small programs, each with what is proved of it."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.plans.proving.findings import findings
from tidelog.testing.proving import prove

HEAD = """timeline integer, unit 1 s.
input temp(room: text, celsius: number).
input level(room: text, steps: integer).
input door(room: text).
"""
LONG = 60.0

FOUND = [
    pytest.param("output a. a(R) :- temp(R, C), C > 80, C < 70.", ["never-holds"], id="comparisons"),
    pytest.param("output a. a(R) :- level(R, N), N > 3, N < 4.", ["never-holds"], id="whole numbers"),
    pytest.param("output a. a(R) :- temp(R, C), C > 3, C < 4.", [], id="there are numbers between"),
    pytest.param(
        "output a. h(R) :- temp(R, C), C > 80. w(R) :- temp(R, C), C > 70. a(R) :- h(R), not w(R).",
        ["never-holds"],
        id="rules",
    ),
    pytest.param(
        "output a. h(R) :- temp(R, C), C > 80. w(R) :- temp(R, C), C > 70. a(R) :- w(R), not h(R).", [], id="a band"
    ),
    pytest.param(
        "output a. h(R) :- temp(R, C), C > 80. a(R) :- h(R) for 5 s, not h(R) within 3 s.", ["never-holds"], id="times"
    ),
    pytest.param(
        "output a. w(R) :- temp(R, _). a(R) :- boxminus[0,2] w(R), not boxminus[0,2] temp(R, _).", [], id="another each time"
    ),
    pytest.param(
        "output a. w(R) :- door(R), not temp(R, _). a(R) :- boxminus[0,2] w(R), temp(R, _) within 2 s.",
        ["never-holds"],
        id="none at any time",
    ),
    pytest.param(
        "output a. a(R) :- door(R), latest temp(R, C) by R in [9 s step 5 s], not temp(R, _) within 9 s.", [], id="held on"
    ),
    pytest.param("output a. a(R) :- door(R) within 5 s, not door(R) within 5 s.", ["never-holds"], id="the same times"),
    pytest.param("output a. a(R) :- door(R) within 6 s, not door(R) within 5 s.", [], id="six are more than five"),
    pytest.param(
        "output a. a(R) :- latest temp(R, C) by R in [9 s], not temp(R, _) within 9 s.", ["never-holds"], id="held"
    ),
    pytest.param("output a. a(R) :- count() over door(R) in [9 s] by R >= 11.", ["never-holds"], id="more than ticks"),
    pytest.param("output a. a(R) :- count() over door(R) in [9 s] by R >= 10.", [], id="as many as ticks"),
    pytest.param(
        "output a. a(R) :- A = avg(C) over (temp(R, C), C < 50) in [9 s] by R, A > 50.", ["never-holds"], id="an average"
    ),
    pytest.param(
        "output a. a(R) :- A = avg(C) over (temp(R, C), C < 50) in [9 s] by R, A >= 50.", [], id="an average is rounded"
    ),
    pytest.param(
        "output a. t(R, C) :- temp(R, C), C < 20. t(R, C) :- temp(R, C), C > 30, C < 40. "
        "a(R) :- A = avg(C) over t(R, C) in [9 s] by R, A > 25, A < 28.",
        [],
        id="an average of rows by several rules",
    ),
    pytest.param(
        "output a. t(R, C) :- temp(R, C), C > 30. a(R) :- M = quantile(0.5, C) over t(R, C) in [9 s] by R, M < 30.",
        ["never-holds"],
        id="a quantile",
    ),
    pytest.param("output a. a(R) :- S = stddev(C) over temp(R, C) in [9 s] by R, S < 0.", ["never-holds"], id="a deviation"),
    pytest.param("output a. a(R) :- temp(R, F), C = (F - 32) * 5 / 9, C > 110, F < 200.", ["never-holds"], id="arithmetic"),
    pytest.param("output a. a(R) :- temp(R, F), C = (F - 32) * 5 / 9, C > 90, F < 200.", [], id="arithmetic that goes"),
    pytest.param("output a. m(R) := on :- door(R). a(R) :- m(R, off).", ["never-holds"], id="a state that nothing brings"),
    pytest.param(
        "output a. near(hall, attic). a(R) :- door(R), near(R, cellar).", ["never-holds"], id="facts that are not there"
    ),
    pytest.param("output a, b. a(R) :- b(R), door(R). b(R) :- a(R).", ["never-holds", "never-holds"], id="a circle"),
    pytest.param("output a. a(R) :- door(R). a(R) :- temp(R, C), C < 3, C > 5.", ["dead-rule"], id="one rule of two"),
    pytest.param(
        "output a. a(R) :- temp(R, C), C > 70. a(R) :- temp(R, C), C > 80.", ["needless-rule"], id="a stricter rule"
    ),
    pytest.param("output a. a(R) for 9 s :- door(R). a(R) for 5 s :- door(R).", ["needless-rule"], id="a shorter reach"),
    pytest.param("output a. a(R) :- door(R) within 5 s. a(R) :- diamondminus[2] door(R).", ["needless-rule"], id="within"),
    pytest.param("output a. a(R) :- door(R) within 5 s. a(R) :- diamondminus[6] door(R).", [], id="beyond"),
    pytest.param("output a. a(R) :- door(R) for 5 s. a(R) :- door(R) for 9 s.", ["needless-rule"], id="longer"),
    pytest.param("output a. a(R) :- temp(R, C), C > 70. a(R) :- temp(R, C), C <= 70.", ["always-true"], id="two halves"),
    pytest.param("output a. a(R) :- temp(R, C), C > 5, C > 3.", ["needless-condition"], id="a weaker bound"),
    pytest.param(
        "output a. a(R) :- door(R), not temp(R, _), not temp(R, 5).", ["needless-condition"], id="not any, not five"
    ),
    pytest.param("output a. a(R) :- door(R), temp(R, C), C != none.", ["needless-condition"], id="a number is no text"),
    pytest.param(
        "output a, b. h(R) :- temp(R, C), C > 80. a(R) :- h(R). b(R) :- temp(R, C), C > 80.",
        ["always-together"],
        id="two names",
    ),
    pytest.param(
        "output a, b. a(R) :- temp(R, C), C < 70. b(R) :- temp(R, C), C > 70.", ["threshold-gap"], id="one value missing"
    ),
    pytest.param("output a, b. a(R) :- temp(R, C), C < 0. b(R) :- temp(R, C), C > 0.", [], id="the sign"),
    pytest.param("output a, b. a(R) :- temp(R, C), C < 70. b(R) :- temp(R, C), C >= 70.", [], id="side by side"),
    pytest.param("output a, b. a(R) :- temp(R, C), C < 10. b(R) :- temp(R, C), C > 70.", [], id="far apart"),
    pytest.param("output a, b. a(R) :- temp(R, C), C > 10. b(R) :- temp(R, C), C > 70.", [], id="one within the other"),
    pytest.param(
        "output a, b. a(R) :- level(R, N), N <= 3. b(R) :- level(R, N), N >= 5.", ["threshold-gap"], id="a step missing"
    ),
    pytest.param("output a, b. a(R) :- level(R, N), N <= 3. b(R) :- level(R, N), N > 3.", [], id="step by step"),
    pytest.param(
        "output a, b. a(R) :- temp(R, C), C <= 70. b(R) :- temp(R, C), C >= 70.", ["threshold-overlap"], id="one value twice"
    ),
    pytest.param(
        "output a(room, how). a(R, warm) :- temp(R, C), C > 60, C < 80. a(R, hot) :- temp(R, C), C > 70.",
        ["threshold-overlap"],
        id="a band reaches into the next",
    ),
    pytest.param(
        "output a, b. a(R) :- temp(R, C), C < 70. b(R) :- temp(R, C), C > 70. b(R) :- door(R).",
        [],
        id="another rule may hold",
    ),
    pytest.param(
        "output a. a(R) :- temp(R, C), C < 70. a(R) :- temp(R, C), C > 60.", ["always-true"], id="whatever is read"
    ),
    pytest.param(
        "output a. a(R) :- level(R, N), N <= 6. a(R) :- level(R, N), N >= 7.", ["always-true"], id="all whole numbers"
    ),
    pytest.param("output a. a(R) :- temp(R, C), C < 6. a(R) :- temp(R, C), C >= 7.", [], id="not between"),
    pytest.param(
        "output a, b. a(R) :- latest temp(R, C) by R in [9 s], C < 70. b(R) :- latest temp(R, C) by R in [9 s], C > 70.",
        ["threshold-gap"],
        id="of what is held",
    ),
    pytest.param("output a. a(R) :- door(R) within inf.", ["never-ends"], id="once and for ever"),
    pytest.param("output a. a(R) :- door(R) within inf, not door(R) within 9 s.", [], id="it may end"),
    pytest.param(
        "alarm a(room: text), inhibited by w(room). a(R) :- temp(R, C), C > 80. w(R) :- temp(R, C), C > 70.",
        ["hidden-for-ever"],
        id="inhibited whenever it holds",
    ),
    pytest.param(
        "alarm a(room: text), inhibited by w(room). a(R) :- temp(R, C), C > 80. w(R) :- door(R) within inf.",
        ["hidden-for-ever"],
        id="inhibited for ever",
    ),
    pytest.param(
        "alarm a(room: text), inhibited by w(room). a(R) :- temp(R, C), C > 80. w(R) :- door(R) within 1 h.",
        [],
        id="inhibited",
    ),
]


@pytest.mark.parametrize(("rules", "expected"), FOUND)
def test_findings(rules: str, expected: list[str]) -> None:
    """Each program with the codes of all that is proved of it."""
    found = findings(tidelog.compile(HEAD + rules), lambda: False)
    assert sorted(item.code for item in found) == expected


@pytest.mark.parametrize("name", ["cold", "hot"])
def test_where_nothing_is_declared_any_fact_may_come(name: str) -> None:
    """Data may bring a predicate that rules derive, too: so it may hold, though its rules never derive it."""
    plan = tidelog.compile(f"{name}(X) :- {name}(X), q(X).")
    assert findings(plan, lambda: False) == ()


def test_facts_of_the_program_are_of_no_type() -> None:
    """An input may have a fact in the text that data could not bring: then nothing is concluded from its types."""
    rules = "input tag(name: text). tag(3). output a. a(R) :- door(R), tag(N), N > 2."
    assert findings(tidelog.compile(HEAD + rules), lambda: False) == ()


def test_rounding_is_the_engines() -> None:
    """0.1 + 0.2 is a little more than 0.3, and is not proved to be 0.3."""
    rules = "output a. a(R) :- temp(R, C), D = C + 0.2, C <= 0.1, D > 0.3."
    proof = prove(tidelog.compile(HEAD + rules), LONG)
    assert proof.answers["a"] != "never"


def test_what_the_time_is_over_for_is_undecided() -> None:
    """By name, and it is no finding."""
    proof = prove(tidelog.compile(HEAD + "output a. a(R) :- temp(R, C), C > 5, C > 3."), 1e-9)
    assert proof.findings == ()
    assert proof.answers == {"a": "undecided"}
    assert ("whether it can hold", "`a`", "the time was over") in proof.undecided


FLAPS = "m(R) := on :- temp(R, C), C >= {on}, not m(R, on). m(R) := off :- temp(R, C), C <= {off}, m(R, on)."


@pytest.mark.parametrize(("on", "off", "expected"), [(70, 80, ["flapping"]), (70, 70, ["flapping"]), (80, 70, [])])
def test_hysteresis_that_flaps(on: int, off: int, expected: list[str]) -> None:
    """On at one reading, off at the next, which is the same: it was run, and told."""
    proof = prove(tidelog.compile(f"{HEAD}output m. {FLAPS.format(on=on, off=off)}"), LONG)
    assert [item.code for item in proof.findings] == expected


def test_why_a_rule_is_dead_names_what_contradicts() -> None:
    """The parts that contradict each other, and no others."""
    rules = "output a. a(R) :- door(R), temp(R, C), C > 80, level(R, N), C < 70."
    (found,) = findings(tidelog.compile(HEAD + rules), lambda: False)
    assert found.label == "`C > 80` and `C < 70` never hold together"

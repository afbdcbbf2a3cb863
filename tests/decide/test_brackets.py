"""Entailment at points and over intervals: every operator, every bracket of its interval and of the fact that is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle

import pytest
from batch.materialising import plan_of, records

from decide.bracket_cases import (
    ASKED,
    ASKED_ON_INTEGERS,
    BRACKETS,
    HEADS,
    INTEGER,
    LINKS,
    UNARY,
    UNBOUNDED,
    Line,
)
from oracle.evaluate import GroundFact
from oracle.periodic import periodic_model
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.runtime.batch.decisions.decision import Method
from tidelog.runtime.batch.decisions.entailment import entails

METHODS: tuple[Method, ...] = ("materialise", "automata", "ltl")
DENSE = [*UNARY, *LINKS, *HEADS, *UNBOUNDED]


def rule_with(template: str, brackets: str) -> str:
    """The rule with these brackets in the place of `<` and `>`."""
    return template.replace("<", brackets[0]).replace(">", brackets[1])


def asked(runs: str, by_shape: dict[str, tuple[str, str]], most: int | None = None) -> dict[str, bool]:
    """The facts to ask where `h` holds at these times alone, and the answers that `by_shape` has for such times; of those
    that follow, the first `most`."""
    low, _, high = runs.strip("[]()").partition(",")
    shape = runs if runs == "-" else "l"
    if high:
        shape = (runs[0] if low != "-inf" else "inf") + (runs[-1] if high != "inf" else "inf")
        shape = shape if "inf" in shape else runs[0] + runs[-1]
    low = high if low == "-inf" else low
    high = low if high in ("", "inf") else high
    names = {"l": low, "h": high}
    if shape != "-":
        names |= {"k": str(int(low) - 1), "i": str(int(high) + 1)}
    yes, no = (re.sub(r"\b[klhi]\b", lambda name: names[name[0]], times).split() for times in by_shape[shape])
    return {f"h@{times}": answer for group, answer in ((yes[:most], True), (no, False)) for times in group}


def test_what_is_asked_is_what_the_ends_suggest() -> None:
    """The letters of the tables stand for the ends and for what lies 1 beside them."""
    assert asked("[3,6)", ASKED) == {"h@[3,6)": True, "h@(3,6)": True, "h@3": True} | dict.fromkeys(
        ("h@[3,6]", "h@(3,6]", "h@(2,6)", "h@6"), False
    )
    assert list(asked("(-inf,3]", ASKED))[:4] == ["h@(-inf,3]", "h@(-inf,3)", "h@3", "h@2"]
    assert asked("5", ASKED_ON_INTEGERS)["h@(4,5]"]


def rules_of(line: Line) -> list[tuple[str, str]]:
    """The line's rule with each kind of brackets that there is, and where `h` holds."""
    every = [(rule_with(line[0], brackets), runs) for brackets, runs in zip(BRACKETS, line[2], strict=True)]
    return [(rule, runs) for rule, runs in every if "inf]" not in rule]


def each_of(table: Sequence[Line]) -> pytest.MarkDecorator:
    """Run a test with each line of a table; its text is its name."""
    return pytest.mark.parametrize("line", table, ids=map(name_of, table))


def by_each_method(table: Sequence[Line]) -> pytest.MarkDecorator:
    """Run a test with each line of a table by each method; `make test` leaves automata and LTL out by turns."""
    ways = [
        pytest.param(line, method, id=f"{name_of(line)} {method}", marks=[pytest.mark.long] * (method == left_out))
        for line, left_out in zip(table, cycle(("ltl", "automata")), strict=False)
        for method in METHODS
    ]
    return pytest.mark.parametrize(("line", "method"), ways)


def name_of(line: Line) -> str:
    rule, facts, _ = line
    return f"{rule} {facts}"


@by_each_method(DENSE)
def test_on_dense_time(line: Line, method: Method) -> None:
    """Points, gaps and stretches follow exactly where Table 1 says, by each method."""
    check(line, "", ASKED, method)


@by_each_method(INTEGER)
def test_on_integers(line: Line, method: Method) -> None:
    """An open end leaves out one integer, of the operator's interval and of what is asked."""
    check(line, "timeline integer. ", ASKED_ON_INTEGERS, method)


def check(line: Line, timeline: str, by_shape: dict[str, tuple[str, str]], method: Method) -> None:
    """What is asked of each of the line's rules gets the answer of the tables.

    What lies within a fact that follows is left to materialisation: the other methods take longer.
    """
    for rule, runs in rules_of(line):
        plan = plan_of(timeline + rule)
        given = records(plan, line[1].split())
        for fact, answer in asked(runs, by_shape, None if method == "materialise" else 1).items():
            decided = entails(plan, given, records(plan, [fact])[0], method)
            assert decided.answer == ("true" if answer else "false"), f"{rule} {line[1]} |= {fact} {decided.reason}"


@each_of([*DENSE, *INTEGER])
def test_the_oracle_says_the_same(line: Line) -> None:
    """It evaluates Table 1 by definition; so the tables are not only what the methods agree on."""
    timeline, by_shape = ("timeline integer. ", ASKED_ON_INTEGERS) if line in INTEGER else ("", ASKED)
    for rule, runs in rules_of(line):
        plan = plan_of(timeline + rule)
        model = periodic_model(plan.program, decoded(plan, line[1].split()), [Fraction(1)])
        for fact, answer in asked(runs, by_shape).items():
            assert model.covers(decoded(plan, [fact])[0]) == answer, f"{rule} {line[1]} |= {fact}"


def decoded(plan: BatchPlan, facts: Sequence[str]) -> list[GroundFact]:
    """Facts as text, as the oracle takes them."""
    decode = plan.timeline.decode_interval
    return [(name, row, decode(lo, hi)) for name, row, lo, hi in records(plan, facts)]

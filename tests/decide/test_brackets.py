"""Entailment at points and over intervals: every operator, every bracket of its interval and of the fact that is asked."""

from __future__ import annotations

import re
from fractions import Fraction

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
)
from oracle.periodic import periodic_model
from tidelog.runtime.batch.decision import Method
from tidelog.runtime.batch.entailment import entails

METHODS: tuple[Method, ...] = ("materialise", "automata", "ltl")
DENSE = [*UNARY, *LINKS, *HEADS, *UNBOUNDED]


def rule_with(template: str, brackets: str) -> str:
    """The rule with these brackets in the place of `<` and `>`."""
    return template.replace("<", brackets[0]).replace(">", brackets[1])


def asked(runs: str, by_shape: dict[str, tuple[str, str]]) -> dict[str, bool]:
    """The facts to ask where `h` holds at these times alone, and the answers that `by_shape` has for such times."""
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
    return {f"h@{times}": answer for group, answer in ((yes, True), (no, False)) for times in group}


def test_what_is_asked_is_what_the_ends_suggest() -> None:
    """The letters of the tables stand for the ends and for what lies 1 beside them."""
    assert asked("[3,6)", ASKED) == {"h@[3,6)": True, "h@(3,6)": True, "h@3": True} | dict.fromkeys(
        ("h@[3,6]", "h@(3,6]", "h@(2,6)", "h@6"), False
    )
    assert list(asked("(-inf,3]", ASKED))[:4] == ["h@(-inf,3]", "h@(-inf,3)", "h@3", "h@2"]
    assert asked("5", ASKED_ON_INTEGERS)["h@(4,5]"]


def lines(table: list[tuple[str, str, tuple[str, str, str, str]]] | tuple[tuple[str, str, tuple[str, str, str, str]], ...]):
    """Each line of a table, with its text as its name."""
    return pytest.mark.parametrize("line", table, ids=[f"{rule} {facts}" for rule, facts, _ in table])


@pytest.mark.parametrize("method", METHODS)
@lines(DENSE)
def test_on_dense_time(line: tuple[str, str, tuple[str, str, str, str]], method: Method) -> None:
    """Points, gaps and stretches follow exactly where Table 1 says, by each method."""
    check(line, "", ASKED, method)


@pytest.mark.parametrize("method", METHODS)
@lines(INTEGER)
def test_on_integers(line: tuple[str, str, tuple[str, str, str, str]], method: Method) -> None:
    """An open end leaves out one integer, of the operator's interval and of what is asked."""
    check(line, "timeline integer. ", ASKED_ON_INTEGERS, method)


def check(
    line: tuple[str, str, tuple[str, str, str, str]],
    timeline: str,
    by_shape: dict[str, tuple[str, str]],
    method: Method,
) -> None:
    template, facts, expected = line
    for brackets, runs in zip(BRACKETS, expected, strict=True):
        rule = rule_with(template, brackets)
        if "inf]" in rule:
            continue  # there is no such bracket
        plan = plan_of(timeline + rule)
        given = records(plan, facts.split())
        for fact, answer in asked(runs, by_shape).items():
            decided = entails(plan, given, records(plan, [fact])[0], method)
            assert decided.answer == ("true" if answer else "false"), f"{rule} {facts} |= {fact} {decided.reason}"


@lines([*DENSE, *INTEGER])
def test_the_oracle_reads_table_1_so(line: tuple[str, str, tuple[str, str, str, str]]) -> None:
    """The tables of this file hold in the oracle as well: one hand wrote both, so neither stands alone."""
    template, facts, expected = line
    for brackets, runs in zip(BRACKETS, expected, strict=True):
        integer = line in INTEGER
        rule = rule_with(template, brackets)
        if "inf]" in rule:
            continue
        plan = plan_of(("timeline integer. " if integer else "") + rule)
        given = [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in records(plan, facts.split())]
        model = periodic_model(plan.program, given, [Fraction(1)])
        for fact, answer in asked(runs, ASKED_ON_INTEGERS if integer else ASKED).items():
            name, row, lo, hi = records(plan, [fact])[0]
            assert model.covers((name, row, plan.timeline.decode_interval(lo, hi))) == answer, f"{rule} {facts} |= {fact}"

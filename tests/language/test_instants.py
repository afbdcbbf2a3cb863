"""Boxes over readings that last an instant: what is warned of never holds, and no document or example is warned of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples.documents import DOCUMENTS, ROOT, blocks_of
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.plans.checks.check import check
from tidelog.plans.checks.lasting import check_lasting
from tidelog.plans.language.parser import parse

PREDICATES = ("a", "b", "c")
RULES = st.lists(
    st.sampled_from(
        [
            "a(X) :- temp(X, C), C > 1.",
            "a(X) :- temp(X, C), open(X).",
            "a(X) :- b(X), not c(X).",
            "a(X) :- open(X).",
            "a(X) for 2 :- temp(X, C).",
            "boxplus[2] a(X) :- temp(X, C).",
            "b(X) :- a(X).",
            "b(X) :- diamondminus[3] (a(X), open(X)).",
            "b(X) :- a(X) within 3.",
            "b(X) :- boxminus[1,2] a(X), temp(X, C).",
            "b(X) :- open(X) since a(X).",
            "b(X) :- b(X), open(X).",
            "b(X) :- latest temp(X, C) by X in [3].",
            "c(X) :- open(X), temp(X, 2).",
            "c(X) :- open(X) since temp(X, C), temp(X, D).",
            "c(X) :- temp(X, C) for 2, open(X).",
            "c(r)@[2,4].",
        ]
    ),
    min_size=1,
    max_size=6,
    unique=True,
)
FACTS = st.lists(
    st.tuples(st.just("temp"), st.tuples(st.just("r"), st.integers(1, 3)), st.integers(0, 8), st.just(0))
    | st.tuples(st.just("open"), st.tuples(st.just("r")), st.integers(0, 8), st.integers(0, 5)),
    max_size=8,
)


@given(rules=RULES, facts=FACTS)
def test_what_is_warned_of_never_holds(rules: list[str], facts: list[tuple[str, tuple[str | int, ...], int, int]]) -> None:
    """Whatever the rules, and readings at single times: the predicate holds at single times, and the box nowhere."""
    here = [name for name in PREDICATES if any(re.match(rf"(boxplus\[2] )?{name}\(", rule) for rule in rules)]
    absent = "".join(f"input {name}(x: text).\n" for name in PREDICATES if name not in here)
    probes = "".join(f"box_{name}(X) :- {name}(X) for 1.\n" for name in here)
    inputs = f"input temp(x: text, c: number).\ninput open(x: text).\n{absent}"
    text = inputs + "\n".join(rules) + "\n" + probes + f"output {', '.join([*here, *(f'box_{name}' for name in here)])}."
    try:
        plan = tidelog.compile(text)
    except tidelog.ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"unstratified"}
        return
    warned = {found[1] for item in check_lasting(parse(text)) if (found := re.match(r"`(\w)`", item.message))}
    session = tidelog.Session(plan, lateness=20, emit="final")
    for name, row, begin, length in facts:
        session.push(name, row, interval=f"[{begin},{begin + length}]")
    session.finish()
    for told, held, low, high in session.pull_records():
        assert low == high or told not in warned, (text, told, held)
        assert told.removeprefix("box_") == told or told[-1] not in warned, (text, told, held)


def programs() -> list[tuple[str, str]]:
    """Every program of the examples and the documents, by its place."""
    found = [(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in Path(ROOT, "examples").rglob("*.tide")]
    for document in DOCUMENTS:
        tides = [block for block in blocks_of(document) if block.language == "tide"]
        found += [(f"{document}:{block.line}", block.text) for block in tides]
    return found


@pytest.mark.parametrize(("place", "text"), [pytest.param(*each, id=each[0]) for each in programs()])
def test_no_example_is_warned_of(place: str, text: str) -> None:
    """Whoever writes as the documents do is not bothered."""
    assert [item.message for item in check(parse(text)) if item.code == "one-instant"] == [], place


@pytest.mark.parametrize(
    ("rules", "warned"),
    [
        ("a(X) :- temp(X, C). b(X) :- a(X) for 60.", False),
        ("a(X) :- temp(X, C). b(X) :- a(X) for 61.", True),
        ("a(X) :- temp(X, C). b(X) :- a(X) for 1 min.", False),
        ("a(X) :- temp(X, C). b(X) :- a(X) for 2 min.", True),
        ("a(X) for 1 :- temp(X, C). b(X) :- a(X) for 2 min.", False),
        ("boxplus[0] a(X) :- temp(X, C). b(X) :- a(X) for 2 min.", False),
        ("a(X) :- temp(X, C). b(X) :- boxminus[2 min] a(X).", False),
        ("a(X) :- temp(X, C). b(X) :- boxminus[0,inf) a(X).", True),
        ("a(X) :- open(X). b(X) :- a(X) for 2 min.", False),
        ("a(X)@T :- temp(X, C)@T in [9]. b(X) :- a(X) for 2 min.", False),
    ],
)
def test_ticks_may_all_have_a_reading(rules: str, warned: bool) -> None:
    """On an integer timeline a short box may well be filled; an operator in the head says that it is meant."""
    text = f"timeline integer, unit 1 s. input temp(x: text, c: number). input open(x: text). {rules}"
    assert [item.code for item in check(parse(text)) if item.code == "one-instant"] == ["one-instant"] * warned

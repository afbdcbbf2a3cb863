"""The fields of derived predicates: names and types by hand, and that all answers of drawn programs are of these types."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tidelog
from oracle.agreement import records_of
from oracle.programs import EVERYTHING, programs, streams
from tidelog.plans.analysis.fields import FieldGuess, _join, _type_of, fits, inferred_fields
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.diagnostics.errors import ProgramError

TEMP = {"temp": [FieldGuess("node", "text"), FieldGuess("value", "number")], "n": [FieldGuess("count", "integer")]}


@pytest.mark.parametrize(
    ("rules", "fields"),
    [
        ("hot(N, V) :- temp(N, V), V > 30.", "node: text, value: number"),
        ("hot(N, W) :- warm(N, V) for 2, W = V + 1. warm(N, V) :- temp(N, V).", "node: text, w: number"),
        ("hot(N, top) :- temp(N, V). hot(M, low) :- temp(M, V).", "node: text, arg2: text"),
        ("hot(N, true) :- temp(N, V).", "node: text, arg2: boolean"),
        ("hot(N, A) :- A = count() over temp(N, _) in [5] by N.", "node: text, a: integer"),
        ("hot(N, A) :- A = max(V) over temp(N, V) in [5] by N.", "node: text, a: number"),
        ("hot(N, T) :- temp(N, _)@T in [5].", "node: text, t: any"),
        ("hot(C, C) :- n(C).", "count: integer, arg2: integer"),
        ("hot(C, V) :- n(C), temp(_, V). hot(N, V) :- temp(N, V).", "arg1: any, value: number"),
        ("hot(C, V) :- n(C), temp(_, C), temp(_, V). hot(V, V) :- temp(_, V).", "arg1: number, value: number"),
        ("hot(N, V) :- temp(N, V), n(N).", "arg1: any, arg2: any"),
        ("hot(N, V) :- hot(N, V), n(_). hot(N, 3) :- temp(N, _).", "node: text, arg2: integer"),
        ("hot(N, z) :- not temp(N, _) , seen(N). seen(a). seen(5).", "n: any, arg2: text"),
        ("hot(N, V) :- temp(M, V) since[0,3] temp(N, _), temp(_, V).", "node: text, value: number"),
    ],
)
def test_fields_of_rules(rules: str, fields: str) -> None:
    """Names come from the fields that values come from, and types hold for all that rules may give."""
    plan = tidelog.compile(f"timeline integer. output hot. {rules}")
    assert ", ".join(f"{field.name}: {field.type}" for field in inferred_fields(plan, "hot", TEMP)) == fields


def test_a_calendar_holds_what_nobody_states() -> None:
    """Its argument is of any type, and a rule that reads it fires."""
    plan = tidelog.compile(
        "timeline integer, unit 1 s. calendar shift(name) = each day. output hot. hot(N, S) :- temp(N, _), shift(S)."
    )
    assert [field.type for field in inferred_fields(plan, "hot", TEMP)] == ["text", "any"]


def test_names_that_are_taken() -> None:
    """A column of times keeps its name, whatever the letters."""
    plan = tidelog.compile("output hot. hot(Start, V) :- temp(Start, V).")
    given = {"temp": [FieldGuess("Start", "text"), FieldGuess("value", "number")]}
    assert [field.name for field in inferred_fields(plan, "hot", given, ["start"])] == ["arg1", "value"]


@pytest.mark.slow
@given(st.data())
def test_every_answer_is_of_its_types(data: st.DataObject) -> None:
    """Of drawn programs over drawn facts, of whose values alone the types are taken."""
    program = data.draw(programs(features=EVERYTHING))
    facts: Any = data.draw(streams(program))
    try:
        plan = compile_program(program)
    except ProgramError:
        assume(False)
        raise
    read: dict[str, list[FieldGuess]] = {}
    records = records_of(plan, facts)
    for name, row, *_ in records:
        _join(read, name, [FieldGuess("", _type_of(value)) for value in row])
    session = tidelog.Session(plan, emit="final")
    session.push_records(records)
    session.finish()
    for answer in session.pull():
        assert fits(answer.row, inferred_fields(plan, answer.predicate, read)), str(answer)

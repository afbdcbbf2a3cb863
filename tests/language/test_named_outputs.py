"""Outputs that name their arguments: what is accepted, which types are inferred, and that they are true of all answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.plans.checks.check import check
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Answer
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program

HEAD = """timeline integer, unit 1 s.
input temp(room: text, value: number).
input step(room: text, count: integer).
input door(room: text, open: boolean).
"""


def types_of(rules: str, output: str) -> tuple[str, ...]:
    """The types of the one output, inferred or written."""
    plan = tidelog.compile(f"{HEAD}{rules}\noutput {output}.")
    return plan.schema.predicates[output.partition("(")[0]].types


@pytest.mark.parametrize(
    ("rules", "output", "types"),
    [
        ("a(R, V) :- temp(R, V).", "a(room, value)", ("text", "number")),
        ("a(R, V) :- temp(R, V).", "a(room, value: any)", ("text", "number")),
        ("a(R, V) :- step(R, V).", "a(room, value: number)", ("text", "number")),
        ("a(R, W) :- step(R, V), W = V * 2 + 1.", "a(room, value)", ("text", "integer")),
        ("a(R, W) :- step(R, V), W = V / 2.", "a(room, value)", ("text", "number")),
        ("a(R, V) :- temp(R, V). a(R, N) :- step(R, N).", "a(room, value)", ("text", "number")),
        ("a(R, O) :- door(R, O). a(R, V) :- temp(R, V).", "a(room, value)", ("text", "any")),
        ("a(R, O) :- door(R, O).", "a(room, open)", ("text", "boolean")),
        ("a(R, low) :- temp(R, V). a(R, O) :- door(R, O).", "a(room, what)", ("text", "text")),
        ("a(R, N) :- N = count() over temp(R, V) in [9] by R.", "a(room, n)", ("text", "integer")),
        ("a(R, N) :- N = avg(V) over step(R, V) in [9] by R.", "a(room, n)", ("text", "number")),
        ("a(R, N) :- N = max(V) over step(R, V) in [9] by R.", "a(room, n)", ("text", "integer")),
        ("a(R, T) :- temp(R, V)@T in [9].", "a(room, at)", ("text", "integer")),
        ("a(R, V) :- b(R, V). b(R, V) :- step(R, V). b(R, V) :- a(R, V) within 5.", "a(room, n)", ("text", "integer")),
        ("a(X, Z) :- a(X, Y), step(Y, Z). a(X, Y) :- step(X, Y).", "a(x, y)", ("text", "integer")),
        ("a(R, V) :- b(R, V), temp(R, V). b(hall, 3).", "a(room, n)", ("text", "integer")),
    ],
)
def test_types_are_inferred(rules: str, output: str, types: tuple[str, ...]) -> None:
    """From inputs, constants, arithmetic and aggregates, through rules; what is written stays."""
    assert types_of(rules, output) == types


def test_nothing_is_inferred_of_what_data_may_hold() -> None:
    """Without declared inputs, facts of any type may come of each predicate; so in batch reasoning."""
    text = "timeline integer. a(X, 3) :- p(X). output a(x, n)."
    assert tidelog.compile(text).schema.predicates["a"].types == ("any", "any")
    declared = "timeline integer. input p(x: text). a(X, 3) :- p(X). output a(x, n)."
    assert tidelog.compile(declared).schema.predicates["a"].types == ("text", "integer")
    assert tidelog.compile_batch(declared).schema.predicates["a"].types == ("any", "any")


RULES = st.lists(
    st.sampled_from(
        [
            "a(R, V) :- temp(R, V).",
            "a(R, N) :- step(R, N), N > 0.",
            "a(R, O) :- door(R, O).",
            "a(R, W) :- b(R, V), W = 1 - V.",
            "a(R, low) :- door(R, O), temp(R, V).",
            "a(R, N) :- N = sum(V) over b(R, V) in [3] by R.",
            "a(R, N) :- N = count() over temp(R, V) in [3] by R.",
            "b(R, V) :- step(R, V).",
            "b(R, V) :- a(R, V) within 2.",
            "b(R, W) :- temp(R, V), W = V // 2.",
            "b(R, W) :- step(R, V), W = V / 2.",
            "b(X, T) :- door(X, O)@T in [2].",
            "b(R, V) :- latest temp(R, V) by R in [2].",
            "b(O, N) :- door(R, O), step(R, N).",
        ]
    ),
    min_size=1,
    max_size=5,
    unique=True,
)
ROOMS = st.sampled_from(["hall", "true"])
FACTS = st.lists(
    st.tuples(st.just("temp"), st.tuples(ROOMS, st.sampled_from([1, 2.5])), st.integers(0, 5))
    | st.tuples(st.just("step"), st.tuples(ROOMS, st.integers(-2, 2)), st.integers(0, 5))
    | st.tuples(st.just("door"), st.tuples(ROOMS, st.sampled_from(["true", "false"])), st.integers(0, 5)),
    max_size=8,
)


@given(rules=RULES, facts=FACTS)
def test_each_answer_is_of_the_inferred_types(rules: list[str], facts: list[tuple[str, tuple[str, float], int]]) -> None:
    """Whatever the rules, and the facts that fit their inputs; and the lines that are written say the same again."""
    heads = sorted({rule[0] for rule in rules})
    missing = "".join(f"input {name}(x: any, y: any).\n" for name in "ab" if name not in heads)
    text = HEAD + missing + "\n".join(rules) + f"\noutput {', '.join(f'{name}(one, two)' for name in heads)}."
    try:
        plan = tidelog.compile(text)
    except tidelog.ProgramError as error:  # a recursion through an aggregate
        assert {found.code for found in error.diagnostics} <= {"unstratified", "recursive-window", "aggregate-recursion"}
        return
    session = tidelog.Session(plan, lateness=9, emit="final")
    for name, row, time in facts:
        session.push(name, row, time=time)
    session.finish()
    records = session.pull_records()
    for name, row, *_ in records:
        assert plan.schema.predicates[name].fits(row), (text, name, row)
    lines = JsonEncoder(plan.schema).encode(records)
    reader = tidelog.compile("timeline integer, unit 1 s. input a(one, two). input b(one, two). c(X) :- a(X, _), b(X, _).")
    read = JsonDecoder(reader.schema, "lines").decode(lines.splitlines(), 1)
    assert read.records == records, read.rejected


def test_answers_have_names_and_times() -> None:
    """As attributes, as a dict, and as moments in UTC where the program has a unit."""
    plan = tidelog.compile(HEAD + "a(R, V) :- temp(R, V).\noutput a(room, row).")
    answer = plan.answer(("a", ("hall", 3), 5, 8))
    assert (answer.room, answer.row) == ("hall", ("hall", 3))  # what answers have anyway goes before
    assert answer.as_dict() == {"room": "hall", "row": 3}
    assert (answer.begins_at, answer.ends_at) == tuple(datetime(1970, 1, 1, 0, 0, s, tzinfo=UTC) for s in (5, 8))
    assert "room" in dir(answer)
    with pytest.raises(AttributeError, match="its arguments are room, row"):
        answer.rooms  # noqa: B018 - it is the attribute that is looked for
    endless = plan.answer(("a", ("hall", 3), NEG, POS))
    assert (endless.begins_at, endless.ends_at) == (None, None)


@pytest.mark.parametrize("name", ["time", "interval", "predicate", "begins", "ends", "because", "retracted", "id"])
def test_an_output_named_as_a_member_of_lines_loses_nothing(name: str) -> None:
    """Its lines have `predicate` and `args`: once its time stood in the place of its arguments."""
    plan = tidelog.compile(f"timeline integer. input p(x: text). {name}(X) :- p(X). output {name}(room).")
    (line,) = JsonEncoder(plan.schema).encode([(name, ("hall",), 3, 3)]).splitlines()
    assert json.loads(line) == {"predicate": name, "args": ["hall"], "time": 3}
    (change,) = JsonEncoder(plan.schema).encode([ChangeRecord(name, ("hall",), 3, 4)]).splitlines()
    assert json.loads(change) == {"predicate": name, "args": ["hall"], "begins": 3, "ends": 4}


def test_without_names_all_stays_as_it_is() -> None:
    """Lines, attributes and times of a program that names nothing."""
    plan = tidelog.compile("timeline integer. input p(x: text). a(X) :- p(X). output a, p.")
    records = [("a", ("u",), 3, 3), ("p", ("u",), 3, 4)]
    assert [json.loads(line) for line in JsonEncoder(plan.schema).encode(records).splitlines()] == [
        {"predicate": "a", "args": ["u"], "time": 3},
        {"predicate": "p", "args": ["u"], "interval": "[3,4]"},
    ]
    answer: Answer = plan.answer(records[0])
    for wrong in (answer.as_dict, lambda: answer.begins_at):
        with pytest.raises(ValueError, match=r"names no arguments|declares no unit"):
            wrong()
    assert not hasattr(answer, "x")


@pytest.mark.parametrize(
    ("text", "code", "places"),
    [
        ("a(X) :- p(X, Y), p(Y, X).\noutput a(x, y).", "arity-mismatch", 2),
        ("a(X, Y) :- p(X, Y).\noutput a(x, x).", "duplicate-field", 2),
        ("a(X, Y) :- p(X, Y).\noutput a(x, y).\noutput a(x, z).", "renamed-output", 2),
        ("output p(x, y).", "renamed-output", 2),
        ("a(X, Y) :- p(X, Y).\noutput a(x: number, y).", "output-type", 2),
        ("a(X, Y) :- p(X, Y).\noutput a(x: words, y).", "unknown-type", 1),
    ],
)
def test_what_cannot_be_is_told_with_both_places(text: str, code: str, places: int) -> None:
    """A wrong number of names, a name twice, other names elsewhere, a type that the rules never give."""
    whole = "timeline integer.\ninput p(name: text, age: integer).\n" + text
    try:
        found = [item for item in check(parse(whole)) if item.severity == "error"]
    except tidelog.ProgramError as error:
        found = list(error.diagnostics)
    (one,) = found
    assert (one.code, 1 + len(one.notes)) == (code, places)


def test_names_are_printed_and_formatted() -> None:
    """As they were written."""
    text = 'output  a( room : text,"odd name" ),b , c(x).'
    assert format_text(text) == 'output a(room: text, "odd name"), b, c(x).\n'
    assert format_program(parse(text)) == 'output a(room: text, "odd name"), b, c(x).\n'
    assert format_program(parse("output a, b.")) == "output a, b.\n"

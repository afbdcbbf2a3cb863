"""Declarations of alarms: how they are read and printed, and what is said of those that are wrong, at which place."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import AlarmDeclaration, Atom, Constant, Field
from tidelog.plans.tree.walk import statements_of

BEFORE = "timeline integer, unit 1 s. input c(r: text). hot(R) :- c(R). "
FULL = (
    'alarm hot(room: text), priority critical, text "{room} is hot", acknowledge, shelve at most 8 h, '
    "inhibited by maintenance(room), inhibited by night."
)


def test_all_parts_are_read_and_printed() -> None:
    """The order of its parts is free, words may be written large, and what is printed is read as the same."""
    program = parse(FULL)
    (alarm,) = statements_of(program, AlarmDeclaration)
    assert alarm == AlarmDeclaration(
        "hot",
        (Field("room", "text"),),
        "critical",
        "{room} is hot",
        latched=True,
        longest=Fraction(8),
        longest_unit="h",
        inhibitors=(Atom("maintenance", (Constant("room"),)), Atom("night")),
    )
    assert format_program(program) == f"{FULL}\n"
    other = (
        "ALARM hot(room: text), Acknowledge, inhibited by maintenance(room), SHELVE at  most 8 h, inhibited by night, "
        'text "{room} is hot", priority CRITICAL.'
    )
    assert format_program(parse(other)) == f"{FULL}\n"


@pytest.mark.parametrize(
    "text",
    [
        "alarm hot, priority medium.",
        "alarm 'too-hot'(room: text, rank: integer), priority low, shelve at most 5, inhibited by still(_, rank, 7).",
        'alarm hot(room), priority high, text "a \\"b\\" {room}".',
    ],
)
def test_what_is_printed_is_read_again(text: str) -> None:
    """And what an alarm stands for is not printed."""
    assert format_program(parse(text)) == f"{text}\n"


def test_fields_need_no_names_that_differ_at_their_begin() -> None:
    """Variables of the rules are made of them."""
    text = "timeline integer. hot(A, B, C) :- c(A, B, C). alarm hot(room: text, rank: text, _x: text). output hot_state."
    session = tidelog.Session(tidelog.compile(text))
    session.push("c", ["a", "b", "c"], time=1)
    session.finish()
    assert ("hot_state", ("a", "b", "c", "unacknowledged"), 1, 1) in session.pull_records()


@pytest.mark.parametrize(
    ("text", "place", "message", "help"),
    [
        ("alarm hot(room), priority hgh.", "hgh", "there is no priority `hgh`", "did you mean `high`?"),
        (
            "alarm hot(room), priority purple.",
            "purple",
            "there is no priority `purple`",
            "priorities are `critical`, `high`, `medium`, `low`",
        ),
        ("alarm hot(room), priority high, priority low.", "priority low", "`priority` is given twice", ""),
        ("alarm hot(room), acknowledge, acknowledge.", "acknowledge", "`acknowledge` is given twice", ""),
        ("alarm hot(room), shelve at most 1 h, shelve at most 2 h.", "shelve at most 2 h", "`shelve` is given twice", ""),
        ('alarm hot(room), text "a", text "b".', 'text "b"', "`text` is given twice", ""),
        ('alarm hot(room), text "{rom}".', '"{rom}"', "alarm `hot` has no argument `rom`", "did you mean `room`?"),
        ('alarm hot(room), text "{x}".', '"{x}"', "alarm `hot` has no argument `x`", "its arguments are `room`"),
        ('alarm hot, text "{x}".', '"{x}"', "alarm `hot` has no argument `x`", ""),
        ("alarm hot(room), inhibited by m(rom).", "rom", "alarm `hot` has no argument `rom`", "did you mean `room`?"),
        (
            "alarm hot(room), shelve at most 0 s.",
            "0 s",
            "an alarm is shelved for some time, which ends",
            "such as `shelve at most 8 h`",
        ),
        (
            "alarm hot(room), shelve at most inf.",
            "inf",
            "an alarm is shelved for some time, which ends",
            "such as `shelve at most 8 h`",
        ),
        ("alarm hot(room), ackowledge.", "ackowledge", "unknown keyword `ackowledge`", "did you mean `acknowledge`?"),
        (
            "alarm hot(room), colour red.",
            "colour",
            "expected `priority`, `text`, `acknowledge`, `shelve at most` or `inhibited by`, found `colour`",
            "",
        ),
        ("alarm hot(room), text high.", "high", "expected text in double quotes, found `high`", ""),
        (
            "alarm hot(room), shelve 8 h.",
            "8",
            "expected `at most` and a time, such as `at most 8 h`, found `8`",
            "",
        ),
        ("alarm hot(room), inhibited m(room).", " ", "expected `by`, found `m`", ""),
        ("allarm hot(room), priority high.", "allarm", "unknown keyword `allarm`", "did you mean `alarm`?"),
    ],
)
def test_what_cannot_be_read(text: str, place: str, message: str, help: str) -> None:
    with pytest.raises(ProgramError) as refused:
        tidelog.compile(text)
    (found,) = refused.value.diagnostics
    assert (text[found.span.start : found.span.end], found.message, found.help) == (place, message, help)


@pytest.mark.parametrize(
    ("text", "code", "message", "help"),
    [
        ("alarm hot(room). alarm hot(room).", "duplicate-directive", "alarm `hot` is declared twice", "keep one of them"),
        (
            "alarm c(r).",
            "alarm-input",
            "alarm `c` is an input: no rule says when it holds",
            "give the input another name, and write a rule such as `c(X) :- reported(X)`",
        ),
        (
            "alarm cold(room).",
            "unknown-predicate",
            "predicate `cold` is neither an input, nor derived, nor a fact",
            "declare it, such as `input cold`, or write a rule for it",
        ),
        (
            "alarm hot(room). hot_state(X, ok) :- c(X).",
            "alarm-name",
            "`hot_state` is the state of alarm `hot`, and nothing else",
            "give this another name",
        ),
        (
            "alarm hot(room). hot_state(a, b)@3.",
            "alarm-name",
            "`hot_state` is the state of alarm `hot`, and nothing else",
            "give this another name",
        ),
        (
            "alarm hot(room). 'hot active'(X) :- c(X).",
            "alarm-name",
            "`hot active` is a part of alarm `hot`, and nothing else",
            "give this another name",
        ),
        (
            "alarm 'hot active'(room). 'hot active'(X) :- c(X).",
            "syntax",
            "the name of an alarm is one word",
            "rules made for it have names that begin with it",
        ),
        (
            "alarm hot(room), inhibited by m(room).",
            "unknown-predicate",
            "predicate `m` is neither an input, nor derived, nor a fact",
            "declare it, such as `input m`, or write a rule for it",
        ),
        ("alarm hot(room, room).", "duplicate-field", "output `hot` has two fields `room`", "rename one of them"),
        (
            "alarm hot.",
            "arity-mismatch",
            "predicate `hot` has 0 arguments here, but 1 elsewhere",
            "give it the same number in both places, or rename one of the two",
        ),
    ],
)
def test_what_does_not_go_together(text: str, code: str, message: str, help: str) -> None:
    with pytest.raises(ProgramError) as refused:
        tidelog.compile(BEFORE + text)
    assert (code, message, help) in [(item.code, item.message, item.help) for item in refused.value.diagnostics]
    assert all(item.message.count("hot ") < 2 for item in refused.value.diagnostics)


def test_a_unit_is_needed_where_a_shelf_has_one() -> None:
    with pytest.raises(ProgramError) as refused:
        tidelog.compile("hot(R) :- c(R). alarm hot(room), shelve at most 8 h.")
    (found,) = refused.value.diagnostics
    assert (found.code, found.message) == (
        "unit-undeclared",
        "`shelve at most 8 h` needs to know what the number 1 means as a time",
    )
    assert tidelog.compile("hot(R) :- c(R). alarm hot(room), shelve at most 8.").warnings == ()


@pytest.mark.parametrize("desk", [True, False])
def test_nothing_is_said_of_what_an_alarm_stands_for(desk: bool) -> None:
    """No rule is unused, no variable read once, whatever is asked of the state."""
    plan = tidelog.compile(BEFORE + "input maintenance(room: text). calendar night = 22:00-06:00. " + FULL, desk=desk)
    assert plan.warnings == ()


def test_what_inhibits_is_read() -> None:
    """By an alarm alone: neither an unused calendar, nor an unused input."""
    text = BEFORE + "calendar night = 22:00-06:00. input still. alarm hot(room), inhibited by night, inhibited by still."
    assert tidelog.compile(text).warnings == ()


def test_a_program_has_so_many_alarms_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.plans.checks.declared.alarms.MAX_ALARMS", 1)
    with pytest.raises(ProgramError, match="a program has at most 1 alarms"):
        tidelog.compile("a :- c. b :- c. alarm a. alarm b.")


def test_a_long_alarm_is_laid_out_a_part_a_line() -> None:
    text = FULL.replace("room: text", " room :text").replace("at most 8 h", "at   most 8   h").replace("acknowl", "ACKNOWL")
    laid = format_text(text)
    assert laid.splitlines() == [
        "alarm hot(room: text),",
        "    priority critical,",
        '    text "{room} is hot",',
        "    acknowledge,",
        "    shelve at most 8 h,",
        "    inhibited by maintenance(room),",
        "    inhibited by night.",
    ]
    assert format_text(laid) == laid
    assert parse(laid).statements == parse(FULL).statements

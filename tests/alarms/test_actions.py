"""What people do with alarms, as JSON lines and by a session's methods: the facts of it, and what is none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog import DataError, Session
from tidelog.cli import main
from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.plans.data.facts import Record

PROGRAM = """\
timeline integer, unit 1 s.
input temp(room: text, rank: integer).
hot(R, N) :- temp(R, N).
still :- temp(_, _).
alarm hot(room: text, rank: integer), acknowledge, shelve at most 1 min.
alarm still, priority low.
output hot_state, still_state.
"""
PLAN = tidelog.compile(PROGRAM)


def read(line: str) -> Record:
    """The record of a line; DataError with the reason where it is refused."""
    batch = JsonDecoder(PLAN.schema, "f.jsonl", None).decode([line.encode()], 7)
    for rejected in batch.rejected:
        assert rejected.place == "f.jsonl:7"
        raise DataError(rejected.reason)
    return batch.records[0]


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (
            '{"acknowledge":{"alarm":"hot","args":["n",1],"who":"anna","comment":"on my way"},"time":17}',
            ("hot acknowledge", ("n", 1, "anna", "on my way", ""), 17, 17),
        ),
        (
            '{"time":17,"acknowledge":{"alarm":"hot","args":{"rank":1,"room":"n"},"who":"anna","via":"desk"}}',
            ("hot acknowledge", ("n", 1, "anna", "", "desk"), 17, 17),
        ),
        (
            '{"shelve":{"alarm":"hot","args":["n",1],"who":"bob","for":"30 s"},"time":10,"id":["RUN",17]}',
            ("hot shelve", ("n", 1, "bob", "", "", "10", "40"), 10, 39),
        ),
        ('{"shelve":{"alarm":"hot","args":["n",1],"who":"bob","for":60},"time":0}', ("hot shelve", None, 0, 59)),
        ('{"unshelve":{"alarm":"hot","args":["n",1],"who":"bob"},"time":"3"}', ("hot unshelve", None, 3, 3)),
        ('{"remove":{"alarm":"still","who":"bob"},"time":3}', ("still remove", ("bob", "", ""), 3, 3)),
        ('{"restore":{"alarm":"still","args":[],"who":"bob"},"time":3}', ("still restore", ("bob", "", ""), 3, 3)),
        (
            '{"comment":{"alarm":"still","args":{},"who":"bob","comment":"so"},"time":"1970-01-01T00:00:03Z"}',
            ("still comment", ("bob", "so", ""), 3, 3),
        ),
    ],
)
def test_lines(line: str, record: tuple[str, Any, int, int]) -> None:
    """Arguments in order, or by their names; a shelf ends before its last moment."""
    name, row, lo, hi = read(line)
    assert (name, record[1] if record[1] is None else row, lo, hi) == record


ABOUT = '"alarm":"hot","args":["n",1],"who":"anna"'
WRONG = [
    (f'{{"acknowledge":{{{ABOUT}}}}}', "`time` is missing"),
    (f'{{"acknowledge":{{{ABOUT}}},"time":[1]}}', "`time` must be a number or text, got an array"),
    (f'{{"acknowledge":{{{ABOUT}}},"interval":"[1,2]"}}', "unknown key `interval` beside `acknowledge`"),
    (f'{{"acknowledge":{{{ABOUT}}},"tme":1}}', "unknown key `tme` beside `acknowledge`; did you mean `time`?"),
    (f'{{"acknowledge":{{{ABOUT}}},"time":"x"}}', "`x`"),
    (
        '{"acknowledge":["hot"],"time":1}',
        '`acknowledge` must hold an object such as {"alarm":…,"args":[…],"who":…}, got an array',
    ),
    (f'{{"acknowledge":{{{ABOUT},"comented":"x"}},"time":1}}', "`acknowledge` has no `comented`; did you mean `comment`?"),
    ('{"acknowledge":{"args":["n",1],"who":"anna"},"time":1}', "`acknowledge` lacks `alarm`, the predicate of one"),
    ('{"acknowledge":{"alarm":5,"who":"anna"},"time":1}', "`alarm` of `acknowledge` must be text, got a number"),
    ('{"acknowledge":{"alarm":"hot","args":"n","who":"anna"},"time":1}', "`args` must be an array or an object, got text"),
    ('{"acknowledge":{"alarm":"hot","args":[[1],1],"who":"anna"},"time":1}', "argument 1"),
    ('{"acknowledge":{"alarm":"hot","args":["n",1]},"time":1}', "`who` is missing: whoever acts has a name"),
    ('{"acknowledge":{"alarm":"hot","args":["n",1],"who":" "},"time":1}', "`who` is missing: whoever acts has a name"),
    (
        f'{{"acknowledge":{{"alarm":"hot","args":["n",1],"who":"{"x" * 2001}"}},"time":1}}',
        "`who` has more than 2000 characters",
    ),
    (f'{{"comment":{{{ABOUT},"comment":"a\\u0000"}},"time":1}}', "`comment` has the character U+0000, which is no text"),
    ('{"acknowledge":{"alarm":"hot","args":["n",1],"who":"a\\nb"},"time":1}', "`who` has the character U+000A"),
    ('{"acknowledge":{"alarm":"hto","args":["n",1],"who":"anna"},"time":1}', "no alarm `hto`; did you mean `hot`?"),
    ('{"acknowledge":{"alarm":"hot","args":["n"],"who":"anna"},"time":1}', "alarm `hot` has (room, rank), got 1"),
    ('{"acknowledge":{"alarm":"still","args":["n"],"who":"anna"},"time":1}', "alarm `still` has no arguments, got 1"),
    ('{"acknowledge":{"alarm":"hot","args":{"room":"n"},"who":"anna"},"time":1}', "alarm `hot` lacks its argument `rank`"),
    (
        '{"acknowledge":{"alarm":"hot","args":{"roam":"n","rank":1},"who":"anna"},"time":1}',
        "alarm `hot` has no argument `roam`; did you mean `room`?",
    ),
    (f'{{"acknowledge":{{{ABOUT},"for":"5 s"}},"time":1}}', "`acknowledge` does not last: only a shelf does"),
    (f'{{"comment":{{{ABOUT}}},"time":1}}', "the comment is empty"),
    (f'{{"shelve":{{{ABOUT}}},"time":1}}', "`for` is missing: a shelf lasts for some time, such as `2 h`"),
    (f'{{"shelve":{{{ABOUT},"for":true}},"time":1}}', "`for` must be text such as `2 h`, or a number, got a boolean"),
    (f'{{"shelve":{{{ABOUT},"for":"0 s"}},"time":1}}', "a shelf lasts longer than 0"),
    (f'{{"shelve":{{{ABOUT},"for":"2 min"}},"time":1}}', "alarm `hot` is shelved for 1 min at the most, got `2 min`"),
    (f'{{"shelve":{{{ABOUT},"for":"1/2"}},"time":1}}', "a shelf of `1/2` is finer than the program"),
    (
        '{"shelve":{"alarm":"still","who":"anna","for":"1 s"},"time":1}',
        "alarm `still` cannot be shelved: the program says so with `shelve at most 8 h`",
    ),
    ('{"acknowledge":{"alarm":"hot","args":[5,1],"who":"anna"},"time":1}', "`hot acknowledge` expects text for `room`, got"),
]


@pytest.mark.parametrize(("line", "reason"), WRONG)
def test_lines_that_are_none(line: str, reason: str) -> None:
    with pytest.raises(DataError) as refused:
        read(line)
    assert reason in str(refused.value)


def test_what_is_refused_lies_in_dead_letters(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With its place and its reason; the rest is taken."""
    (tmp_path / "a.tide").write_text(PROGRAM)
    lines = ['{"temp":{"room":"n","rank":1},"interval":"[1,9]"}', *(line for line, _ in WRONG)]
    (tmp_path / "f.jsonl").write_text("\n".join([*lines, f'{{"acknowledge":{{{ABOUT}}},"time":4}}', ""]))
    letters = tmp_path / "letters.jsonl"
    assert main(["run", str(tmp_path / "a.tide"), "--in", str(tmp_path / "f.jsonl"), "--dead-letter", str(letters)]) == 0
    told = letters.read_text().splitlines()
    assert len(told) == len(WRONG)
    assert all(f"f.jsonl:{number}" in line for number, line in enumerate(told, 2))
    assert '{"predicate":"hot_state","args":["n",1,"acknowledged"],"interval":"[4,' in capfd.readouterr().out


def test_an_action_is_taken_back() -> None:
    """As any other fact is."""
    line = f'{{"shelve":{{{ABOUT},"for":"5 s"}},"time":4,"retract":true}}'
    batch = JsonDecoder(PLAN.schema, "f", None, retracts=True).decode([line.encode()], 1)
    (retraction,) = batch.retractions
    assert not batch.rejected
    assert retraction.record == ("hot shelve", ("n", 1, "anna", "", "", "4", "9"), 4, 8)


def test_a_program_without_alarms_has_no_actions() -> None:
    """`acknowledge` is a predicate like others, and one that a program declares comes before what people do."""
    plain = tidelog.compile("timeline integer. input acknowledge(alarm: text). q(X) :- acknowledge(X).")
    batch = JsonDecoder(plain.schema, "f", None).decode([b'{"acknowledge":{"alarm":"hot"},"time":1}'], 1)
    assert batch.records == [("acknowledge", ("hot",), 1, 1)]
    both = tidelog.compile("timeline integer. input acknowledge(alarm: text). q(X) :- acknowledge(X). alarm q(x). output q.")
    batch = JsonDecoder(both.schema, "f", None).decode([b'{"acknowledge":{"alarm":"hot"},"time":1}'], 1)
    assert batch.records == [("acknowledge", ("hot",), 1, 1)]


Does = Callable[[Session[Any]], None]


@pytest.mark.parametrize(
    ("does", "state"),
    [
        (lambda run: run.acknowledge("hot", ["n", 1], who="anna", time=4, comment="on my way"), "acknowledged"),
        (lambda run: run.comment("hot", {"room": "n", "rank": 1}, who="anna", time=4, comment="so"), "unacknowledged"),
        (lambda run: run.shelve("hot", ["n", 1], who="anna", time=4, lasting="30 s"), "shelved"),
        (lambda run: run.shelve("hot", ["n", 1], who="anna", time=4, lasting=timedelta(seconds=9)), "shelved"),
        (lambda run: run.shelve("hot", ["n", 1], who="anna", time=4, lasting=1), "unacknowledged"),
        (lambda run: run.unshelve("hot", ["n", 1], who="anna", time=4), "unacknowledged"),
        (lambda run: run.remove_from_service("hot", ["n", 1], who="anna", time=4, via="desk"), "out_of_service"),
        (lambda run: run.restore_to_service("hot", ["n", 1], who="anna", time=4), "unacknowledged"),
    ],
)
def test_the_methods_of_a_session(does: Does, state: str) -> None:
    run = Session(tidelog.compile(PROGRAM, desk=True), held=True)
    run.push("temp", ["n", 1], interval="[1,9]")
    does(run)
    run.advance(6)
    assert [(item.alarm, item.state) for item in run.open_alarms() if item.alarm == "hot"] == [("hot", state)]


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        (lambda run: run.acknowledge("hto", ["n", 1], who="anna", time=4), "no alarm `hto`; did you mean `hot`?"),
        (lambda run: run.acknowledge("hot", "n1", who="anna", time=4), "alarm `hot` has (room, rank), got 2"),
        (lambda run: run.acknowledge("hot", [1, 1], who="anna", time=4), "`hot acknowledge` expects text for `room`, got"),
        (lambda run: run.acknowledge("hot", ["n", 1], who="", time=4), "`who` is missing: whoever acts has a name"),
        (lambda run: run.shelve("hot", ["n", 1], who="anna", time=4, lasting="1 h"), "is shelved for 1 min at the most"),
        (lambda run: run.shelve("hot", ["n", 1], who="anna", time=4, lasting=float("inf")), "a shelf ends"),
        (lambda run: run.shelve("still", who="anna", time=4, lasting=1), "alarm `still` cannot be shelved"),
        (lambda run: run.comment("still", who="anna", time=4, comment=" "), "the comment is empty"),
        (lambda run: run.acknowledge("still", who="anna", time=0), "late"),
    ],
)
def test_what_a_session_does_not_take(does: Does, reason: str) -> None:
    run: Session[Any] = Session(PLAN)
    run.push("temp", ["n", 1], time=3)
    with pytest.raises(DataError) as refused:
        does(run)
    assert reason in str(refused.value)

"""Retractions as sources read them, and answers that are taken back as sinks write them."""

from __future__ import annotations

import pytest

from tidelog.connectors.formats.formats import make_decoder, make_encoder
from tidelog.connectors.formats.framing import is_empty
from tidelog.plans.data.changes import Change, ChangeRecord, RetractedChange
from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.data.timeline import POS, Timeline
from tidelog.runtime.ports.changelog import Group, pack_told, unpack_told
from tidelog.runtime.ports.interfaces import Batch, Retraction

SCHEMA = Schema(
    Timeline("integer"),
    {"temp": PredicateSchema("temp", 2, ("sensor", "value"), ("text", "number"))},
)


def read(kind: str, *lines: str, retracts: bool = True) -> Batch:
    """What a decoder makes of these lines."""
    return make_decoder(kind, SCHEMA, "data", None, retracts=retracts).decode([line.encode() for line in lines], 1)


@pytest.mark.parametrize(
    ("kind", "line", "record"),
    [
        ("facts", "retract temp(s1,85)@3", ("temp", ("s1", 85), 3, 3)),
        ("facts", "RETRACT  temp(s1,85)@[3,7]. % wrong", ("temp", ("s1", 85), 3, 7)),
        ("facts", "retract 'temp'(s1,85)@[3,inf)", ("temp", ("s1", 85), 3, POS)),
        ("jsonl", '{"predicate":"temp","args":["s1",85],"time":3,"retract":true}', ("temp", ("s1", 85), 3, 3)),
        ("jsonl", '{"retract":true,"temp":{"sensor":"s1","value":85},"interval":"[3,7]"}', ("temp", ("s1", 85), 3, 7)),
        ("jsonl", '{"temp":{"sensor":"s1","value":85},"time":3,"retract":true,"id":["a",1]}', ("temp", ("s1", 85), 3, 3)),
    ],
)
def test_a_line_takes_a_fact_back(kind: str, line: str, record: tuple[object, ...]) -> None:
    """It stands behind the facts before it, and names its own line."""
    fact = "temp(s1,85)@1" if kind == "facts" else '{"temp":{"sensor":"s1","value":85},"time":1}'
    batch = read(kind, fact, "", line, fact)
    assert batch.retractions == [Retraction(1, record, "data:3")]
    assert len(batch.records) == 2
    assert list(batch.places or ()) == ["data:1", "data:4"]
    assert not batch.rejected
    assert not is_empty(read(kind, line))


@pytest.mark.parametrize("kind", ["facts", "jsonl"])
def test_where_nothing_is_taken_back_such_a_line_is_refused(kind: str) -> None:
    """So in files of facts, in tests of rules, and in runs without corrections."""
    line = "retract temp(s1,85)@3" if kind == "facts" else '{"temp":{"sensor":"s1","value":85},"time":3,"retract":true}'
    batch = read(kind, line, retracts=False)
    assert [item.reason for item in batch.rejected] == ["a fact is taken back, which only `tidelog run --corrections` does"]
    assert not batch.retractions
    assert not batch.records


@pytest.mark.parametrize(
    ("kind", "line", "reason"),
    [
        ("facts", "retract temp(s1,85)", "a fact of a stream needs a time, such as `@17` or `@[1,2)`"),
        ("facts", "retract temp(s1)@3", "`temp` takes 2 arguments, got 1"),
        (
            "jsonl",
            '{"predicate":"temp","args":["s1",85],"time":3,"retract":1}',
            "`retract` must be true or false, got a number",
        ),
        (
            "jsonl",
            '{"temp":{"sensor":"s1","value":85},"time":3,"retract":"yes"}',
            "`retract` must be true or false, got text",
        ),
        ("facts", "retrct temp(s1,85)@3", "expected `@` and a time, got `temp(s1,85)@3`; did you mean `retract`?"),
        ("jsonl", '{"predicate":"temp","args":["s1",85],"retract":true}', "`time` or `interval` is missing"),
    ],
)
def test_a_retraction_that_cannot_be_read(kind: str, line: str, reason: str) -> None:
    """It is refused for the reason for which the fact would be."""
    [item] = read(kind, line).rejected
    assert item.reason.startswith(reason)


def test_what_is_not_retracted_is_a_fact() -> None:
    """`"retract":false` says nothing; `retract` is still a name for a predicate."""
    assert len(read("jsonl", '{"temp":{"sensor":"s1","value":85},"time":3,"retract":false}').records) == 1
    decoder = make_decoder("facts", Schema(Timeline("integer")), "data", None, retracts=True)
    assert decoder.decode([b"retract@3", b"retract(a)@3"], 1).records == [("retract", (), 3, 3), ("retract", ("a",), 3, 3)]


CHANGES = [
    RetractedChange("alarm", ("p1",), 3, 7),
    RetractedChange("alarm", ("p1",), 3, POS),
    ChangeRecord("alarm", ("p1",), 4, POS),
]


def test_answers_that_are_taken_back_are_written_as_what_was_told() -> None:
    """The same line with `"retracted":true`, or, in text, behind `retract`, so that another run can read it."""
    assert make_encoder("facts", SCHEMA, False).encode(CHANGES).decode().splitlines() == [
        "retract alarm(p1)@[3,7]",
        "retract alarm(p1)@[3..",
        "alarm(p1)@[4..",
    ]
    assert make_encoder("jsonl", SCHEMA, False).encode(CHANGES).decode().splitlines() == [
        '{"predicate":"alarm","args":["p1"],"begins":3,"ends":7,"retracted":true}',
        '{"predicate":"alarm","args":["p1"],"begins":3,"retracted":true}',
        '{"predicate":"alarm","args":["p1"],"begins":4}',
    ]


def test_answers_that_are_taken_back_are_stored_as_such() -> None:
    """What waits for a sink on the disk is still known to be taken back."""
    [group] = unpack_told(pack_told([Group(1, 0, CHANGES)]))
    assert [(type(change), *change) for change in group.answers] == [(type(change), *change) for change in CHANGES]


def test_a_change_that_is_taken_back_is_another_than_the_change() -> None:
    """They share their interval, not their meaning."""
    back, told = (Change(kind("alarm", ("p1",), 3, 7), SCHEMA.timeline) for kind in (RetractedChange, ChangeRecord))
    assert back != told
    assert (back.is_retracted, told.is_retracted) == (True, False)
    assert str(back) == "retract alarm(p1)@[3,7]"
    assert len({back, told}) == 2

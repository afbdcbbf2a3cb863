"""JSON lines that are flat objects: facts of the predicate that a SPEC tells."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.connectors import JsonDecoder
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.spec import parse_spec
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import SpecError

SCHEMA = tidelog.compile(
    "timeline rational, unit 1 s, resolution 1 ms. input temp(sensor: text, value: number). input row(q: boolean)."
    "input tick(). input temp2(time, x). hot(S) :- temp(S, V)."
).schema
OPEN = tidelog.compile("timeline integer. q(X) :- p(X, Y).").schema


def read(options: str, *lines: str, schema: Schema = SCHEMA) -> tuple[list[Record], list[str]]:
    """The facts of lines, and why the others are none."""
    spec = parse_spec(f"jsonl+a?{options}")
    decoder = make_decoder("jsonl", schema, "a", spec.predicate, dialect=spec.dialect)
    batch = decoder.decode([line.encode() for line in lines], 1)
    return batch.records, [f"{item.place}: {item.reason}" for item in batch.rejected]


def test_a_flat_object_is_a_fact_of_the_predicate() -> None:
    """Its members are the fields and the time, in any order; the other forms stay."""
    lines = ['{"time":0,"q":true}', '{"q":false,"time":"1/2"}', '{"row":{"q":true},"time":1}']
    lines += [
        '{"predicate":"row","args":[true],"time":2}',
        '{"from":1,"to":"inf","q":true}',
        '{"interval":"[1,2)","row":{"q":true}}',
    ]
    records, rejected = read("predicate=row", *lines)
    assert rejected == []
    assert [record[1:3] for record in records] == [
        (("true",), 0),
        (("false",), 1000),
        (("true",), 2000),
        (("true",), 4000),
        (("true",), 2000),
        (("true",), 2000),
    ]


def test_members_may_have_other_names_and_times() -> None:
    """The options are those of CSV."""
    options = "predicate=temp&time=ts&epoch=ms&columns=sensor:id,value:v&extra=ignore"
    records, rejected = read(
        options, '{"id":"s1","v":2.5,"ts":1500,"meta":{"a":[1]}}', '{"id":"s1","ts":1500}', '{"id":1,"v":2,"ts":1}'
    )
    assert records == [("temp", ("s1", 2.5), 3000, 3000)]
    assert rejected == [
        "a:2: the object has no column `v` for `value`: the columns are id",
        "a:3: `temp` expects text for `sensor`, got 1",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"time":0,"sensr":"s","value":1}', "`temp` has no field `sensr`; did you mean `sensor`?"),
        ('{"time":0,"sensor":"s"}', "the object lacks the field `value` of `temp`"),
        ('{"time":0,"sensor":"s","value":null}', "`value` must be text, a number or a boolean, got null"),
        ('{"time":null,"sensor":"s","value":1}', "`time` must be a number or text, got null"),
        ('{"sensor":"s","value":1}', "the object needs a column `time`, or `from` and `to`, got: sensor, value"),
        ('{"time":0,"sensor":"s","value":1,"value":2}', "key `value` stands twice"),
        ('{"tmep":{"sensor":"s","value":1},"time":0}', "`tmep` is neither a key of a fact nor an input with named fields"),
    ],
)
def test_what_is_no_fact(line: str, reason: str) -> None:
    """Each says why, and costs no other line."""
    records, rejected = read("predicate=temp", line, '{"time":0,"sensor":"s","value":1}')
    assert len(records) == 1
    assert rejected[0].startswith(f"a:1: {reason}")


def test_members_need_names() -> None:
    """Where a program declares no fields, nobody knows which member is which argument, unless the SPEC says so."""
    records, rejected = read("predicate=p", '{"time":0,"a":1,"b":2}', schema=OPEN)
    assert records == []
    assert "members of an object are in no order" in rejected[0]
    assert read("predicate=p&columns=x:b,y:a", '{"time":0,"a":1,"b":2}', schema=OPEN)[0] == [("p", (2, 1), 0, 0)]


def test_a_field_may_be_called_as_the_time() -> None:
    """A field `time` is one where other members hold the time."""
    assert read("predicate=temp2&time=ts", '{"ts":1,"time":5,"x":"a"}')[0] == [("temp2", (5, "a"), 2000, 2000)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("predicate=p&sep=;", "`sep`, `decimal` and `melt` are for CSV"),
        ("epoch=ms", "do not say which predicate they are of"),
    ],
)
def test_options_that_such_lines_have_not(options: str, reason: str) -> None:
    """They are refused before anything is read."""
    with pytest.raises(SpecError, match=reason):
        read(options)


@drawn(200)
@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from('ab"\\: é'), max_size=4),
            st.one_of(st.integers(-(2**65), 2**65), st.floats(allow_nan=False, allow_infinity=False, width=32)),
            st.integers(0, 10**6),
        ),
        max_size=30,
    ),
    st.permutations(["sensor", "value", "time"]),
)
def test_flat_objects_say_what_the_others_say(rows: list[tuple[str, float, int]], order: list[str]) -> None:
    """The same facts and refusals as of the lines that name the predicate, at the same places."""
    flat, keyed = [], []
    for sensor, value, time in rows:
        members = {"sensor": sensor, "value": value, "time": time}
        flat.append(json.dumps({name: members[name] for name in order}).encode())
        keyed.append(json.dumps({"temp": {"sensor": sensor, "value": value}, "time": time}).encode())
    found = JsonDecoder(SCHEMA, "a", "temp").decode(flat, 1)
    expected = JsonDecoder(SCHEMA, "a").decode(keyed, 1)
    assert found.records == expected.records
    assert repr(found.records) == repr(expected.records)
    assert [(item.place, item.reason) for item in found.rejected] == [
        (item.place, item.reason) for item in expected.rejected
    ]

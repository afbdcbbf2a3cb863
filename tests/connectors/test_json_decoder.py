"""JSON lines: the three forms, exact times, and why what is not read is refused."""

from __future__ import annotations

import json

import pytest

import tidelog
from tidelog.connectors import JsonDecoder
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.timeline import NEG


def read(schema: Schema, *lines: str) -> list[Record]:
    """The records of these lines, none of which may be refused."""
    batch = JsonDecoder(schema, "data").decode([line.encode() for line in lines], 1)
    assert batch.rejected == []
    return batch.records


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ('{"predicate":"temp","args":["s1",21.5],"time":17}', ("temp", ("s1", 21.5), 68, 68)),
        ('{"predicate": "temp", "args": ["s1", 21.5], "time": 17}', ("temp", ("s1", 21.5), 68, 68)),
        ('{"time":17,"predicate":"temp","args":["s1",21.5]}', ("temp", ("s1", 21.5), 68, 68)),
        ('{"predicate":"p","args":["a"],"interval":"[1,2)"}', ("p", ("a",), 4, 7)),
        ('{"interval":"(-inf,2]","predicate":"p","args":["a"]}', ("p", ("a",), NEG, 8)),
        ('{"temp":{"sensor":"s1","value":21.5},"time":17}', ("temp", ("s1", 21.5), 68, 68)),
        ('{"time":17,"temp":{"value":21.0,"sensor":"s1"}}', ("temp", ("s1", 21), 68, 68)),
        ('{"temp":{"value":3,"sensor":"a:b"},"interval":"[1,1]"}', ("temp", ("a:b", 3), 4, 4)),
        ('{"predicate":"p","args":["a"],"time":0.5}', ("p", ("a",), 2, 2)),
        ('{"predicate":"p","args":["a"],"time":5e-1}', ("p", ("a",), 2, 2)),
        ('{"predicate":"p","args":["a"],"time":"1/2"}', ("p", ("a",), 2, 2)),
        ('{"predicate":"p","args":["a"],"time":"\\u0031"}', ("p", ("a",), 4, 4)),
        ('{"predicate":"rain","time":1}', ("rain", (), 4, 4)),
        ('{"predicate":"q","args":[true,3.0],"time":1}', ("q", ("true", 3), 4, 4)),
        ('{"predicate":"q","args":[1,true],"time":1}', ("q", (1, "true"), 4, 4)),
        ('{"predicate":"q","args":[9007199254740993.0,-0.0],"time":1}', ("q", (9007199254740993, 0), 4, 4)),
        ('{"predicate":"q","args":["\\u00e9\\n",",\\"time\\":5}"],"time":1}', ("q", ("é\n", ',"time":5}'), 4, 4)),
        ('{"predicate":"a1:P","args":["x:y"],"time":1}', ("a1:P", ("x:y",), 4, 4)),
        ('{"predicate":"p","args":["\\ud83d\\ude00"],"time":1}', ("p", ("\U0001f600",), 4, 4)),
    ],
)
def test_facts_are_read(halves: Schema, line: str, record: object) -> None:
    """Each form of a fact gives its record, in any order of its keys; numbers are exact."""
    assert read(halves, line) == [record]


@pytest.mark.parametrize("name", ['say "x"', "back\\slash", "tab\there"])
def test_a_name_that_json_escapes(name: str) -> None:
    """An input may be called anything: no decoder was made where the key of its facts has an escape."""
    schema = tidelog.compile(f"input '{name}'(room: text). a(R) :- '{name}'(R).").schema
    line = json.dumps({name: {"room": "hall"}, "time": 1})
    assert [record[:2] for record in read(schema, line)] == [(name, ("hall",))]


RUN = "0aedc20ab9244c55aeb096c2474dbfc7"


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (f'{{"predicate":"temp","args":["s1",21.5],"time":17,"id":["{RUN}",17]}}', ("temp", ("s1", 21.5), 68, 68)),
        (f'{{"temp":{{"sensor":"s1","value":21.5}},"time":17,"id":["{RUN}",18]}}', ("temp", ("s1", 21.5), 68, 68)),
        (f'{{"predicate":"p","args":["a"],"interval":"[1,2)","id":["{RUN}",0]}}\r', ("p", ("a",), 4, 7)),
        (f'{{"id":["{RUN}",5],"predicate":"p","args":["a"],"time":1}}', ("p", ("a",), 4, 4)),
        (f'{{"predicate":"p","args":[true],"id":["{RUN}",5],"time":1}}', ("p", ("true",), 4, 4)),
        ('{"predicate":"q","args":["\\"id\\"",2],"time":1,"id":["a1",3]}', ("q", ('"id"', 2), 4, 4)),
    ],
)
def test_the_id_that_a_sink_adds_is_passed_over(halves: Schema, line: str, record: object) -> None:
    """What a durable run sends to a socket can be read by another run, whether its lines repeat or not."""
    assert read(halves, line) == [record]
    assert read(halves, line, line, line) == [record] * 3


@pytest.mark.parametrize("value", ["17", '"a1"', "[]", '["a1"]', '["a1","17"]', '["a1",-1]', '["a1",1.5]', "[1,2]", "{}"])
def test_what_is_no_id_is_refused(halves: Schema, value: str) -> None:
    """Any other member of this name is an unknown key."""
    batch = JsonDecoder(halves, "data").decode([f'{{"predicate":"p","args":["a"],"time":1,"id":{value}}}'.encode()], 1)
    assert batch.records == []
    assert [item.reason.partition("`")[0] for item in batch.rejected] == ["unknown key "]


def test_two_ids_are_refused(halves: Schema) -> None:
    """A key may stand once."""
    line = b'{"predicate":"p","args":["a"],"id":["a1",1],"time":1,"id":["a1",2]}'
    batch = JsonDecoder(halves, "data").decode([line], 1)
    assert [item.reason for item in batch.rejected] == ["key `id` stands twice"]


def test_equal_looking_rows_are_not_confused(halves: Schema) -> None:
    """What Python holds for equal (`1`, `1.0`, `true`) is read anew each time: `true` is not 1."""
    lines = [f'{{"predicate":"p","args":[{value}],"time":1}}' for value in ("1", "true", "1.0", "false", "0")]
    assert [row for _, row, _, _ in read(halves, *lines)] == [(1,), ("true",), (1,), ("false",), (0,)]


def test_iso_times_become_ticks(seconds: Schema) -> None:
    """ISO-8601 text counts from 1970 in the declared unit."""
    lines = ['{"predicate":"rain","args":[],"time":"1970-01-01T00:01:05Z"}', '{"time":"1970-01-02","predicate":"rain"}']
    assert [lo for _, _, lo, _ in read(seconds, *lines)] == [65, 86400]


P = '{"predicate":"p","args":["a"],'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (P + '"time":1', "not valid JSON at column 39: expecting ',' delimiter"),
        (P + '"time":1}}', "not valid JSON at column 40: extra data"),
        (P + '"time":01}', "not valid JSON at column 39: expecting ',' delimiter"),
        (P + '"time":NaN}', "`NaN` is not a JSON number"),
        (P + '"time":-Infinity}', "`-Infinity` is not a JSON number"),
        ('{"predicate":"p","args":[NaN],"time":1}', "`NaN` is not a JSON number"),
        ('{"predicate":"p","args":[1e999],"time":1}', "a number must be finite"),
        (P + '"time":1e1000000}', "number 1e1000000 has an exponent beyond 30"),
        (P + '"time":1,"time":2}', "key `time` stands twice"),
        (P + '"args":["a"],"time":2}', "key `args` stands twice"),
        ('{"predicate":"p","predicate":"p","time":2}', "key `predicate` stands twice"),
        ('{"predicate":"p","pr\\u0065dicate":"p","args":[],"time":2}', "key `predicate` stands twice"),
        ('{"temp":{"sensor":"a","value":1,"value":2},"time":1}', "key `value` stands twice"),
        ('{"temp":{"sensor":"a","value":1},"temp":{"sensor":"a","value":1},"time":1}', "key `temp` stands twice"),
        (P + '"time":1,"interval":"[1,2]"}', "`time` and `interval` exclude each other"),
        (P + '"interval":"[1,2]","time":1}', "`time` and `interval` exclude each other"),
        ('{"predicate":"p","args":["a"]}', "`time` or `interval` is missing"),
        (P + '"tme":1}', "unknown key `tme`; did you mean `time`?"),
        (P + '"time":1,"x":{"y":1}}', "unknown key `x`"),
        (P + '"time":true}', "`time` must be a number or text, got a boolean"),
        (P + '"time":null}', "`time` must be a number or text, got null"),
        (P + '"time":"[1,2]"}', "`[1,2]` is an interval, not a single time"),
        (P + '"time":""}', "a time is missing"),
        (P + '"time":0.5}', "time 1/2 is not a whole number, as `timeline integer` needs"),
        (
            P + '"time":"2010-07-01"}',
            "time `2010-07-01` needs a unit: declare one, such as `timeline integer, unit 1 s`",
        ),
        (P + '"interval":17}', "`interval` must be text such as `[1,2)`, got a number"),
        (P + '"interval":"17"}', "interval `17` is not of the form `[1,2)`"),
        ('{"predicate":"p","args":[null],"time":1}', "argument 1 must be text, a number or a boolean, got null"),
        ('{"predicate":"q","args":[1,[2]],"time":1}', "argument 2 must be text, a number or a boolean, got an array"),
        ('{"predicate":"p","args":{"a":1},"time":1}', "`args` must be an array, got an object"),
        ('{"predicate":1,"args":[],"time":1}', "`predicate` must be text, got a number"),
        ('{"predicate":"","args":[],"time":1}', "`predicate` is empty"),
        (
            '{"args":["a"],"time":1}',
            "`predicate` is missing",
        ),
        ('{"time":1}', "`predicate` is missing"),
        ('{"predicate":"p","args":["\\ud800"],"time":1}', "text holds half a surrogate pair"),
        ('{"predicate":"p","args":[18446744073709551616],"time":1}', "number 18446744073709551616 is beyond 64 bits"),
        ('{"predicate":"p","args":["a","b"],"time":1}', "`p` takes 1 argument, got 2"),
        ('{"temp":{"sensor":"s1"},"time":1}', "`temp` lacks its field `value`"),
        ('{"temp":{"sensor":"s1","vlaue":1},"time":1}', "`temp` has no field `vlaue`; did you mean `value`?"),
        ('{"temp":{"sensor":"s1","value":null},"time":1}', "`value` must be text, a number or a boolean, got null"),
        ('{"temp":{"sensor":"s1","value":"x"},"time":1}', "`temp` expects number for `value`, got x"),
        ('{"temp":[1],"time":1}', "`temp` must hold an object with its fields, got an array"),
        (
            '{"tmp":{},"time":1}',
            "`tmp` is neither a key of a fact nor an input with named fields; did you mean `temp`?",
        ),
        (
            '{"tmep":{},"time":1}',  # no key of a fact holds an object: `time` is not meant
            "`tmep` is neither a key of a fact nor an input with named fields; did you mean `temp`?",
        ),
        (
            '{"temp":{},"tiem":1}',
            "`tiem` is neither a key of a fact nor an input with named fields; did you mean `time`?",
        ),
        ("[1,2]", "expected an object, got an array"),
        ("17", "expected an object, got a number"),
        ("[" * 100_000, "not a fact: nested too deeply"),
        (P + '"time":' + "[" * 100_000, "not a fact: nested too deeply"),
        (b'{"predicate":"p","args":["\xff"],"time":1}', "not valid UTF-8 at byte 27"),
        (b'{"predicate":"p","args":["a"],"time":"\xff"}', "not valid UTF-8 at byte 39"),
    ],
)
def test_malformed_lines_are_rejected_with_reason(integer: Schema, line: str | bytes, reason: str) -> None:
    """A line that is no fact is told with its place and its reason, and costs no other line."""
    raw = line if isinstance(line, bytes) else line.encode()
    good = b'{"predicate":"p","args":["a"],"time":1}'
    batch = JsonDecoder(integer, "data").decode([good, raw, b"", good], 7)
    assert [(item.place, item.reason) for item in batch.rejected] == [("data:8", reason)]
    assert [record[1] for record in batch.records] == [("a",), ("a",)]
    assert batch.places is not None and list(batch.places) == ["data:7", "data:10"]


def test_two_inputs_in_one_line_are_rejected(seconds: Schema) -> None:
    """One line holds one fact: a second input, or a key that means nothing, is refused."""
    lines = [b'{"temp":{},"temp2":{},"time":1}', b'{"temp":{},"q":{},"time":1}']
    reasons = [item.reason for item in JsonDecoder(seconds, "data").decode(lines, 1).rejected]
    assert reasons == [
        "`temp2` is neither a key of a fact nor an input with named fields; did you mean `temp`?",
        "one fact a line: got `temp` and `q`",
    ]


def test_reading_again_gives_the_same(integer: Schema) -> None:
    """What is cached from good lines does not make a wrong line pass: refusals are the same on the second reading."""
    lines = [
        b'{"predicate":"p","args":["a"],"time":1}',
        b'{"predicate":"p","args":["a"],"interval":"[1,2]"}',
        b'{"predicate":"p","args":["a"],"interval":"[1,2]","time":1}',
        b'{"predicate":"p","args":["a"],"time":1,"time":1}',
        b'{"predicate":"p","args":["a"],"time":"[1,2]"}',
        b'{"predicate":"p","args":["a"],"interval":1}',
    ]
    decoder = JsonDecoder(integer, "data")
    first, second = decoder.decode(lines, 1), decoder.decode(lines, 1)
    assert (first.records, first.rejected) == (second.records, second.rejected)
    assert [item.place for item in first.rejected] == ["data:3", "data:4", "data:5", "data:6"]

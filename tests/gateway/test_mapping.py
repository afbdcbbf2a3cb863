"""What messages become: topics, paths, units, times; and what answers become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.arithmetic import read_conversion
from tidelog.connectors.mapping.fields import converter, getter, member_of
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.messages import Message, read_recorded, write_recorded
from tidelog.connectors.mapping.moments import written
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.connectors.mapping.value_code import FieldSource, value_taker
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import PredicateSchema, Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.syntax import FieldType

PLAN = tidelog.compile(
    """timeline integer, unit 1 s, round down.
input temp(machine: text, celsius: number).
input door(door: text, state: text).
output hot, opened.
hot(M, C) :- temp(M, C), C >= 80.
opened(D) :- door(D, open)."""
)


def mapped(payload: bytes, sent_to: str = "plant/press/temp", **given: Any) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The rows with their times, and the reasons of what was refused, of one message that came at 100.9 s."""
    by = given.pop("by", "")
    form = given.pop("form", "json")
    settings = msgspec.convert({"predicate": "temp", "topic": "plant/{machine}/temp", **given}, MapSettings)
    batch = MapMapper("floor", PLAN.schema, [settings], format=form, by=by).batch([Message(sent_to, payload, 100.9)])
    assert batch.places is not None and len(batch.places) == len(batch.records)
    return [(*row, time) for _, row, time, _ in batch.records], [item.reason for item in batch.rejected]


def test_names_are_enough_where_they_agree() -> None:
    """A field that is not told is the topic's level, or the payload's member, of its name; the time is that of arrival."""
    assert mapped(b'{"celsius": 21.5, "other": 1}') == ([("press", 21.5, 100)], [])


@pytest.mark.parametrize(
    ("payload", "field", "value"),
    [
        (b'{"a": {"b": [7, 8]}}', "a.b[1]", 8),
        (b'{"a-b": "9.5"}', '"a-b"', 9.5),
        (b'{"f": 212}', {"path": "f", "convert": "(X - 32) * 5 / 9"}, 100),
        (b'{"f": " 50 "}', {"path": "f", "convert": "X / 0.5"}, 100),
        (b"{}", {"path": "f", "default": -1}, -1),
        (b"{}", {"value": 3}, 3),
        (b'{"s": "warm"}', {"path": "s", "values": {"warm": 30, "cold": 5}}, 30),
        (b"12.25", "@", 12.25),
    ],
)
def test_where_a_value_comes_from(payload: bytes, field: Any, value: float) -> None:
    """A path, a text that is a number, arithmetic, a default, a constant, a name for a value, the payload itself."""
    assert mapped(payload, fields={"celsius": field}) == ([("press", value, 100)], [])


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"{", "the payload is no JSON"),
        (b'{"celsius": "warm"}', 'field `celsius`: expected a number, got "warm"'),
        (b'{"celsius": null}', "field `celsius`: there is nothing, and no default"),
        (b'{"celsius": [1]}', "field `celsius`: expected a number, got [1]"),
        (b"[]", "field `celsius`: there is nothing"),
        (b'{"celsius": 1e999}', "the payload is no JSON: Number out of range; for"),
        (b"[" * 100_000, "the payload is nested too deeply"),
    ],
)
def test_what_cannot_be_read_says_why(payload: bytes, reason: str) -> None:
    """A dead letter names the field and what was there."""
    rows, reasons = mapped(payload)
    assert rows == [] and len(reasons) == 1 and reason in reasons[0]


def test_arithmetic_whose_result_becomes_text_takes_numbers_alone() -> None:
    """A device's text is the number that it writes, or a dead letter: it does not end the run."""
    of_text = {"celsius": {"path": "c", "convert": "X + 1"}, "machine": {"path": "c", "convert": "X + 1", "type": "text"}}
    assert mapped(b'{"c": "21.5"}', fields=of_text)[0] == [("22.5", 22.5, 100)]
    reason = 'field `machine`: expected a number, got "warm"'
    assert mapped(b'{"c": "warm"}', fields=of_text) == ([], [reason])


def test_arithmetic_without_a_result_costs_one_fact() -> None:
    """A division by zero is a dead letter."""
    assert mapped(b'{"celsius": 0}', fields={"celsius": {"path": "celsius", "convert": "1 / X"}})[0] == []


def test_one_message_may_hold_many_readings() -> None:
    """`each` takes an array apart; what is wrong with one reading costs no other; `$.` starts at the whole payload."""
    payload = b'{"id": "p7", "all": [{"v": 1}, {"v": "x"}, {"v": 3}, {"v": 4, "skip": true}]}'
    fields = {"machine": "$.id", "celsius": "v"}
    rows, reasons = mapped(payload, each="all", when="!skip", fields=fields)
    assert rows == [("p7", 1, 100), ("p7", 3, 100)] and len(reasons) == 1
    assert mapped(b'{"all": 5}', each="all", fields=fields)[1] == ["`each`: `all` is no array"]


@pytest.mark.parametrize(
    ("celsius", "is_fact"),
    [
        ("0", True),
        ("0.0", True),
        ("-1", True),
        ("false", False),
        ("null", False),
        ('""', False),
        ("[]", False),
        ("{}", False),
    ],
)
def test_when_has_the_truth_of_jmespath(celsius: str, is_fact: bool) -> None:
    """0 °C is a reading: numbers are true; false, null and what is empty are not."""
    payload = b'{"celsius": %s}' % celsius.encode()
    rows, reasons = mapped(payload, when="celsius", fields={"celsius": {"value": 5}})
    assert (len(rows), reasons) == (int(is_fact), [])


@pytest.mark.parametrize(
    ("format", "time", "point"),
    [
        ("iso", '"1970-01-01T00:01:00.5+00:00"', 60),
        ("s", "60.5", 60),
        ("s", '"60"', 60),
        ("ms", "60500", 60),
        ("us", "60500000", 60),
    ],
)
def test_a_time_may_stand_in_the_message(format: str, time: str, point: int) -> None:
    """In ISO-8601, or in seconds, milliseconds or microseconds since 1970; rounded as the program says."""
    rows, reasons = mapped(f'{{"celsius": 1, "t": {time}}}'.encode(), time={"path": "t", "format": format})
    assert rows == [("press", 1, point)] and not reasons


@pytest.mark.parametrize(("format", "time"), [("iso", "5"), ("ms", '"soon"'), ("s", "null"), ("s", "true"), ("s", "1e300")])
def test_what_is_no_time_is_told(format: str, time: str) -> None:
    """It is a dead letter, never another time."""
    rows, reasons = mapped(f'{{"celsius": 1, "t": {time}}}'.encode(), time={"path": "t", "format": format})
    assert rows == [] and reasons[0].startswith("time: ")


def test_what_is_no_time_is_shown_as_it_was_sent() -> None:
    """As JSON, not as Python writes it."""
    told = mapped(b'{"celsius": 1, "t": true}', time={"path": "t", "format": "s"})[1]
    assert told == ["time: expected a time in s since 1970, got true"]


def test_extra_members() -> None:
    """They are ignored, refused, or kept in a field as JSON."""
    payload = b'{"celsius": 1, "battery": 3, "a": true}'
    assert mapped(payload, extra="refuse")[1] == ["there is a member `battery`, which no field reads"]
    fields = {"machine": {"rest": True}}
    assert mapped(payload, fields=fields)[0] == [('{"a":true,"battery":3}', 1, 100)]


def test_plain_text_payloads() -> None:
    """A payload that is no JSON is a text, which may stand for something else."""
    settings = {
        "predicate": "door",
        "topic": "doors/{door}",
        "fields": {"state": {"path": "@", "values": {"ON": "open", "OFF": "closed"}}},
    }
    assert mapped(b"ON", "doors/d1", form="text", **settings)[0] == [("d1", "open", 100)]
    assert mapped(b"OF", "doors/d1", form="text", **settings)[1] == [
        "field `state`: OF is none of the known values; did you mean `OFF`?"
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"predicate": "tmp"}, "the program has no predicate `tmp`; did you mean `temp`?"),
        ({"predicate": "hot"}, "`hot` is derived"),
        ({"fields": {"celcius": "v"}}, "`temp` has no field `celcius`; did you mean `celsius`?"),
        ({"fields": {"celsius": "a[[["}}, "`a[[[` is no JMESPath"),
        ({"fields": {"celsius": {"path": "a", "value": 1}}}, "field `celsius` comes from one of"),
        ({"fields": {"celsius": {"topic": "machin"}}}, "the topic names no level `machin`; did you mean `machine`?"),
        ({"fields": {"celsius": {"path": "a", "convert": "Y + 1"}}}, "arithmetic has numbers and X"),
        ({"fields": {"celsius": {"path": "a", "convert": "X), p(X"}}}, "is no arithmetic over X"),
        ({"time": {"format": "ms"}}, "the time comes from one of"),
        ({"topic": "a/#/b"}, "`#` stands last"),
    ],
)
def test_maps_that_do_not_fit_are_told_at_once(given: dict[str, Any], reason: str) -> None:
    """Before anything runs, with the nearest name."""
    with pytest.raises(SpecError) as caught:
        mapped(b"{}", **given)
    assert reason in str(caught.value)


def test_patterns_of_topics() -> None:
    """Wildcards as MQTT has them: `#` also takes the level before it, and none begins with `$`."""
    assert TopicPattern.parse("a/#").match("a") == {}
    assert TopicPattern.parse("a/+").match("a") is None
    assert TopicPattern.parse("#").match("$SYS/x") is None
    assert TopicPattern.parse("{x}/{y}").match("1/2") == {"x": "1", "y": "2"}


def test_conversions_are_those_of_rules() -> None:
    """Whole results are whole numbers; what has no result is an error of the data."""
    assert read_conversion("X * 9/5 + 32")(100) == 212
    assert read_conversion("min(X, 5) mod 3")(8) == 2
    with pytest.raises(DataError):
        read_conversion("1 / X")(0)


@pytest.mark.parametrize("payload", [b'{"a":1}', b"text", b"\xff\x00", b"", b'"\\n"'])
def test_recorded_messages_are_read_back(payload: bytes) -> None:
    """Whatever a payload holds, its line gives it back."""
    message = Message("a/b", payload, 17.25, True, {"k": "v"})
    line = write_recorded(message)
    assert line.count(b"\n") == 1
    assert read_recorded(line) == (message, True)


@pytest.mark.parametrize("line", [b"{}", b'{"topic":"a","payload":1,"text":"x"}', b'{"topc":"a","payload":1}', b"1"])
def test_what_records_no_message(line: bytes) -> None:
    """It is an error of the data."""
    with pytest.raises(DataError):
        read_recorded(line)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-9, 9), st.sampled_from(["21.5", "on", "x y"]))
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2))
OBJECTS = st.one_of(VALUES, st.dictionaries(st.sampled_from("abc"), VALUES))
SETTINGS = st.builds(
    dict,
    st.sampled_from(
        [{"path": path} for path in ("a", "b", "a.b", "@", "$.a", "$.b.a", "length(a)")]
        + [{"topic": "machine"}, {"value": 7}, {"meta": "topic"}, {"property": "p"}, {"rest": True}]
    ),
    default=st.sampled_from([None, 0, "none"]),
    values=st.sampled_from([None, None, {"on": 1, "true": "t"}]),
    type=st.sampled_from([None, "text", "number", "json"]),
    convert=st.sampled_from(["", "", "X + 1"]),
)


@given(
    fields=st.lists(SETTINGS, max_size=3),
    kind=st.sampled_from(["any", "text", "number", "integer"]),
    payload=OBJECTS,
    element=OBJECTS,
)
def test_values_are_those_of_each_field(fields: list[dict[str, Any]], kind: FieldType, payload: Any, element: Any) -> None:
    """The first field that has none, or one that cannot be converted, is what is told."""
    message, levels = Message("plant/press/temp", b"", 0.0, properties={"p": "5"}), {"machine": "press"}
    sources = []
    for i, said in enumerate(fields):
        settings = msgspec.convert({key: value for key, value in said.items() if value is not None}, FieldSettings)
        get = getter(settings, f"f{i}", {"machine": 1}, frozenset("a"))
        convert = converter(settings, f"f{i}", kind)
        sources.append(FieldSource(f"f{i}", get, convert, settings.default, member_of(settings), settings.topic))

    def one(source: FieldSource) -> Any:
        value = source.get(element, payload, levels, message)
        if value is None and source.default is None:
            raise DataError(f"field `{source.name}`: there is nothing, and no default")
        if value is None or source.convert is None:
            return source.default if value is None else value
        try:
            return source.convert(value)
        except DataError as error:
            raise DataError(f"field `{source.name}`: {error.reason}") from None

    take = value_taker(sources)
    assert told(lambda: take(element, payload, levels, message)) == told(lambda: tuple([one(source) for source in sources]))


def told(call: Callable[[], Any]) -> str:
    """What comes of a call, with the types of its numbers, or what is wrong."""
    try:
        return repr(call())
    except DataError as error:
        return error.reason


TIMELINES = [
    "timeline integer, unit 1 s.",
    "timeline integer, unit 7 ms.",
    "timeline integer, unit 1 s, round down.",
    "timeline integer, unit 1 min, round up.",
    "timeline integer, unit 1 s, round nearest.",
    "timeline rational, unit 1 s.",
]


@given(
    declared=st.sampled_from(TIMELINES),
    format=st.sampled_from(["s", "ms", "us", "ns"]),
    count=st.one_of(st.integers(-(10**4), 10**4), st.integers(-(10**19), 10**19), st.integers(-50, 50).map((7000).__mul__)),
)
def test_a_count_is_an_exact_time(declared: str, format: Any, count: int) -> None:
    """A whole number of seconds, or of parts of one, as a fraction that is rounded as the program says."""
    timeline = tidelog.compile(f"{declared} p(X) :- q(X).").schema.timeline
    assert timeline.unit is not None

    def exact() -> int:
        if abs(count) >= 2**63:
            raise DataError(f"expected a time in {format} since 1970, got {count}")
        time = Fraction(count, {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[format]) / timeline.unit
        return timeline.encode_point(timeline.rounded(time))

    assert told(lambda: written(timeline, format)(count)) == told(exact)


FIELDS = ("arg1", "arg2", "arg3", "state", "predicate", "ends", "machine", "celsius")


@given(
    fields=st.lists(st.sampled_from(FIELDS), min_size=2, max_size=4, unique=True),
    names=st.lists(st.sampled_from([*FIELDS, "begins"]), unique=True),
    hi=st.sampled_from([60, 70, POS]),
    is_change=st.booleans(),
)
def test_names_stand_for_what_an_answer_holds(fields: list[str], names: list[str], hi: int, is_change: bool) -> None:
    """What each answer has goes before its fields, and these before arguments by their place; what it has not is nothing."""
    row = tuple(f"v{i}" for i in range(len(fields)))
    hot, other = PredicateSchema("hot", len(fields), tuple(fields)), PredicateSchema("other", len(FIELDS), FIELDS)
    schema = replace(PLAN.schema, predicates={"hot": hot, "other": other})
    holds = {f"arg{i}": value for i, value in enumerate(row, 1)} | dict(zip(fields, row, strict=True))
    state = ("begins" if hi >= POS else "ended") if is_change else "holds"
    holds |= {"predicate": "hot", "state": state, "begins": 60, "ends": None if hi == POS else hi}
    template = Template(schema, {name: f"{{{name}}}" for name in names}, iso=False, outputs=["hot", "other"])
    answer: Record = ChangeRecord("hot", row, 60, hi) if is_change else ("hot", row, 60, hi)
    assert msgspec.json.decode(template.payload(answer)) == {name: holds.get(name) for name in names}


def test_named_outputs_fill_templates() -> None:
    """By the names of their arguments, in topics and payloads; truth values are those of JSON, as in lines."""
    plan = tidelog.compile(
        "timeline integer. input door(room: text, open: boolean). "
        "ajar(R, O, N) :- door(R, O), N = 2. output ajar(place, open, level)."
    )
    schema, outputs, answer = plan.schema, ["ajar"], ("ajar", ("hall", "true", 2), 3, 3)
    plain = Template(schema, None, iso=False, outputs=outputs)
    assert plain.payload(answer) == b'{"ajar":{"place":"hall","open":true,"level":2},"time":3}'
    table = Template(schema, {"is": "{open}", "at": "{place}", "how": "{level}"}, iso=False, outputs=outputs)
    assert msgspec.json.decode(table.payload(answer)) == {"is": True, "at": "hall", "how": 2}
    text = Template(schema, "{place}: {open}, {arg3}", iso=False, outputs=outputs)
    assert text.payload(answer) == b"hall: true, 2"
    assert TopicTemplate("{place}/{open}", schema, iso=False, outputs=outputs).topic(answer) == "hall/true"
    with pytest.raises(SpecError, match="did you mean `place`"):
        Template(schema, "{plaice}", iso=False, outputs=outputs)


def test_answers_to_payloads() -> None:
    """By default the JSON of `changes`; by a template text, or JSON in which numbers stay numbers; a topic of its fields."""
    begins = ChangeRecord("hot", ("press/1", 85.5), 60, POS)
    ended = ChangeRecord("hot", ("press/1", 85.5), 60, 70)
    schema, outputs = PLAN.schema, ["hot"]
    plain = Template(schema, None, iso=True, outputs=outputs)
    assert plain.payload(begins) == b'{"predicate":"hot","args":["press/1",85.5],"begins":"1970-01-01T00:01:00Z"}'
    text = Template(schema, "{predicate} {state}: {arg1} since {begins}", iso=False, outputs=outputs)
    assert text.payload(ended) == b"hot ended: press/1 since 60"
    table = Template(schema, {"value": "{arg2}", "text": "{arg1}!", "n": 1, "ends": "{ends}"}, iso=False, outputs=outputs)
    assert msgspec.json.decode(table.payload(begins)) == {"value": 85.5, "text": "press/1!", "n": 1, "ends": None}
    assert TopicTemplate("alarm/{arg1}", schema, iso=False, outputs=outputs).topic(begins) == "alarm/press_1"
    with pytest.raises(SpecError, match="did you mean `predicate`"):
        Template(schema, "{predicat}", iso=False, outputs=outputs)


def test_topics_say_what_payloads_do_of_alarms() -> None:
    """How urgent an alarm is, and its text; nothing for other outputs."""
    plan = tidelog.compile(
        "timeline integer, unit 1 s. input temp(room: text). output seen(room). seen(R) :- temp(R). "
        'alarm hot(room: text), priority high, text "{room} is hot". hot(R) :- temp(R).'
    )
    about = About({alarm.name: alarm for alarm in plan.alarms})
    topic = TopicTemplate("{severity}/{text}", plan.schema, iso=False, outputs=["hot", "seen"], about=about)
    assert topic.topic(("hot", ("a/b",), 1, 1)) == "high/a_b is hot"
    assert topic.topic(("seen", ("a",), 1, 1)) == "/seen(a)"


_PAYLOADS = st.sampled_from(
    [
        b'{"celsius":21}',
        b'{"celsius":21.0,"t":17}',
        b'{"celsius":80.5,"t":-3}',
        b'{"celsius":"warm","t":4}',
        b'{"celsius":null,"t":5}',
        b'{"celsius":1,"t":"x"}',
        b"[1]",
        b"7",
        b"{",
        b"\xff",
        b"[" * 5_000,
    ]
)


@given(
    st.lists(st.tuples(_PAYLOADS, st.sampled_from([100.0, 100.9, 101.0])), max_size=12),
    st.booleans(),
    st.sampled_from(["arrival", {"path": "t", "format": "s"}]),
)
def test_messages_of_one_topic_become_what_each_becomes(
    drawn: list[tuple[bytes, float]], is_divided: bool, moment: Any
) -> None:
    """They are taken at once, with the same facts, places, parts and dead letters as among messages of other topics."""
    settings = msgspec.convert({"predicate": "temp", "topic": "plant/{machine}/temp", "time": moment}, MapSettings)
    mapper = MapMapper("floor", PLAN.schema, [settings], by="machine" if is_divided else "")
    messages = [Message("plant/press/temp", payload, at) for payload, at in drawn]
    found, each = mapper.batch(messages), mapper.batch([*messages, Message("elsewhere", b"1", 1.0)])
    assert each.rejected.pop().reason == "no map takes messages of this topic"
    assert found == each
    assert len(found.records) + len(found.rejected) == len(messages)

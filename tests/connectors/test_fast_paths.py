"""The decoders' fast paths accept exactly what their exact paths accept, and read the same facts."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors import JsonDecoder, TextDecoder
from tidelog.connectors.formats.decoding import FEW, NOT_RETRACTED, Admission
from tidelog.connectors.formats.json.exact import ExactJson
from tidelog.plans.data.facts import PredicateSchema, Record, Schema
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError

SCHEMA = Schema(
    Timeline("integer"),
    {"temp": PredicateSchema("temp", 2, ("sensor", "time"), ("any", "any")), "p": PredicateSchema("p", 1)},
)
JSON_PIECES = st.sampled_from(
    [
        '"predicate"',
        '"p"',
        '"args"',
        '["a"]',
        '["a:b"]',
        "[true]",
        "[1.0]",
        "[9007199254740993.0]",
        '"time"',
        "1",
        '"interval"',
        '"[1,2]"',
        '"1"',
        "1.5",
        '"temp"',
        '{"sensor":1,"time":2}',
        '{"sensor":1,"time":2,"time":3}',
        ":",
        ",",
        "{",
        "}",
        " ",
        '"',
        "\\",
        '"\\u0074ime"',
    ]
)
PAIRS = st.sampled_from(
    [
        '"predicate":"p"',
        '"predicate": "a1:p"',
        '"args":["a"]',
        '"args": ["x:y"]',
        '"args":[1.0]',
        '"args":[true]',
        '"args":["\\"time\\":1"]',
        '"time":1',
        '"time": 17',
        '"time":1.0',
        '"time": 2.5e-0',
        '"time":"2"',
        '"time":01',
        '"interval":"[1,2]"',
        '"x":1',
        '"temp":{"sensor":"s","time":3}',
        '"temp":{"time":3,"sensor":"s","time":3}',
        '"temp":{"sensor":"s"}',
    ]
)
TEXT_PIECES = st.sampled_from(
    ["p", "(", ")", "a", ",", "@", "1", "[1,2]", "(1,2)", " ", '"', '"x@1"', "%", ".", "'", "é", "-", "2.5", "\\", ":"]
)


EXACT = ExactJson(SCHEMA, Admission(SCHEMA), TimeReader(SCHEMA.timeline), False)


def exactly(line: bytes, exact: ExactJson = EXACT) -> Record | str:
    """The fact, or the reason why it is none, by the exact path."""
    try:
        return exact.read(line)[0]
    except DataError as error:
        return error.reason


def decoded(decoder: JsonDecoder | TextDecoder, line: bytes) -> Record | str | None:
    """The fact, the reason, or None for a line that holds nothing."""
    batch = decoder.decode([line], 1)
    return batch.records[0] if batch.records else batch.rejected[0].reason if batch.rejected else None


@pytest.mark.parametrize("pause", [0, 1_000_000])
@given(st.lists(st.lists(PAIRS, min_size=1, max_size=4).map(lambda pairs: "{" + ",".join(pairs) + "}"), max_size=20))
def test_json_members_in_any_combination(pause: int, lines: list[str]) -> None:
    """Members in any order, missing, repeated or strange: both fast paths agree with the exact one, also when warm."""
    decoder = JsonDecoder(SCHEMA, "data")
    for line in lines + lines:
        decoder._pause = pause  # with caches, or without
        assert repr(decoded(decoder, line.encode())) == repr(exactly(line.encode()))


TYPED = Schema(
    Timeline("rational"),
    {
        "all": PredicateSchema("all", 5, ("a", "t", "n", "i", "b"), ("any", "text", "number", "integer", "boolean")),
        "none": PredicateSchema("none", 0),
        "derived": PredicateSchema("derived", 1, accepts_input=False),
    },
)
WHOLE = ["1", "1.0", "-0.0", "9007199254740993", "9007199254740993.0", "9223372036854775808"]
VALUES = st.sampled_from([*WHOLE, "2.5", "1e300", "1e999", '"x"', '"true"', '"a:b"', '"\\u00e9"', "true", "null", "[1]"])
POINTS = ['"time":1', '"time":-1', '"time":0.1', '"time":1e3', '"time":"1/2"', '"time":null']
TIMES = st.sampled_from([*POINTS, '"interval":"(1,2]"'])


@pytest.mark.parametrize("pause", [0, 1_000_000])
@pytest.mark.parametrize("only", [None, "none"])
@given(st.sampled_from(["all", "none", "derived", "unknown"]), st.lists(VALUES, max_size=6), TIMES, st.booleans())
def test_json_values_of_any_type(only: str | None, pause: int, name: str, values: list[str], time: str, keyed: bool) -> None:
    """Values as declared and others, numbers at the edges, any time: the record, or the reason, of the exact path."""
    plain = f'{{"predicate":"{name}","args":[{",".join(values)}],{time}}}'
    members = ",".join(f'"{field}":{value}' for field, value in zip("atnib", values, strict=False))
    line = (f'{{"{name}":{{{members}}},{time}}}' if keyed else plain).encode()
    decoder = JsonDecoder(TYPED, "data", only)
    decoder._pause = pause
    reader = TimeReader(TYPED.timeline)
    assert repr(decoded(decoder, line)) == repr(exactly(line, ExactJson(TYPED, Admission(TYPED, only), reader, False)))


@given(st.lists(st.lists(JSON_PIECES, min_size=1, max_size=14).map("".join), max_size=10))
def test_json_pieces_in_any_order(lines: list[str]) -> None:
    """Pieces of JSON in any order: the fast path agrees with the exact one."""
    decoder = JsonDecoder(SCHEMA, "data")
    for line in [*lines, *lines]:
        if line.strip():
            assert repr(decoded(decoder, line.encode())) == repr(exactly(line.encode()))


@given(st.lists(TEXT_PIECES, max_size=12).map("".join), st.sampled_from(["", "p(a)@1 ", "p(a"]))
def test_text_cut_at_the_last_at_sign(line: str, before: str) -> None:
    """Cutting a line at its last `@` reads the same fact as scanning it from the left, also when warm."""
    decoder, warm = TextDecoder(SCHEMA, "data"), TextDecoder(SCHEMA, "data")
    raw = (before + line).encode()
    warm.decode([b"p(a)@1", b"p(a)@[1,2]", raw], 1)
    # A blank in front of the comment sign keeps the line from the fast path.
    scanned = decoded(decoder, raw + b" %")
    assert decoded(warm, raw) == scanned or (isinstance(scanned, str) and isinstance(decoded(warm, raw), str))


@pytest.mark.parametrize("line", ['{"b":{"on":true,"n":%s},"time":3}', '{"predicate":"b","args":[true,%s],"time":3}'])
def test_booleans_stay_on_the_fast_path(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line with `true` in it is decoded once, also where halves are not remembered; it is not the number 1."""
    schema = Schema(Timeline("integer"), {"b": PredicateSchema("b", 2, ("on", "n"), ("boolean", "any"))})
    decoder = JsonDecoder(schema, "x")

    def refuse(_exact: ExactJson, line: bytes) -> None:
        raise AssertionError(line)

    monkeypatch.setattr(ExactJson, "read", refuse)
    lines = [(line % n).encode() for n in ("false", 1, 1.5, "true")]
    for pause in (0, 1):
        decoder._pause = pause
        rows = [record[1] for record in decoder.decode(lines, 1).records]
        assert rows == [("true", "false"), ("true", 1), ("true", 1.5), ("true", "true")]
        assert [type(row[1]) for row in rows] == [str, int, float, str]


GOOD = st.sampled_from(["1", "2.5", '"x"', '"a:b"', "true", "-3", '"\\u00e9"'])
GOOD_TIMES = st.sampled_from(['"time":1', '"time":17', '"time":"2"', '"time":1.0', '"interval":"[1,2]"'])
FORMS = [
    form
    for values, times in ((VALUES, TIMES), (GOOD, GOOD_TIMES), (GOOD, st.integers(0, 99).map('"time":{}'.format)))
    for form in (
        st.builds('{{"temp":{{"sensor":{},"time":{}}},{}}}'.format, values, values, times),
        st.builds('{{"temp":{{"time":{},"sensor":{}}},{}}}'.format, values, values, times),
        st.builds('{{{},"predicate":"p","args":[{}]}}'.format, times, values),
        st.builds(
            '{{"predicate":"{}",{}"args":[{}],{}}}'.format, st.sampled_from("ppr"), st.sampled_from(["", " "]), values, times
        ),
    )
]
FORMS += [
    st.builds('{{"predicate":"p","args":["s{}"],"time":{}}}'.format, st.integers(0, 3), st.integers(-1, 1 << 61)),
    st.builds('{{"predicate":"p","args":[{}],"time":{}.{}}}'.format, GOOD, st.integers(0, 9), st.sampled_from(["0", "50"])),
    st.builds(
        '{{"predicate":"p","args":["{}:00"],"time":"2010-07-01T00:0{}Z"}}'.format, st.integers(0, 9), st.integers(0, 9)
    ),
]
BROKEN = st.sampled_from(
    [
        "",
        " ",
        "}",
        "{",
        "{}",
        "1}",
        '{"predicate":"p","args":[1],"time":',
        '{"predicate":"p","args":[1],"time":}',
        '{"predicate":"p","args":[1],"time":1,2}',
        '{"predicate":"p","args":[1],"time":17',
        '{"predicate":"p","args":[1],"time":1}}',
        '{"predicate":"p","args":[1],"time":1} ',
        '{"predicate":"p","args":[1],"time":1,"time":2}',
        '{"predicate":"p","args":[1],"time":1,"id":["r",1]}',
        '{"predicate":"p","args":[1],"time":1,"retract":true}',
        '{"predicate":"p","args":[1],"predicate":"p","time":1}',
        '{"predicate":"p","args":[1]}',
        '{"predicate":"p","args":[1],"time":1}{"predicate":"p","args":[1],"time":1}',
        '{"predicate":"p",',
        '"args":[1],"time":1}',
        '{"predicate":"p","args":[1],"time":null,"interval":"[1,2]"}',
        '{"predicate":"p","args":[1],"time":2010,"interval":"[1,2]"}',
        '{"predicate":"p","args":["\\u003a"],"time":1,"time":2}',
        '{"predicate":"p","args":["a","b"],"time":1}',
    ]
)


@pytest.mark.parametrize(
    "timeline", [Timeline("integer", unit=Fraction(60)), Timeline("rational", resolution=Fraction(1, 4))]
)
@pytest.mark.parametrize("pause", [0, 1_000_000])
@given(
    st.one_of([st.lists(form, min_size=FEW, max_size=FEW + 8) for form in FORMS]), st.lists(BROKEN, max_size=3), st.randoms()
)
def test_a_batch_says_what_its_lines_say(
    timeline: Timeline, pause: int, lines: list[str], broken: list[str], chance: random.Random
) -> None:
    """Lines of one form, among them such as are none: records, places and reasons are those of each line by itself."""
    lines = [*lines, *broken]
    chance.shuffle(lines)
    schema = Schema(timeline, SCHEMA.predicates)
    decoder = JsonDecoder(schema, "data")
    for _ in range(2):
        decoder._pause = pause
        batch = decoder.decode([line.encode() for line in lines], 1)
        exact = ExactJson(schema, Admission(schema), TimeReader(timeline), False)
        told = {i: exactly(line.encode(), exact) for i, line in enumerate(lines, 1) if line.strip()}
        records = {f"data:{i}": record for i, record in told.items() if isinstance(record, tuple)}
        reasons = {f"data:{i}": reason for i, reason in told.items() if isinstance(reason, str)}
        taken_back = {f"data:{i}" for i, line in enumerate(lines, 1) if "retract" in line}
        found = {batch.place(i): record for i, record in enumerate(batch.records)}
        assert repr(found) == repr({place: record for place, record in records.items() if place not in taken_back})
        refused = {rejected.place: rejected.reason for rejected in batch.rejected}
        assert refused == reasons | dict.fromkeys(taken_back, NOT_RETRACTED)


FACT = '{"predicate":"p","args":[1],"time":17}'


@pytest.mark.parametrize("pause", [0, 1_000_000])
@pytest.mark.parametrize(
    "broken",
    [
        (FACT[:-1],),
        (FACT[:-1], FACT.replace("17", ",17")),
        (FACT.replace("17", "17,18"), FACT.replace("17", "")),
        (FACT + FACT, FACT[:22], FACT[22:]),
        (FACT + FACT, ""),
        (FACT.replace("17}", '"17}'), FACT.replace("17}", '17"}')),
        (FACT.replace(',"time":17', ""), FACT.replace("}", ',"time":17}')),
    ],
)
def test_lines_that_would_be_facts_together_are_none(pause: int, broken: tuple[str, ...]) -> None:
    """Where lines are read at once, what one lacks is not made up for by what the next has too much."""
    lines = [FACT] * FEW + list(broken)
    decoder = JsonDecoder(SCHEMA, "data")
    decoder._pause = pause
    batch = decoder.decode([line.encode() for line in lines], 1)
    assert batch.records == [("p", (1,), 17, 17)] * FEW
    told = [(f"data:{i}", exactly(line.encode())) for i, line in enumerate(lines, 1) if i > FEW and line]
    assert [(rejected.place, rejected.reason) for rejected in batch.rejected] == told

"""The decoders' fast paths accept exactly what their exact paths accept, and read the same facts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors import JsonDecoder, TextDecoder
from tidelog.connectors.decoding import Admission
from tidelog.connectors.json_exact import ExactJson
from tidelog.plans.errors import DataError
from tidelog.plans.facts import PredicateSchema, Record, Schema
from tidelog.plans.timeline import Timeline
from tidelog.plans.times import TimeReader

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


def exactly(line: bytes) -> Record | str:
    """The fact, or the reason why it is none, by the exact path."""
    try:
        return ExactJson(SCHEMA, Admission(SCHEMA), TimeReader(SCHEMA.timeline), False).read(line)
    except DataError as error:
        return error.reason


def decoded(decoder: JsonDecoder | TextDecoder, line: bytes) -> Record | str | None:
    """The fact, the reason, or None for a line that holds nothing."""
    batch = decoder.decode([line], 1)
    return batch.records[0] if batch.records else batch.rejected[0].reason if batch.rejected else None


@given(st.lists(st.lists(PAIRS, min_size=1, max_size=4).map(lambda pairs: "{" + ",".join(pairs) + "}"), max_size=20))
def test_json_members_in_any_combination(lines: list[str]) -> None:
    """Members in any order, missing, repeated or strange: the fast path agrees with the exact one, also when warm."""
    decoder = JsonDecoder(SCHEMA, "data")
    for line in lines + lines:
        assert repr(decoded(decoder, line.encode())) == repr(exactly(line.encode()))


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

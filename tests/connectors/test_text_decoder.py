"""Text facts: what is read, and why what is not read is refused."""

from __future__ import annotations

import pytest

from tidelog.connectors import TextDecoder
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.timeline import NEG, POS


def read(schema: Schema, *lines: str | bytes) -> list[Record]:
    """The records of these lines, none of which may be refused."""
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    batch = TextDecoder(schema, "data").decode(raw, 1)
    assert batch.rejected == []
    return batch.records


@pytest.mark.parametrize(
    ("line", "predicate", "row", "lo", "hi"),
    [
        ("q(a,b)@[1,2)", "q", ("a", "b"), 4, 7),
        ("rain@1", "rain", (), 4, 4),
        ("rain()@1", "rain", (), 4, 4),
        ("p(a)@(-inf,3]", "p", ("a",), NEG, 12),
        ("p(a)@[1,inf]", "p", ("a",), 4, POS),
        ("p(a)@(1,3/2)", "p", ("a",), 5, 5),
        ("p(a)@[3,3].", "p", ("a",), 12, 12),
        ("p(a)@1.5.", "p", ("a",), 6, 6),
        ("p(a)@3/2", "p", ("a",), 6, 6),
        (" p ( a ) @ [ 1 , 2 ] . ", "p", ("a",), 4, 8),
        ("'x y'(a)@1", "x y", ("a",), 4, 4),
        ("a1:Lecturer(Ann_1)@1", "a1:Lecturer", ("Ann_1",), 4, 4),
        ("q(X,_y)@1", "q", ("X", "_y"), 4, 4),
        ("q(http://a.org/x#y,n/a)@1", "q", ("http://a.org/x#y", "n/a"), 4, 4),
        ('q("a@b, (c)","\\"\\\\\\n")@1', "q", ("a@b, (c)", '"\\\n'), 4, 4),
        ('p("x")@1 % mail me@2', "p", ("x",), 4, 4),
        ("q(3.0,-2.50)@1", "q", (3, -2.5), 4, 4),
        ("q(1e300,9007199254740993.0)@1", "q", (1e300, 9007199254740993), 4, 4),
        ("q(12abc,é)@1", "q", ("12abc", "é"), 4, 4),
        ("unknown(a,b,c)@1", "unknown", ("a", "b", "c"), 4, 4),
    ],
)
def test_facts_are_read(halves: Schema, line: str, predicate: str, row: object, lo: int, hi: int) -> None:
    """Each written form of a fact gives its record."""
    assert read(halves, line) == [(predicate, row, lo, hi)]


def test_iso_times_become_ticks(seconds: Schema) -> None:
    """ISO-8601 times count from 1970 in the declared unit, UTC where they name no offset."""
    lines = [
        "rain@1970-01-02",
        "rain@1970-01-01T00:01",
        "rain@1970-01-01T02:00:05+02:00",
        "rain@[1970-01-01T00:00Z,2min)",
    ]
    assert [(lo, hi) for _, _, lo, hi in read(seconds, *lines)] == [(86400, 86400), (60, 60), (5, 5), (0, 119)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("p(a)", "a fact of a stream needs a time, such as `@17` or `@[1,2)`"),
        ("p(a).", "a fact of a stream needs a time, such as `@17` or `@[1,2)`"),
        ('p("a@1")', "a fact of a stream needs a time, such as `@17` or `@[1,2)`"),
        ("p(a) 17", "expected `@` and a time, got `17`"),
        ("p(a)@", "a time is missing"),
        ("p(a)@@1", "time `@1` is neither a number, a fraction nor ISO-8601"),
        ("p(a)@x", "time `x` is neither a number, a fraction nor ISO-8601"),
        ("p(a)@inf", "a single time must be finite"),
        ("p(a)@[2,1]", "interval [2,1] is empty"),
        ("p(a)@[1,1)", "interval [1,1) is empty"),
        ("p(a)@[1;2]", "interval `[1;2]` is not of the form `[1,2)`"),
        ("p(a)@[1,2", "interval `[1,2` is not of the form `[1,2)`"),
        ("p(a)@[1..", "interval `[1.` is not of the form `[1,2)`; `..` is for the begins that `--emit changes` tells"),
        ("p(a)@[1,2,3]", "interval `[1,2,3]` is not of the form `[1,2)`"),
        ("p(a)@1e1000000", "number 1e1000000 has an exponent beyond 30"),
        ("p(a)@" + "9" * 41, "number 999999999999999999999... has more than 40 digits"),
        ("p(a)@9999999999999999999", "time 9999999999999999999 lies beyond what the timeline can hold"),
        ("p(a)@1/0", "number 1/0 divides by zero"),
        ("p(a)@1/3", "time 1/3 is not a whole number, as `timeline integer` needs"),
        ("p(a)@5s", "time `5s` needs a unit: declare one, such as `timeline integer, unit 1 s`"),
        ("p(a)@2010-07-01", "time `2010-07-01` needs a unit: declare one, such as `timeline integer, unit 1 s`"),
        ("p(a", "`)` is missing"),
        ("p(a@1", "expected `,` or `)`, got `@1`"),
        ("p(a,)@1", "expected an argument, got `)@1`"),
        ("p(a b)@1", "expected `,` or `)`, got `b)@1`"),
        ('p("a)@1', "text has no closing quote"),
        ('p("\\x")@1', "unknown escape `\\x` in text"),
        ("p(2010-07-01)@1", "`2010-07-01` is neither a name nor a number: put it between double quotes"),
        ("p(18446744073709551616)@1", "number 18446744073709551616 is beyond 64 bits"),
        ("p(1e999)@1", "a number must be finite"),
        ("p(a,b)@1", "`p` takes 1 argument, got 2"),
        ("derived(a)@1", "`derived` is derived, and not declared as an input"),
        ("temp(s1,high)@1", "`temp` expects number for `value`, got high"),
        ("(a)@1", "expected a fact such as `p(a,b)@17`, got `(a)@1`"),
        (b"p(\xff)@1", "not valid UTF-8 at byte 3"),
        (b"p(a)@\xff", "not valid UTF-8 at byte 6"),
    ],
)
def test_malformed_lines_are_rejected_with_reason(integer: Schema, line: str | bytes, reason: str) -> None:
    """A line that is no fact is told with its place, its reason and its bytes, and costs no other line."""
    raw = line if isinstance(line, bytes) else line.encode()
    batch = TextDecoder(integer, "data").decode([b"p(a)@1", raw, b"p(a)@2"], 7)
    assert [(item.place, item.reason, item.raw) for item in batch.rejected] == [("data:8", reason, raw)]
    assert [lo for _, _, lo, _ in batch.records] == [1, 2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2010-02-30", "time `2010-02-30` is no day of the calendar"),
        ("2010-07-01T25:00", "time `2010-07-01T25:00` is no time of a day"),
        ("2010-07-01T00:00+99:00", "time `2010-07-01T00:00+99:00` has no valid offset from UTC"),
        ("2010-7-1", "time `2010-7-1` is not of the form `2010-07-01T00:00:00Z`"),
        ("1970-01-01T00:00:00.5Z", "time `1970-01-01T00:00:00.5Z` is no whole number of units of 1 s since 1970"),
    ],
)
def test_wrong_iso_times_are_rejected(seconds: Schema, text: str, reason: str) -> None:
    """A date that is none, or finer than the timeline, is refused with its reason."""
    batch = TextDecoder(seconds, "data").decode([f"rain@{text}".encode()], 1)
    assert [item.reason for item in batch.rejected] == [reason]


def test_places_count_skipped_lines(integer: Schema) -> None:
    """Blank lines and comments hold no facts, yet count as lines in the places of the records."""
    lines = [b"", b"% p(a)@9", b"p(a)@1", b"  ", b"p(a)@2", b"oops!", b"p(b)@3"]
    batch = TextDecoder(integer, "f.txt").decode(lines, 10)
    assert batch.places is not None
    assert list(batch.places) == ["f.txt:12", "f.txt:14", "f.txt:16"]
    assert batch.places[-1] == "f.txt:16" and batch.places[:1] == ["f.txt:12"]
    assert [item.place for item in batch.rejected] == ["f.txt:15"]
    with pytest.raises(IndexError):
        batch.places[3]


def test_told_predicate_refuses_others(integer: Schema) -> None:
    """Where a predicate is told, facts of another are rejected."""
    batch = TextDecoder(integer, "data", "p").decode([b"rain@1", b"p(a)@1"], 1)
    assert [item.reason for item in batch.rejected] == ["expected facts of `p`, got `rain`"]
    assert batch.records == [("p", ("a",), 1, 1)]


def test_rejected_bytes_are_bounded(integer: Schema) -> None:
    """Of a long line that cannot be read, only the beginning is kept, in the raw bytes and in the reason."""
    [item] = TextDecoder(integer, "data").decode([b"p(a)@" + b"x" * 100_000], 1).rejected
    assert len(item.raw) == 500 and len(item.reason) < 120

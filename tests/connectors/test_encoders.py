"""Encoders: golden lines, and that decoders read back what encoders write."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors import JsonDecoder, JsonEncoder, TextDecoder, TextEncoder
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.data.changes import ChangeRecord, format_change
from tidelog.plans.data.facts import Record, Schema, format_record
from tidelog.plans.data.timeline import LIMIT, NEG, POS, Timeline, format_time
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import Time

TIMELINES = st.sampled_from(
    [
        Timeline("integer"),
        Timeline("integer", unit=Fraction(60)),
        Timeline("rational", Fraction(1, 1_000_000)),
        Timeline("rational", Fraction(2, 3), unit=Fraction(1)),
    ]
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="'\n"), min_size=1, max_size=6)
ROWS = st.lists(TEXTS | NUMBERS.map(canonical), max_size=3).map(tuple)
ENDS = st.integers(-(10**6), 10**6) | st.integers(-LIMIT, LIMIT)


@st.composite
def facts(draw: st.DrawFn) -> tuple[Timeline, list[Record]]:
    """A timeline and facts over it: any names, texts, numbers, and ranges open, closed or unbounded."""
    timeline = draw(TIMELINES)
    records: list[Record] = []
    for _ in range(draw(st.integers(1, 3))):
        lo, hi = sorted((draw(ENDS), draw(ENDS)))
        # A gap beside the limit has its end beyond it.
        lo, hi = (max(lo, -LIMIT + 2), min(hi, LIMIT - 2)) if lo < hi else (lo // 2, lo // 2)
        lo, hi = draw(st.sampled_from([(lo, hi), (NEG, hi), (lo, POS), (NEG, POS), (lo, lo)]))
        records.append((draw(NAMES), draw(ROWS), lo, hi))
    return timeline, records


@given(facts(), st.booleans())
def test_text_is_read_back(drawn: tuple[Timeline, list[Record]], iso: bool) -> None:
    """Whatever the text encoder writes, the text decoder reads as the same facts."""
    timeline, records = drawn
    data = TextEncoder(Schema(timeline), iso=iso and timeline.unit is not None).encode(records)
    batch = TextDecoder(Schema(timeline), "data").decode(data.split(b"\n")[:-1], 1)
    assert batch.rejected == []
    assert batch.records == records
    assert list(map(repr, batch.records)) == list(map(repr, records))


@given(facts(), st.booleans())
def test_json_is_read_back(drawn: tuple[Timeline, list[Record]], iso: bool) -> None:
    """Whatever the JSON encoder writes, the JSON decoder reads as the same facts."""
    timeline, records = drawn
    data = JsonEncoder(Schema(timeline), iso=iso and timeline.unit is not None).encode(records)
    batch = JsonDecoder(Schema(timeline), "data").decode(data.split(b"\n")[:-1], 1)
    assert batch.rejected == []
    assert list(map(repr, batch.records)) == list(map(repr, records))


def written(timeline: Timeline, time: Time, iso: bool) -> str:
    """A time by its definition."""
    if not iso or isinstance(time, float) or timeline.unit is None:
        return format_time(time)
    seconds = time * timeline.unit
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=math.floor(seconds))
    except OverflowError:
        return format_time(time)
    decimals = (seconds - math.floor(seconds)) * 10**18
    if decimals.denominator != 1:
        return format_time(time)
    return moment.isoformat().removesuffix("+00:00") + (f".{decimals.numerator:018}".rstrip("0") if decimals else "") + "Z"


@given(TIMELINES, ENDS, ENDS, st.booleans(), st.booleans(), st.booleans())
def test_ranges_are_written_as_their_intervals(
    timeline: Timeline, lo: int, hi: int, has_begin: bool, has_end: bool, iso: bool
) -> None:
    """An end is open in a gap of a rational timeline, and where there is none; also of ends that are written alone."""
    iso = iso and timeline.unit is not None
    lo, hi = min(lo, hi) if has_begin else NEG, max(lo, hi) if has_end else POS
    interval, times = timeline.decode_interval(lo, hi), TimeFormatter(timeline, iso)
    begin = ("(" if interval.left_open else "[") + written(timeline, interval.low, iso)
    end = written(timeline, interval.high, iso) + (")" if interval.right_open else "]")
    assert (times.begin(lo), times.end(hi), times.range(lo, hi)) == (begin, end, f"{begin},{end}")
    if has_begin:
        assert times.point(lo) == written(timeline, timeline.decode_point(lo), iso)


@pytest.mark.parametrize(("resolution", "point", "text"), [("2/3", -129, "-130/3"), ("2/3", -126, "-42"), ("2", 1, "0")])
def test_a_gap_as_a_point_is_its_left_end(resolution: str, point: int, text: str) -> None:
    """The middle of a gap may be a whole number, which is no time of the timeline."""
    assert TimeFormatter(Timeline("rational", Fraction(resolution))).point(point) == text


@given(facts())
def test_text_is_the_language_s_own(drawn: tuple[Timeline, list[Record]]) -> None:
    """A line of the text encoder is the fact as `format_record` writes it."""
    timeline, records = drawn
    expected = "".join(format_record(record, timeline) + "\n" for record in records)
    assert TextEncoder(Schema(timeline)).encode(records) == expected.encode()


def test_json_lines_are_as_documented(halves: Schema) -> None:
    """A whole time is a number, another exact time text, anything else an interval."""
    records: list[Record] = [
        ("temp", ("s1", 21.5), 68, 68),
        ("p", ('"é\n',), 10, 10),
        ("p", (3,), 4, 9),
        ("rain", (), 5, 5),
        ("rain", (), NEG, POS),
    ]
    assert JsonEncoder(halves).encode(records).decode().splitlines() == [
        '{"predicate":"temp","args":["s1",21.5],"time":17}',
        '{"predicate":"p","args":["\\"é\\n"],"time":"5/2"}',
        '{"predicate":"p","args":[3],"interval":"[1,5/2)"}',
        '{"predicate":"rain","args":[],"interval":"(1,3/2)"}',
        '{"predicate":"rain","args":[],"interval":"(-inf,inf)"}',
    ]


def test_changes_as_json_lines(halves: Schema, integer: Schema) -> None:
    """What begins, and then has ended: a closed end is a time as elsewhere, an open one text, none null."""
    changes = [
        ChangeRecord("p", ("a",), lo, hi) for lo, hi in ((12, POS), (12, 28), (13, POS), (13, 27), (10, 9 + 9), (NEG, 4))
    ]
    assert JsonEncoder(halves).encode([*changes, ChangeRecord("p", (), NEG, POS)]).decode().splitlines() == [
        '{"predicate":"p","args":["a"],"begins":3}',
        '{"predicate":"p","args":["a"],"begins":3,"ends":7}',
        '{"predicate":"p","args":["a"],"begins":"(3"}',
        '{"predicate":"p","args":["a"],"begins":"(3","ends":"7)"}',
        '{"predicate":"p","args":["a"],"begins":"5/2","ends":"9/2"}',
        '{"predicate":"p","args":["a"],"begins":null,"ends":1}',
        '{"predicate":"p","args":[],"begins":null}',
    ]
    assert (
        JsonEncoder(integer).encode([ChangeRecord("p", (), -5, -5)])
        == b'{"predicate":"p","args":[],"begins":-5,"ends":-5}\n'
    )


def test_changes_as_text(halves: Schema) -> None:
    """What begins has two dots in place of its end, and what has ended is the fact."""
    ranges = ((12, POS), (12, 28), (13, POS), (13, 27), (12, 12), (NEG, POS), (NEG, 4))
    changes = [ChangeRecord("p", ("a b",), lo, hi) for lo, hi in ranges]
    texts = ["[3..", "[3,7]", "(3..", "(3,7)", "3", "(-inf..", "(-inf,1]"]
    assert TextEncoder(halves).encode(changes).decode().splitlines() == [f'p("a b")@{text}' for text in texts]
    assert [format_change(change, halves.timeline) for change in changes] == [f'p("a b")@{text}' for text in texts]


def test_changes_beside_hypothetical_answers(integer: Schema) -> None:
    """A program that asks has both; text leaves out what is no fact."""
    asking = replace(integer, questions={"q": "T"})
    change, answer = ChangeRecord("p", (), 3, POS), HypotheticalAnswer("q", {"T": 1}, "certain", at=1)
    lines = JsonEncoder(asking).encode([answer, change]).decode().splitlines()
    assert lines[1] == '{"predicate":"p","args":[],"begins":3}'
    assert TextEncoder(asking).encode([answer, change]) == b"p@[3..\n"


def test_changes_in_iso(seconds: Schema) -> None:
    """With `iso`, both ends are ISO-8601, an open one too."""
    changes = [ChangeRecord("rain", (), 0, POS), ChangeRecord("rain", (), 0, 5)]
    assert TextEncoder(seconds, iso=True).encode(changes).decode().splitlines() == [
        "rain@[1970-01-01T00:00:00Z..",
        "rain@[1970-01-01T00:00:00Z,1970-01-01T00:00:05Z]",
    ]
    assert JsonEncoder(seconds, iso=True).encode(changes).decode().splitlines() == [
        '{"predicate":"rain","args":[],"begins":"1970-01-01T00:00:00Z"}',
        '{"predicate":"rain","args":[],"begins":"1970-01-01T00:00:00Z","ends":"1970-01-01T00:00:05Z"}',
    ]


def test_iso_lines_are_in_utc(seconds: Schema) -> None:
    """With `iso`, times are ISO-8601 to the precision that they need; beyond the calendar they stay numbers."""
    records: list[Record] = [("rain", (), t, t) for t in (1277942400, 1277942405, 10**15)] + [("rain", (), 0, POS)]
    assert TextEncoder(seconds, iso=True).encode(records).decode().splitlines() == [
        "rain@2010-07-01T00:00:00Z",
        "rain@2010-07-01T00:00:05Z",
        "rain@1000000000000000",
        "rain@[1970-01-01T00:00:00Z,inf)",
    ]
    assert JsonEncoder(seconds, iso=True).encode(records[:1]) == (
        b'{"predicate":"rain","args":[],"time":"2010-07-01T00:00:00Z"}\n'
    )


def test_iso_needs_a_unit(integer: Schema) -> None:
    """Without a unit there is no calendar to write times in."""
    with pytest.raises(SpecError, match="ISO-8601 output needs a unit"):
        TextEncoder(integer, iso=True)

"""Rows of Arrow tables become the facts that `Plan.record` makes of them, and what is none is told with its row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.arrow import stream_of
from tidelog.runtime.frames.reading import read_stream, reader_of
from tidelog.runtime.frames.times import ExactTimes

BERLIN = timezone(timedelta(hours=2))
SECONDS = "timeline integer, unit 1 s. "
TEMP = "input temp(sensor: text, value: number). hot(S) :- temp(S, V), V > 80."
PLAN = tidelog.compile(SECONDS + TEMP)
DENSE = tidelog.compile("timeline rational, unit 1 s, resolution 1 ms. " + TEMP)


class Capsule:
    """A frame that has the Arrow interface, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def rejected(plan: tidelog.Plan, frame: Any) -> list[tuple[str, str]]:
    """What is none of a frame's rows: place and reason."""
    stream = stream_of(frame)
    batches = list(read_stream(reader_of(plan.schema, "temp", stream), stream, "temp"))
    return [(item.place, item.reason) for batch in batches for item in batch.rejected]


def temps(times: Any, values: Any = None, **columns: Any) -> dict[str, Any]:
    """A frame of readings of one sensor."""
    count = len(times)
    return {"sensor": ["s1"] * count, "value": [20.5] * count if values is None else values, "time": times, **columns}


@pytest.mark.parametrize(
    ("column", "time"),
    [
        (pa.array([datetime(2024, 7, 1, 12, tzinfo=BERLIN)]), datetime(2024, 7, 1, 10, tzinfo=UTC)),
        (pa.array([1719828000], pa.timestamp("s", "Europe/Berlin")), datetime(2024, 7, 1, 10, tzinfo=UTC)),
        (pa.array([1719828000_000], pa.timestamp("ms")), datetime(2024, 7, 1, 10)),  # noqa: DTZ001 - what is tested
        (pa.array([1719828000_000_000_000], pa.timestamp("ns", "UTC")), 1719828000),
        (pa.array([date(2024, 7, 1)]), "2024-07-01"),
        (pa.array([date(2024, 7, 1)]).cast(pa.date64()), "2024-07-01"),
        (np.array(["2024-07-01T10:00:00"], "datetime64[s]"), 1719828000),
        (np.array([1719828000], np.uint32), 1719828000),
        (np.array([17], np.int8), 17),
        (np.array([17.0], np.float32), 17),
        (pa.array([Decimal("17.0")]), 17),
        (["2024-07-01T12:00:00+02:00"], 1719828000),
        (["17"], 17),
        (pa.array(["17"]).dictionary_encode(), 17),
        (pd.Series(pd.to_datetime(["2024-07-01 12:00"])).dt.tz_localize("Europe/Berlin"), 1719828000),
    ],
)
def test_times_of_every_type(column: Any, time: Any) -> None:
    """A time is the same fact whatever type its column has: zones count, and a timestamp without one is UTC."""
    expected = [PLAN.record("temp", ["s1", 20.5], time=time)]
    frame = temps([None]) | {"time": column}
    assert tidelog.read_frame(PLAN, "temp", pd.DataFrame(frame) if isinstance(column, pd.Series) else frame) == expected


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (pa.array([20.0, 2.5]), [20, 2.5]),
        (np.array([20.0, 2.5], np.float32), [20, 2.5]),
        (np.array([3, 4], np.uint64), [3, 4]),
        (pa.array([Decimal("3.00"), Decimal("2.50")]), [3, 2.5]),
        (pa.array([1, 2]).dictionary_encode(), [1, 2]),
    ],
)
def test_numbers_are_those_of_rows(values: Any, read: list[float]) -> None:
    """A whole number is an int, whatever the column's type."""
    rows = [row for _, row, _, _ in tidelog.read_frame(PLAN, "temp", temps([1, 2], values))]
    assert rows == [("s1", value) for value in read]
    assert [type(value) for _, value in rows] == [type(value) for value in read]


def test_nulls_in_a_dictionary_are_nulls() -> None:
    """A row whose entry in the dictionary is null is told as any other null; numbers in one are checked as others."""
    sensors = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["s1", None]))
    assert rejected(PLAN, temps([1, 2, 3], sensor=sensors)) == [("temp row 1", "`sensor` is null")]
    large = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([1 << 63], pa.uint64()))
    assert rejected(PLAN, temps([1], large)) == [("temp row 0", "`value`: an integer must fit into 64 bits")]


def test_whatever_has_the_arrow_interface_is_a_frame() -> None:
    """Tables, batches, readers, data frames of pandas and objects with the capsule method give the same facts."""
    table = pa.table(temps([1, 2, 3]))
    frames = [table, table.to_batches()[0], table.to_reader(), table.to_pandas(), Capsule(table), temps([1, 2, 3])]
    facts = [tidelog.read_frame(PLAN, "temp", frame) for frame in frames]
    assert facts == [[PLAN.record("temp", ["s1", 20.5], time=time) for time in (1, 2, 3)]] * len(frames)
    with pytest.raises(TypeError, match="a frame has `__arrow_c_stream__`, as Arrow tables and data frames do, got int"):
        tidelog.read_frame(PLAN, "temp", 3)


def test_each_row_that_is_no_fact_is_told_with_its_row() -> None:
    """Rows count from 0. A null, a number that is none, a time too fine and a wrong type each name column and reason."""
    frame = {
        "sensor": ["s1", None, "s1", "s1", "s1", "s1"],
        "value": [1.0, 2.0, None, float("nan"), float("inf"), 3.0],
        "time": pa.array([0, 1, 2, 3, 4, None], pa.timestamp("s")),
    }
    assert rejected(PLAN, frame) == [
        ("temp row 1", "`sensor` is null"),
        ("temp row 2", "`value` is null"),
        ("temp row 3", "`value` is nan: a number must be finite"),
        ("temp row 4", "`value` is inf: a number must be finite"),
        ("temp row 5", "`time` is null"),
    ]
    with pytest.raises(DataError, match="temp row 1: `sensor` is null"):
        tidelog.read_frame(PLAN, "temp", frame)


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        (pa.array([1500], pa.timestamp("ms")), "`time`: time 3/2 is not a whole number, as `timeline integer` needs"),
        ([1.5], "`time`: time 3/2 is not a whole number, as `timeline integer` needs"),
        ([float("inf")], "`time` is inf: a single time must be finite"),
        (["soon"], "`time`: time `soon` is neither a number, a fraction nor ISO-8601"),
        ([1 << 62], f"`time`: time {1 << 62} lies beyond what the timeline can hold"),
    ],
)
def test_times_that_the_timeline_cannot_hold(times: Any, reason: str) -> None:
    """What is too fine, infinite, too large or no time at all is told, and costs no other row."""
    assert rejected(PLAN, temps(times)) == [("temp row 0", reason)]


def test_rounding_holds_for_columns() -> None:
    """A program that rounds takes timestamps between its ticks, numbers, texts, and the intervals of stored facts."""
    plan = tidelog.compile("timeline integer, unit 1 s, round down. " + TEMP)
    facts = tidelog.read_frame(plan, "temp", temps(pa.array([1500, 2999, 3000], pa.timestamp("ms"))))
    assert [lo for _, _, lo, _ in facts] == [1, 2, 3]
    far = pa.array([-250_000, 400_000_000_000_000_001], pa.timestamp("us", "UTC"))  # the latter in the year 14645
    assert [lo for _, _, lo, _ in tidelog.read_frame(plan, "temp", temps(far))] == [-1, 400_000_000_000]
    for times in ([2.75], ["1970-01-01T00:00:02.75Z"]):
        assert [lo for _, _, lo, _ in tidelog.read_frame(plan, "temp", temps(times))] == [2]
    assert ExactTimes(plan.timeline).read("11/4", "9/2", False, False) == (2, 4)
    assert ExactTimes(plan.timeline, Fraction(60)).read("1", "3/2", False, True) == (60, 89)


def test_text_that_is_not_utf8_is_told_with_its_row() -> None:
    """Who writes Arrow need not look whether text is text: what is none costs its row alone."""
    wrong = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    assert rejected(PLAN, pa.table(temps([1, 2, 3], sensor=wrong))) == [
        ("temp row 1", "`sensor` is not valid UTF-8 at byte 1")
    ]
    times = pa.array([b"1", b"2", b"\xff"], pa.binary()).view(pa.string())
    assert rejected(PLAN, pa.table(temps(times))) == [("temp row 2", "`time`: not valid UTF-8 at byte 1")]


@pytest.mark.parametrize("encode", [pc.dictionary_encode, pc.run_end_encode])
def test_encoded_text_that_is_not_utf8_is_told_with_its_row(encode: Callable[[Any], Any]) -> None:
    """In a dictionary and in runs, too, its row can be told."""
    wrong = encode(pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()))
    stream = stream_of(pa.table(temps([1, 2], sensor=wrong)))
    (batch,) = read_stream(reader_of(PLAN.schema, "temp", stream), stream, "temp")
    assert [(item.reason, item.raw) for item in batch.rejected] == [
        ("`sensor` is not valid UTF-8 at byte 1", b'{"sensor":"/w==","value":20.5,"time":2}')
    ]


def test_a_row_that_is_refused_may_have_a_time_beyond_the_calendar() -> None:
    """Its row is told with the number, and a zone that Python does not know is no matter."""
    times = pa.array([10**18, 10**6], pa.timestamp("us", "GMT+02:00"))
    stream = stream_of(pa.table(temps(times, sensor=pa.array([None, None], pa.string()))))
    (batch,) = read_stream(reader_of(PLAN.schema, "temp", stream), stream, "temp")
    raw = [item.raw for item in batch.rejected]
    assert raw == [
        b'{"sensor":null,"value":20.5,"time":1000000000000000000}',
        b'{"sensor":null,"value":20.5,"time":"1970-01-01T00:00:01Z"}',
    ]


def test_texts_of_stored_facts_that_are_no_json() -> None:
    """What was stored as a field of type `text` may be read for one of type `any`: what is no JSON is the text itself."""
    plan = tidelog.compile("timeline integer. input temp(sensor, value). hot(S) :- temp(S, V), V > 80.")
    arguments = pa.array([{"sensor": "s1", "value": "1"}, {"sensor": '"7"', "value": "x y"}])
    exact = {"start": ["1", "1"], "end": ["2", None], "start_open": [False, False], "end_open": [False, True]}
    facts = tidelog.read_frame(plan, "temp", pa.table({"arguments": arguments, **exact}))
    assert [row for _, row, _, _ in facts] == [("s1", 1), ("7", "x y")]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (
            {"sensor": ["a"], "value": ["x"], "time": [1]},
            "`temp` expects number for `value`, and the column is of type string",
        ),
        ({"sensor": [1], "value": [1], "time": [1]}, "`temp` expects text for `sensor`, and the column is of type int64"),
        ({"sensor": ["a"], "time": [1]}, "the table lacks the field `value` of `temp`"),
        ({"sensor": ["a"], "value": [1]}, "the table needs a column `time`, or `from` and `to`, got: sensor, value"),
        ({"sensor": ["a"], "value": [1], "time": [True]}, "column `time` is of type bool: a time is a number, text"),
        ({"sensor": ["a"], "value": [b"x"], "time": [1]}, "column `value` is of type binary: an argument is text"),
    ],
)
def test_wrong_columns_are_told_before_any_row(frame: dict[str, Any], reason: str) -> None:
    """A column that is missing, or of a type that it cannot have, is one error of the whole frame."""
    with pytest.raises(DataError) as caught:
        tidelog.read_frame(PLAN, "temp", frame)
    assert reason in str(caught.value)


def test_a_predicate_that_data_may_not_hold() -> None:
    """A frame of a derived or an unknown predicate is refused by name, also where it has no rows."""
    with pytest.raises(DataError, match="`hot` is derived, and not declared as an input"):
        tidelog.read_frame(PLAN, "hot", {"x": [], "time": []})
    with pytest.raises(DataError, match="the program has no predicate `tmp`; did you mean `temp`"):
        tidelog.read_frame(PLAN, "tmp", {"x": [], "time": []})


def test_timestamps_need_a_unit() -> None:
    """A timestamp says nothing to a program that does not say what a unit of time is."""
    plan = tidelog.compile("timeline integer. " + TEMP)
    with pytest.raises(DataError, match="which needs a unit: declare one, such as `timeline integer, unit 1 s`"):
        tidelog.read_frame(plan, "temp", temps(pa.array([1], pa.timestamp("s"))))


def test_intervals_are_closed_unless_told_otherwise() -> None:
    """`from` and `to` are a closed interval; `from_open` and `to_open` leave out its ends, and let a null be no end."""
    base = {"sensor": ["s1"] * 3, "value": [1, 1, 1], "from": [1, 2, None], "to": [2, 4, 5]}
    assert rejected(DENSE, base) == [("temp row 2", "`from` is null")]
    told = base | {"from_open": [False, True, True], "to_open": [True, False, False]}
    intervals = ["[1,2)", "(2,4]", "(-inf,5]"]
    assert tidelog.read_frame(DENSE, "temp", told) == [DENSE.record("temp", ["s1", 1], interval=text) for text in intervals]
    endless = {"sensor": ["s1"], "value": [1], "from": ["-inf"], "to": [float("inf")]}
    assert tidelog.read_frame(DENSE, "temp", endless) == [DENSE.record("temp", ["s1", 1], interval="(-inf,inf)")]
    empty = {"sensor": ["s1"], "value": [1], "from": [5], "to": [3]}
    assert rejected(DENSE, empty) == [("temp row 0", "the interval from 5 to 3 is empty")]


def test_other_columns_do_no_harm_where_fields_are_declared() -> None:
    """A column that is no field is passed over; where no fields are declared, it would be an argument."""
    assert len(tidelog.read_frame(PLAN, "temp", temps([1], note=["x"]))) == 1
    with pytest.raises(DataError, match="`temp` has 2 columns beside the time, got 3"):
        tidelog.read_frame(tidelog.compile("hot(S) :- temp(S, V), V > 80."), "temp", temps([1], note=["x"]))


MILLISECONDS = st.integers(-(10**13), 10**13)


@drawn(60)
@given(st.lists(MILLISECONDS, min_size=1, max_size=8), st.sampled_from(["timestamp", "float", "text", "decimal"]))
def test_columns_are_read_as_single_times_are(numbers: list[int], kind: str) -> None:
    """Whatever its type, a column of times gives the points that `Plan.record` gives, time by time."""
    exact = [Fraction(number, 1000) for number in numbers]
    columns: dict[str, Any] = {
        "timestamp": pa.array(numbers, pa.timestamp("ms", "UTC")),
        "float": [float(time) for time in exact],
        "text": [str(time) for time in exact],
        "decimal": [Decimal(number) / 1000 for number in numbers],
    }
    facts = tidelog.read_frame(DENSE, "temp", temps(columns[kind]))
    assert facts == [DENSE.record("temp", ["s1", 20.5], time=str(time)) for time in exact]


@drawn(40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
def test_a_float_stands_for_its_shortest_decimal(values: list[float]) -> None:
    """A column of floats is taken, or refused as too fine, exactly as each of them alone."""
    stream = stream_of(temps(values))
    (batch,) = read_stream(reader_of(DENSE.schema, "temp", stream), stream, "temp")
    expected = []
    for value in values:
        try:
            expected.append(DENSE.record("temp", ["s1", 20.5], time=value))
        except DataError:
            continue
    assert batch.records == expected

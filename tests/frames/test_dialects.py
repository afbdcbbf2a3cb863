"""Frames and Parquet files that others wrote: the same options, and the same facts, as of CSV."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.cli import main
from tidelog.plans.data.dialect import read_dialect
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.frames.columns import ColumnReader, Pool
from tidelog.runtime.frames.layout import layout_of
from tidelog.runtime.frames.reading import FrameReader

PROGRAM = "timeline integer, unit 1 s. input temp(room: text, celsius: number). hot(R) :- temp(R, C), C > 20. output hot."
PLAN = tidelog.compile(PROGRAM)
COLUMNS = {"room": "raum", "celsius": "wert"}
NOON = 1_782_900_000
"""Noon of 2026-07-01 in Berlin."""


def frame(times: Any) -> Any:
    """Two rows with other people's columns."""
    return pa.table({"wert": [21.5, 22], "ts": times, "raum": ["a", "b"], "bemerkung": ["", ""]})


EPOCHS = [
    ("s", pa.array([NOON, NOON + 1])),
    ("s", pa.array([float(NOON), NOON + 1.0])),
    ("ms", pa.array([NOON * 1000, (NOON + 1) * 1000])),
    ("ms", pa.array([NOON * 1000.0, (NOON + 1) * 1000.0])),
    ("us", pa.array([Decimal(NOON * 10**6), Decimal((NOON + 1) * 10**6)])),
    ("ns", pa.array([str(NOON * 10**9), str((NOON + 1) * 10**9)])),
]


@pytest.mark.parametrize(("epoch", "times"), EPOCHS)
def test_numbers_since_1970(epoch: Any, times: Any) -> None:
    """Whatever the type of their column."""
    found = tidelog.read_frame(PLAN, "temp", frame(times), time="ts", epoch=epoch, columns=COLUMNS)
    assert found == [("temp", ("a", 21.5), NOON, NOON), ("temp", ("b", 22), NOON + 1, NOON + 1)]


CLOCKS = [
    (None, pa.array([datetime(2026, 7, 1, 12), datetime(2026, 7, 1, 12, 0, 1)])),  # noqa: DTZ001 - what a clock shows
    (None, pa.array(["2026-07-01 12:00", "2026-07-01T12:00:01"])),
    (None, pa.array([NOON, NOON + 1], pa.timestamp("s", "UTC"))),
    ("%d.%m.%Y %H:%M:%S", pa.array(["01.07.2026 12:00:00", "1.7.2026 12:0:1"]).dictionary_encode()),
    ("%Y%m%d%H%M%S", pa.array([20260701120000, 20260701120001])),
]


@pytest.mark.parametrize(("format_", "times"), CLOCKS)
def test_clocks_of_a_zone(format_: str | None, times: Any) -> None:
    """Timestamps without a zone, texts and digits are what a clock shows; a timestamp with a zone is what it is."""
    told: Any = {} if format_ is None else {"format": format_}
    found = tidelog.read_frame(PLAN, "temp", frame(times), time="ts", zone="Europe/Berlin", columns=COLUMNS, **told)
    assert [record[2] for record in found] == [NOON, NOON + 1]


def test_a_session_takes_them() -> None:
    """`push_frame` has the same options, for bounds by the names of a SPEC."""
    session = tidelog.Session(PLAN)
    table = pa.table({"a": ["1.1.2026"], "b": ["3.1.2026"], "raum": ["x"], "wert": [30]})
    session.push_frame("temp", table, columns="room:raum,celsius:wert", format="%d.%m.%Y", **{"from": "a", "to": "b"})
    session.finish()
    assert [str(answer) for answer in session.pull()] == ["hot(x)@[1767225600,1767398400]"]


def test_rows_that_are_none_are_told_with_their_place() -> None:
    """A time that a clock never shows, and one of another format."""
    session, found = tidelog.Session(PLAN), []
    table = frame(["29.03.2026 02:30", "2026-07-01"])
    told: Any = {"time": "ts", "format": "%d.%m.%Y %H:%M", "zone": "Europe/Berlin", "columns": COLUMNS}
    session.push_frame("temp", table, on_rejected=found.extend, **told)
    assert [(item.place, item.reason) for item in found] == [
        ("temp row 0", "`ts`: time `29.03.2026 02:30` does not exist in Europe/Berlin: the clock is set forward over it"),
        ("temp row 1", "`ts`: time `2026-07-01` is not of the format `%d.%m.%Y %H:%M`"),
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"time": "tz", "columns": COLUMNS},
            "the table has no column `tz` as `time`: the columns are wert, ts, raum, bemerkung",
        ),
        ({"time": "ts", "columns": {"room": "raum"}}, "the table lacks the field `celsius` of `temp`"),
        ({"time": "ts", "columns": {"rom": "raum"}}, "did you mean `room`?"),
        ({"time": "ts", "columns": COLUMNS, "format": "%Y-%m-%d"}, "it is a time without `format` and `epoch`"),
        ({"time": "wert", "columns": {"room": "raum", "celsius": "ts"}}, "column `ts` is of type timestamp[s]"),
        ({"time": "wert", "format": "%Y-%m-%d", "columns": {"room": "raum"}}, "lacks the field `celsius`"),
        ({"time": "ts", "columns": COLUMNS, "sep": ";"}, "`sep`, `decimal` and `melt` are for CSV"),
    ],
)
def test_what_such_tables_have_not(options: Any, reason: str) -> None:
    """The error says which columns there are."""
    times = pa.array([NOON, NOON], pa.timestamp("s"))
    with pytest.raises(DataError) as caught:
        tidelog.read_frame(PLAN, "temp", frame(times), **options)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tme": "ts"}, "did you mean `time`?"),
        ({"columns": 3}, "`columns` is a text, got int"),
        ({"time": ""}, "says nothing"),
    ],
)
def test_options_that_say_nothing(options: Any, reason: str) -> None:
    """They are refused before the frame is looked at."""
    with pytest.raises(SpecError) as caught:
        tidelog.read_frame(PLAN, "temp", None, **options)
    assert reason in str(caught.value)


@pytest.mark.parametrize("command", [["run", "p.tide", "--in"], ["materialise", "p.tide"]])
def test_parquet_of_others(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A SPEC of Parquet has the same options."""
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text(PROGRAM)
    pq.write_table(frame(pa.array([NOON * 1000, NOON * 1000 + 1000])), "a.parquet")
    code = main([*command, "a.parquet?predicate=temp&time=ts&epoch=ms&columns=room:raum,celsius:wert&extra=ignore"])
    out, err = capfd.readouterr()
    assert (code, err) == (0, "")
    assert str(NOON + 1) in out
    assert main([*command, "a.parquet?predicate=temp&time=ts&sep=;"]) != 0
    assert "`sep`, `decimal` and `melt` are for CSV" in capfd.readouterr().err


TIMELINES = [
    "timeline integer, unit 1 s.",
    "timeline integer, unit 1 s, round nearest.",
    "timeline rational, unit 1 s, resolution 1 ms.",
    "timeline rational, unit 1 min, resolution 1/60.",
]
OPTIONS: list[Any] = [
    {"epoch": "ms"},
    {"epoch": "ns"},
    {"zone": "Europe/Berlin"},
    {"format": "%Y%m%d"},
    {"zone": "America/New_York", "format": "%Y%m%d%H"},
]
VALUES = st.one_of(
    st.none(),
    st.integers(1_774_742_400, 1_774_753_200),
    st.integers(-(2**62), 2**62),
    st.sampled_from([20260701, 2026032902]),
)
TYPES = [pa.int64(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.string(), pa.date64()]


@drawn(300)
@given(st.sampled_from(TIMELINES), st.sampled_from(OPTIONS), st.sampled_from(TYPES), st.lists(VALUES, max_size=5))
def test_columns_say_what_rows_say(timeline: str, options: Any, kind: Any, values: list[int | None]) -> None:
    """A column that is read as a whole holds the same points, and the same is refused."""
    schema = tidelog.compile(f"{timeline} input p(x). q(X) :- p(X).").schema
    times = pa.array([None if value is None else str(value) for value in values], pa.string())
    if kind != pa.string():
        times = pa.array(values, pa.int64()).cast(kind)
    table = pa.table({"ts": times, "x": ["a"] * len(values)})
    try:
        layout = layout_of(table.schema, "p", schema, read_dialect({"time": "ts", **options}))
    except DataError:
        return
    pool = Pool()
    rows = FrameReader(schema, "p", layout).read(table.combine_chunks(), "t", range(len(values)))
    columns = ColumnReader(schema, "p", layout, pool).read(table.combine_chunks(), "t", range(len(values)))
    assert [("p", *fact) for fact in columns.rows.facts(pool)] == rows.records
    assert columns.rejected == rows.rejected

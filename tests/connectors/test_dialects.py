"""Tables that others wrote: their columns, times and numbers, and why what cannot be read is refused."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.cli import main
from tidelog.connectors import BatchLoader
from tidelog.connectors.files import history_files
from tidelog.connectors.files.history_files import open_history
from tidelog.connectors.formats.csv.framer import CsvFramer
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.opening import open_sink, open_source
from tidelog.connectors.spec import Spec, parse_spec
from tidelog.plans.data.dialect import Dialect, read_dialect
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.foreign_times import ForeignTimes
from tidelog.plans.data.time_formats import compile_format
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.frames.columns import Pool

SECONDS = Timeline("integer", unit=Fraction(1))
MILLISECONDS = Timeline("integer", unit=Fraction(1, 1000))
PROGRAM = "timeline integer, unit 1 s. input temp(room: text, celsius: number). hot(R) :- temp(R, C), C > 20. output hot."
SCHEMA = tidelog.compile(PROGRAM).schema
OPTIONS = (
    "predicate=temp&time=Zeitstempel&format=%d.%m.%Y %H:%M:%S&zone=Europe/Berlin&sep=;&decimal=,"
    "&columns=room:raum,celsius:wert&extra=ignore"
)
GERMAN = "Zeitstempel;raum;wert;bemerkung\n01.07.2026 12:00:00;Halle;21,5;gut, warm\n01.07.2026 12:00:05;Büro;1.234,5;\n"
GERMAN += "29.03.2026 02:30:00;Halle;22;\n2026-07-01;Halle;22;\n25.10.2026 02:30:00;Halle;22;zweimal\n"


def point(seconds: str) -> int:
    """Seconds since 1970 of a time in UTC."""
    return int(datetime.fromisoformat(seconds).replace(tzinfo=UTC).timestamp())


def read(options: str, text: str, schema: Schema = SCHEMA) -> tuple[list[Record], list[tuple[str, str]]]:
    """What a file with these options says, row by row."""
    spec = parse_spec(f"a.csv?{options}")
    reader = LineReader(make_decoder("csv", schema, "a.csv", spec.predicate, dialect=spec.dialect))
    batches = [reader.feed(text.encode()), reader.finish()]
    rejected = [(item.place, item.reason) for batch in batches for item in batch.rejected]
    return [record for batch in batches for record in batch.records], rejected


def test_a_german_file() -> None:
    """Columns, decimals and times of a spreadsheet; what is none of it is refused with its place."""
    records, rejected = read(OPTIONS, GERMAN)
    summer, autumn = point("2026-07-01T10:00:00"), point("2026-10-25T00:30:00")
    assert records == [("temp", ("Halle", 21.5), summer, summer), ("temp", ("Halle", 22), autumn, autumn)]
    assert rejected == [
        ("a.csv:3", '`temp` expects number for `celsius`, got "1.234,5"'),
        ("a.csv:4", "time `29.03.2026 02:30:00` does not exist in Europe/Berlin: the clock is set forward over it"),
        ("a.csv:5", "time `2026-07-01` is not of the format `%d.%m.%Y %H:%M:%S`"),
    ]


@pytest.mark.parametrize(
    ("unit", "epoch", "cell", "expected"),
    [
        ("s", "s", "1700000000", 1_700_000_000),
        ("s", "ms", "1700000000000", 1_700_000_000),
        ("ms", "ms", "1700000000001", 1_700_000_000_001),
        ("ms", "us", "1700000000001000", 1_700_000_000_001),
        ("ms", "ns", "1700000000001000000", 1_700_000_000_001),
        ("ms", "s", "1700000000.25", 1_700_000_000_250),
        ("ms", "s", "-1", -1000),
    ],
)
def test_numbers_since_1970(unit: str, epoch: str, cell: str, expected: int) -> None:
    """They count what `epoch` says, whatever the unit of the program is."""
    schema = tidelog.compile(f"timeline integer, unit 1 {unit}. input p(x). q(X) :- p(X).").schema
    assert read(f"predicate=p&epoch={epoch}", f"time,x\n{cell},a\n", schema) == ([("p", ("a",), expected, expected)], [])


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("1500", "time `1500` is no whole number of units of 1 s since 1970"),
        ("soon", "number soon cannot be read"),
        ("inf", "number inf cannot be read"),
        ("", "a time is missing"),
    ],
)
def test_no_number_since_1970(cell: str, reason: str) -> None:
    """What is none is refused for itself."""
    assert read("predicate=temp&epoch=ms", f"time,room,celsius\n{cell},a,1\n") == ([], [("a.csv:2", reason)])


def test_bounds_may_have_other_names_and_no_end() -> None:
    """`from` and `to` name the columns of an interval, in which `inf` stays what it is."""
    options = "predicate=temp&from=von&to=bis&format=%d.%m.%Y&sep=;"
    records, rejected = read(options, "von;bis;room;celsius\n2.1.1970;inf;a;1\n-inf;2.1.1970;a;1\n3.1.1970;2.1.1970;a;1\n")
    assert records == [("temp", ("a", 1), 86400, POS), ("temp", ("a", 1), NEG, 86400)]
    assert [place for place, _ in rejected] == ["a.csv:4"]


def test_undeclared_fields_are_the_columns_that_are_told() -> None:
    """Where the program declares no fields, `columns` says which columns are arguments, and in which order."""
    schema = tidelog.compile("timeline integer. q(X) :- p(X, Y).").schema
    records, _ = read("predicate=p&columns=x:b,y:a&extra=ignore", "a,b,c,time\n1,2,3,4\n", schema)
    assert records == [("p", (2, 1), 4, 4)]


@pytest.mark.parametrize(
    ("options", "header", "reason"),
    [
        (
            "time=Zeitstempl",
            "Zeitstempel,room,celsius",
            "the header has no column `Zeitstempl` as `time`: the columns are Zeitstempel, room, celsius;"
            " did you mean `Zeitstempel`?",
        ),
        (
            "columns=room:raun",
            "time,raum,celsius",
            "the header has no column `raun` for `room`: the columns are raum, celsius; did you mean `raum`?",
        ),
        ("columns=rom:raum", "time,raum,celsius", "`temp` has no field `rom`; did you mean `room`?"),
        (
            "columns=room:raum",
            "time,raum,wert",
            "the header lacks the field `celsius` of `temp`: say `columns=celsius:COLUMN`, with one of raum, wert",
        ),
        ("columns=room:raum", "time,raum,celsius,x", "`temp` has no field `x`: `extra=ignore` passes over such columns"),
        ("extra=ignore", "time,room,celsius,room", "column `room` stands twice in the header"),
        ("extra=ignore", "time;room;celsius", None),
    ],
)
def test_a_wrong_column_names_those_that_there_are(options: str, header: str, reason: str | None) -> None:
    """Nothing can be read, and the error says what was probably meant."""
    with pytest.raises(DataError) as caught:
        read(f"predicate=temp&{options}", f"{header}\n")
    assert caught.value.place == "a.csv:1"
    if reason is None:
        assert caught.value.reason.endswith("; `sep=;` divides it into columns")
    else:
        assert caught.value.reason == reason


def test_ignored_columns_may_stand_twice() -> None:
    """A spreadsheet leaves empty columns behind, which have no names."""
    assert len(read("predicate=temp&extra=ignore", "time,room,celsius,,\n1,a,2,,\n")[0]) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("tme=a", "has an unknown option `tme`"),
        ("tme=a", "did you mean `time`?"),
        ("zone=Europe/Berln", "did you mean `Europe/Berlin`?"),
        ("format=%q", "an unknown directive `%q`"),
        ("format=%d.%m", "does not say which day it is"),
        ("format=%d.%m.%Y %d", "has `%d` twice"),
        ("format=%d.%m.%Y %I", "`%I` and `%p` go together"),
        ("epoch=min", "`epoch=min` is no unit: s, ms, us, ns"),
        ("epoch=ms&zone=Europe/Berlin", "`epoch` and `zone` exclude each other"),
        ("time=a&from=b", "`time` and `from` exclude each other"),
        ("time=a&time=b", "has `time` twice"),
        ("sep=;;", "`sep=;;` is no separator"),
        ("decimal=,", "needs another separator"),
        ("decimal=;", "is no decimal sign"),
        ("extra=yes", "`extra=ignore`"),
        ("columns=a", "is not of the form"),
        ("columns=a:x,a:y", "names the field `a` twice"),
        ("time=", "names no value after `time=`"),
    ],
)
def test_options_that_say_nothing(options: str, reason: str) -> None:
    """Each is refused before anything is opened."""
    with pytest.raises(SpecError) as caught:
        parse_spec(f"a.csv?{options}")
    assert reason in str(caught.value)


def test_what_has_no_dialect_refuses_it(tmp_path: Path) -> None:
    """Text facts, and sinks."""
    (tmp_path / "a.facts").write_text("")
    with pytest.raises(SpecError, match="is read as facts"):
        open_source(f"{tmp_path}/a.facts?sep=;", SCHEMA)
    with pytest.raises(SpecError, match="is for sources"):
        open_sink(f"{tmp_path}/b.jsonl?sep=;", SCHEMA)


def test_times_of_a_calendar_need_a_unit() -> None:
    """Without one, nobody knows how many seconds a time is."""
    schema = tidelog.compile("timeline integer. input p(x). q(X) :- p(X).").schema
    with pytest.raises(SpecError, match="`epoch=` needs a unit"):
        make_decoder("csv", schema, "a.csv", "p", dialect=Dialect(epoch="ms"))


# --- formats ------------------------------------------------------------------------------------------------------------

FORMATS = [
    "%Y-%m-%d %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d/%b/%Y:%H:%M:%S %z",
    "%A, %d. %B %Y, %I:%M:%S.%f %p",
    "%y%m%d%H%M%S",
    "%Y.%j %H",
    "%m/%d/%y",
    "%a %d %b %Y 100%% %H-%M",
]


@drawn(200)
@given(
    st.sampled_from(FORMATS),
    st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)),  # noqa: DTZ001 - what a clock shows
    st.integers(-14 * 4, 14 * 4),
)
def test_formats_are_those_of_python(format_: str, moment: datetime, quarters: int) -> None:
    """What `strftime` writes is read as `strptime` reads it."""
    offset = timedelta(minutes=15 * quarters)
    text = moment.replace(tzinfo=timezone(offset)).strftime(format_)
    expected = datetime.strptime(text, format_)  # noqa: DTZ007 - what a clock shows
    whole, rest, found = compile_format(format_).read(text)
    shown = expected.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert whole + rest == Fraction(shown // timedelta(microseconds=1), 10**6)
    assert found == (int(offset.total_seconds()) if "%z" in format_ else None)


@drawn(200)
@given(st.sampled_from(["%d.%m.%Y %H:%M:%S", "%y%m%d", "%I %p %Y-%m-%d"]), st.text("0123456789.: -ampAMP", max_size=20))
@example("%d.%m.%Y %H:%M:%S", "31.02.2026 12:00:00")
@example("%d.%m.%Y %H:%M:%S", "1.2.2026 24:00:00")
@example("%d.%m.%Y %H:%M:%S", "1.2.2026 1:2:3")
@example("%I %p %Y-%m-%d", "13 am 2026-01-01")
@example("%I %p %Y-%m-%d", "12 AM 2026-01-01")
@example("%I %p %Y-%m-%d", "12 pm 2026-01-01")
def test_what_python_reads_is_read(format_: str, text: str) -> None:
    """Any text is of a format, or is none, as it is for `strptime`; but for a leap second."""
    assume(":60" not in text and ":61" not in text)
    try:
        expected = datetime.strptime(text, format_)  # noqa: DTZ007 - what a clock shows
    except ValueError:
        with pytest.raises(DataError):
            compile_format(format_).read(text)
        return
    whole, rest, _ = compile_format(format_).read(text)
    assert whole + rest == int(expected.replace(tzinfo=UTC).timestamp())


# --- zones --------------------------------------------------------------------------------------------------------------

CHANGES = {
    "Europe/Berlin": ["2026-03-29 02:00", "2026-10-25 03:00"],
    "America/New_York": ["2026-03-08 02:00", "2026-11-01 02:00"],
    "Australia/Lord_Howe": ["2026-04-05 02:00", "2026-10-04 02:00"],
    "Pacific/Apia": ["2011-12-30 00:00", "2011-12-31 00:00"],
    "UTC": ["2026-03-29 02:00"],
}


@st.composite
def clocks(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone, and what a clock there may show around a change, or does not."""
    zone = draw(st.sampled_from(sorted(CHANGES)))
    around = datetime.fromisoformat(draw(st.sampled_from(CHANGES[zone])))
    return zone, around + timedelta(minutes=draw(st.integers(-180, 180)))


@drawn(200)
@given(clocks())
@example(("Europe/Berlin", datetime(2026, 3, 29, 2, 0)))  # noqa: DTZ001 - what a clock shows
@example(("Europe/Berlin", datetime(2026, 3, 29, 3, 0)))  # noqa: DTZ001 - what a clock shows
@example(("Europe/Berlin", datetime(2026, 10, 25, 2, 0)))  # noqa: DTZ001 - what a clock shows
@example(("Europe/Berlin", datetime(2026, 10, 25, 3, 0)))  # noqa: DTZ001 - what a clock shows
def test_a_clock_shows_a_time_first_when_it_is_read(case: tuple[str, datetime]) -> None:
    """By definition: the first moment at which a clock there shows it; there may be none."""
    zone, shown = case
    moments = [
        moment
        for minutes in range(-27 * 60, 27 * 60)
        for moment in [shown.replace(tzinfo=UTC) + timedelta(minutes=minutes)]
        if moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == shown
    ]
    for dialect in (Dialect(zone=zone), Dialect(zone=zone, format="%Y-%m-%dT%H:%M:%S")):
        times = ForeignTimes(SECONDS, dialect)
        if not moments:
            with pytest.raises(DataError, match="does not exist"):
                times.read_point(shown.isoformat())
            with pytest.raises(DataError, match="does not exist"):
                times.of_clock(Fraction(int(shown.replace(tzinfo=UTC).timestamp())))
            continue
        expected = int(min(moments).timestamp())
        assert times.read_point(shown.isoformat()) == expected
        assert times.of_clock(Fraction(int(shown.replace(tzinfo=UTC).timestamp()))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01", "2026-06-30T22:00:00"),
        ("2026-07-01 12:00", "2026-07-01T10:00:00"),
        ("2026-07-01T12:00:00Z", "2026-07-01T12:00:00"),
        ("2026-07-01T12:00:00+05:00", "2026-07-01T07:00:00"),
    ],
)
def test_an_offset_outweighs_the_zone(text: str, expected: str) -> None:
    """A zone is for times of ISO-8601 that tell no offset; numbers stay numbers."""
    times = ForeignTimes(SECONDS, Dialect(zone="Europe/Berlin"))
    assert times.read_point(text) == point(expected)
    assert times.read_point("17") == 17


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1,5", 1500), ("2026-07-01T12:00:00,25", 1_782_907_200_250), ("17", 17000)],
)
def test_decimals_of_times(text: str, expected: int) -> None:
    """A comma stands before the decimals of a time, too."""
    schema = tidelog.compile("timeline rational, unit 1 s, resolution 1 ms. input p(x). q(X) :- p(X).").schema
    records, _ = read("predicate=p&sep=;&decimal=,", f"time;x\n{text};a\n", schema)
    assert records[0][2] == 2 * expected


@pytest.mark.parametrize("text", ["1.5", "1.234,5", "2026-07-01T12:00:00.25"])
def test_a_point_is_no_decimal_sign_of_times(text: str) -> None:
    """The reason shows what is written."""
    reason = f"time `{text}` has a point, where a comma stands before decimals"
    assert read("predicate=temp&sep=;&decimal=,", f"time;room;celsius\n{text};a;1\n")[1] == [("a.csv:2", reason)]


# --- records ------------------------------------------------------------------------------------------------------------


@drawn(100)
@given(st.text(';",\n\r a\tb', max_size=40), st.sampled_from([";", "\t", "|"]), st.integers(1, 9))
def test_records_between_other_separators(text: str, separator: str, size: int) -> None:
    """Records of such a file are those of the same file with commas."""
    swapped = text.translate(str.maketrans({",": separator, separator: ","}))

    def records(framer: CsvFramer, text: str) -> list[bytes]:
        chunks = [text[i : i + size].encode() for i in range(0, len(text), size)]
        return [line for chunk in chunks for line in framer.push(chunk).lines] + framer.finish().lines

    expected = [line.decode() for line in records(CsvFramer("a"), text)]
    found = [line.decode() for line in records(CsvFramer("a", separator=separator), swapped)]
    assert [line.translate(str.maketrans({",": separator, separator: ","})) for line in found] == expected


# --- histories ----------------------------------------------------------------------------------------------------------

SCHEMAS = [
    tidelog.compile(text).schema
    for text in (
        "timeline integer, unit 1 s. input p(x: text, y: number). q(X) :- p(X, Y).",
        "timeline integer, unit 1 s, round down. input p(x: any, y: integer). q(X) :- p(X, Y).",
        "timeline rational, unit 1 s, resolution 1 ms. input p(x: boolean, y: any). q(X) :- p(X, Y).",
        "timeline rational, unit 1 min, resolution 1/60. input p(x: text, y: number). q(X) :- p(X, Y).",
        "timeline integer, unit 1 ms. q(X) :- p(X, Y).",
    )
]
TIMES = {
    "format": ["01.07.2026 12:00:00", "1.7.2026 1:2:3", "29.03.2026 02:30:00", "25.10.2026 02:30:00", "31.02.2026 1:1:1"],
    "epoch": ["1700000000000", "1700000000001", "-5", "0007", "1,5", "1.5", "1e3", "9" * 19],
    "zone": ["2026-07-01", "2026-07-01 12:00", "2026-03-29T02:30", "2026-07-01T12:00:00Z", "2026-07-01T12:00:00,25", "17"],
    "none": ["1", "2", "1,5", "1.5", "2026-07-01T12:00:00.25", "2026-07-01T12:00:00,25", "5 min"],
}
CELLS = {
    "x": ["a", "b", "true", "s,1", "ü"],
    "y": ["1", "2,5", "-3,25", "1.5", "1.234,5", "1e3", "1,5e3", "", "a", "+4", ",5"],
}
DIALECTS = {
    "format": {"format": "%d.%m.%Y %H:%M:%S", "zone": "Europe/Berlin"},
    "epoch": {"epoch": "ms"},
    "zone": {"zone": "Europe/Berlin"},
    "none": {},
}


@st.composite
def files(draw: st.DrawFn) -> tuple[Dialect, bytes]:
    """A dialect, and a file that is mostly of it."""
    kind = draw(st.sampled_from(sorted(DIALECTS)))
    separator, decimal = draw(st.sampled_from([(";", ","), (";", "."), ("\t", ","), (",", "."), ("|", ",")]))
    told = {"sep": separator, "decimal": decimal, "columns": "x:raum", "extra": "ignore", **DIALECTS[kind]}
    times = draw(st.sampled_from([["time"], ["from", "to"]]))
    told |= {name: f"t{name}" for name in times}
    header = draw(st.permutations([*(f"t{name}" for name in times), "raum", "y", "z"]))
    odd = draw(st.sampled_from([0, 0, 1, 5]))
    plain = {"x": ["a", "b", "true"], "y": ["1", "2"] if decimal == "." else ["1", "2,5"]}
    quote = draw(st.sampled_from(["{}", '"{}"', " {}"]))
    lines = [separator.join(header)]
    for _ in range(draw(st.integers(0, 8))):
        row = []
        for name in header:
            if name in ("raum", "y"):
                key = "x" if name == "raum" else "y"
                values = plain[key] if draw(st.integers(0, 9)) >= odd else CELLS[key]
            else:
                values = (TIMES[kind][:2] if draw(st.integers(0, 9)) >= odd else TIMES[kind]) if name != "z" else ["", "9"]
            cell = draw(st.sampled_from(values))
            row.append(f'"{cell}"' if separator in cell else quote.format(cell))
        lines.append(separator.join(row))
    return read_dialect(told), "\n".join(lines).encode() + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


def by_rows(spec: Spec, schema: Schema, content: bytes) -> Any:
    """Facts with their places, and what is rejected, row by row; or the error."""
    reader = LineReader(make_decoder("csv", schema, spec.path, spec.predicate, dialect=spec.dialect))
    try:
        batches = [reader.feed(content), reader.finish()]
    except DataError as error:
        return str(error)
    facts = [(batch.place(i), record) for batch in batches for i, record in enumerate(batch.records)]
    return facts, [item for batch in batches for item in batch.rejected]


def by_columns(spec: Spec, schema: Schema) -> Any:
    """The same of its columns."""
    pool = Pool()
    facts, rejected = [], []
    try:
        for batch in open_history(spec, schema, pool, rows=3):
            facts += [(batch.place(i), (batch.predicate, *fact)) for i, fact in enumerate(batch.rows.facts(pool))]
            rejected += batch.rejected
    except DataError as error:
        return str(error)
    return facts, rejected


@drawn(500)
@given(st.sampled_from(SCHEMAS), files(), st.sampled_from([1, 30, 1 << 16]))
def test_histories_say_what_rows_say(schema: Schema, case: tuple[Dialect, bytes], piece: int) -> None:
    """The same facts of the same lines, the same refusals, the same error."""
    dialect, content = case
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(history_files, "READ_SIZE", piece):
        spec = Spec("file", "csv", f"{folder}/p.csv", predicate="p", dialect=dialect)
        Path(spec.path).write_bytes(content)
        expected, found = by_rows(spec, schema, content), by_columns(spec, schema)
        assert found == expected
        assert repr(found) == repr(expected)


def test_plain_files_of_others_become_columns_at_once(tmp_path: Path) -> None:
    """They are not read row by row: decimals with commas, times of a format."""
    rows = "".join(f"01.07.2026 12:{i // 60:02}:{i % 60:02};r{i % 3};{i},5;\n" for i in range(600))
    spec = parse_spec(f"{tmp_path}/temp.csv?{OPTIONS}")
    Path(spec.path).write_text(f"Zeitstempel;raum;wert;bemerkung\n{rows}")
    with mock.patch.object(history_files.LinesInColumns, "_decode", autospec=True) as decode:
        decode.side_effect = lambda self, framed: self._decoder.decode(framed.lines[:1], 1)
        assert sum(map(len, open_history(spec, SCHEMA, Pool()))) == 600


# --- commands -----------------------------------------------------------------------------------------------------------


def test_commands_take_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """`run` and `materialise` read the same of a German file."""
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text(PROGRAM)
    Path("readings.csv").write_text("\n".join(GERMAN.splitlines()[:2]) + "\n")
    for command in (["run", "p.tide", "--in"], ["materialise", "p.tide"]):
        assert main([*command, f"readings.csv?{OPTIONS}", *(["--out", "facts+-"] if command[0] == "run" else [])]) == 0
        assert f"hot(Halle)@{point('2026-07-01T10:00:00')}" in capfd.readouterr().out


def test_batches_become_as_fine_as_times_of_others(tmp_path: Path) -> None:
    """A rational timeline is refined for what a format tells."""
    path = tmp_path / "p.csv"
    path.write_text("time,x\n1970-01-01 00:00:01.25,a\n")
    schema = tidelog.compile("timeline rational, unit 1 s, resolution 1. input p(x). q(X) :- p(X).").schema
    loader = BatchLoader(schema)
    loader.load(f"{path}?format=%Y-%m-%d %H:%M:%S.%f")
    assert list(loader.drain()) == [("p", ("a",), 10, 10)]
    assert loader.timeline.resolution == Fraction(1, 4)


def test_spark_reads_columns_by_their_names(tmp_path: Path) -> None:
    """It has no options for other ones, and says so."""
    locations = pytest.importorskip("tidelog.connectors.spark.running.inputs.locations")
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(SpecError, match="`sep` is for files of `tidelog run`"):
        locations.parse_input(f"{tmp_path}/a.csv?sep=;", 1)

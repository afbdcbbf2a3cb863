"""What a program on Spark reads: SPECs, text in blocks, Parquet and tables, as parcels."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from lake.buckets import bucket
from pyspark.errors import PythonException
from pyspark.sql import types as T

import tidelog
from spark.packs import facts_in
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.framing import MAX_LINE, LineReader
from tidelog.connectors.lake import Ingestion, parse_fields
from tidelog.connectors.lake.delta.library import deltalake, storage_options
from tidelog.connectors.spark.arrow_types import arrow_type
from tidelog.connectors.spark.running.inputs import blocks as whole
from tidelog.connectors.spark.running.inputs.arrivals import BATCH, FACTS, UNUSED, Arrivals, unused_names
from tidelog.connectors.spark.running.inputs.blocks import BLOCK, BlocksOfTask, Header, WholeFiles
from tidelog.connectors.spark.running.inputs.delta_tables import read_delta
from tidelog.connectors.spark.running.inputs.frames import RowsOfTask, layout_of_frame
from tidelog.connectors.spark.running.inputs.inputs import Input, check_streamed, parse_input, read_input
from tidelog.connectors.spark.running.job import Job, job_of
from tidelog.connectors.spark.running.parcels import COLUMN, COUNT, FACT, LETTER, PACK, SPAN, letter_of
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.frames.layout import EXACT, Layout
from tidelog.runtime.frames.reading import FrameReader
from tidelog.runtime.ports.interfaces import Rejected

from .conftest import Fill

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
timeline integer, unit 1 s.
input temp(sensor: text, value: number).
input door(a).
output warm, open.
warm(S) :- temp(S, _).
open(S) :- door(S).
"""
"""Its rules need all facts."""
LOOSE = "timeline integer, unit 1 s.\noutput open.\nopen(S) :- door(S)."
"""Declares no inputs, so that there may be facts of any predicate."""
ORDERED = "timeline integer.\ninput p(a).\noutput q.\nq(X) :- sometime p(X) in [#2 of p]."


def job(program: str = PROGRAM) -> Job:
    return job_of(tidelog.compile(program), 4)


class Read:
    """What parcels hold."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        kinds: dict[int, list[dict[str, Any]]] = {}
        for row in rows:
            kinds.setdefault(row["kind"], []).append(row)
        facts = [fact for row in kinds.get(FACT, []) for fact in msgspec.msgpack.decode(row["row"])]
        facts += facts_in(kinds.get(COLUMN, []))
        facts.sort(key=lambda fact: fact[4:])
        self.places = [place for *_, place in facts] if facts and len(facts[0]) > 4 else []
        self.facts: list[Record] = [(name, tuple(row), lo, hi) for name, row, lo, hi, *_ in facts]
        self.letters = [letter_of(row["row"]) for row in kinds.get(LETTER, [])]
        self.counts = Counter[str]()
        for row in kinds.get(COUNT, []):
            self.counts[row["name"]] += row["lo"]
        self.spans = [(row["lo"], row["hi"]) for row in kinds.get(SPAN, [])]

    @classmethod
    def of(cls, batches: Iterator[pa.RecordBatch]) -> Read:
        return cls(row for batch in batches for row in batch.to_pylist())

    @classmethod
    def frame(cls, frame: DataFrame) -> Read:
        return cls(row.asDict() for row in frame.collect())

    def sorted(self) -> tuple[list[Record], list[tuple[str, str]]]:
        """Facts and reasons, in an order of their own."""
        return sorted(self.facts, key=repr), sorted((each.place, each.reason) for each in self.letters)


def blocks(*rows: tuple[bytes, str, int, int, int], size: int = 3) -> Iterator[pa.RecordBatch]:
    """Lines as Spark gives them: with the file, the block's begin and length, and the file's size."""
    types = (pa.binary(), pa.string(), pa.int64(), pa.int64(), pa.int64())
    for begin in range(0, len(rows), size):
        columns = zip(*rows[begin : begin + size], strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, ["value", *BLOCK])


def file(path: str, text: bytes) -> list[tuple[bytes, str, int, int, int]]:
    """The lines of a file that is one block."""
    return [
        (line, f"file:{path}", 0, len(text), len(text)) for line in text.split(b"\n")[: -1 if text[-1:] == b"\n" else None]
    ]


def expected(kind: str, path: str, text: bytes, predicate: str | None = None) -> tuple[list[Record], list[tuple[str, str]]]:
    """What `tidelog run` makes of a file, as `Read.sorted`."""
    reader = LineReader(make_decoder(kind, job().plan.schema, path, predicate))
    batches = [reader.feed(text), reader.finish()]
    records = [record for batch in batches for record in batch.records if record[0] in ("temp", "door")]
    letters = [(each.place, each.reason) for batch in batches for each in batch.rejected]
    return sorted(records, key=repr), sorted(letters)


TEXTS = {
    "csv": b"\xef\xbb\xbfvalue,sensor,time\r\n31,a,1\r\n\r\n3x,b,2\n33.5,\xff,3\n 34 , 007 ,1970-01-01T00:00:04Z\n,,\n"
    + b"x" * (MAX_LINE + 1)
    + b"\n35,c,5",
    "jsonl": b'{"temp":{"sensor":"a","value":31},"time":1}\n\n{"predicate":"other","args":[1],"time":2}\nno\n'
    b'{"predicate":"door","args":["d"],"interval":"(-inf,3]"}\n',
    "facts": b"temp(a,31)@1\n% comment\ntemp(a,b)@2\r\ndoor(x)@[1,4)\nwarm(a)@3\nother@9\ntemp(c,1e400)@1\n",
}


# --- SPECs ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files and folders to name."""
    monkeypatch.chdir(tmp_path)
    names = ("temp.csv", "temp.v2.csv.gz", "x.txt", "hot.parquet", "[1].csv", "_a.csv", "logs/a.jsonl.gz", "logs/_SUCCESS")
    for name in (*names, "both/a.csv", "both/b.jsonl", "hot%3Acold/node=1/a.parquet", "temp2.csv/part-0", "v1.2/a.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("temp.csv", ("csv", "temp.csv", "temp")),
        ("file:temp.csv?predicate=hot", ("csv", "temp.csv", "hot")),
        ("facts+temp.csv", ("facts", "temp.csv", None)),
        ("temp.v2.csv.gz", ("csv", "temp.v2.csv.gz", "temp.v2")),
        ("x.txt", ("facts", "x.txt", None)),
        ("logs", ("jsonl", "logs", None)),
        ("logs/?predicate=p", ("jsonl", "logs/", "p")),
        ("hot.parquet", ("parquet", "hot.parquet", "hot")),
        ("parquet+file:both?predicate=q", ("parquet", "both", "q")),
        ("hot%3Acold", ("parquet", "hot%3Acold", "hot:cold")),
        ("temp2.csv/", ("csv", "temp2.csv/", "temp2")),
        ("v1.2", ("csv", "v1.2", "v1.2")),
        ("csv+empty", ("csv", "empty", "empty")),
        ("[1].csv", ("csv", "[1].csv", "[1]")),
        ("both/*.jsonl", ("jsonl", "both/*.jsonl", None)),
        ("*/temp.csv", ("csv", "*/temp.csv", "temp")),
        ("csv+both/*?predicate=p", ("csv", "both/*", "p")),
        ("table:plant.temp", ("table", "plant.temp", "temp")),
        ("table:`a`?predicate=p", ("table", "`a`", "p")),
        ("s3a://bucket/x/temp.csv", ("csv", "s3a://bucket/x/temp.csv", "temp")),
        ("parquet+hdfs://host:1/hot/", ("parquet", "hdfs://host:1/hot/", "hot")),
        ("jsonl+s3a://bucket", ("jsonl", "s3a://bucket", None)),
    ],
)
def test_specs(folder: Path, spec: str, expected: tuple[str, str, str | None]) -> None:
    """A SPEC tells the format, by itself or by endings, the place, and of what predicate rows are."""
    assert parse_input(spec, 3) == Input(3, *expected)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("-", "Spark reads files, folders, tables, outboxes and topics of Kafka"),
        ("jsonl+-", "Spark reads files, folders, tables, outboxes and topics of Kafka"),
        ("tcp://127.0.0.1:9000", "Spark reads files, folders, tables, outboxes and topics of Kafka"),
        ("unix+listen:///x", "Spark reads files, folders, tables, outboxes and topics of Kafka"),
        ("xml+file:x.txt", "unknown format `xml`: the formats are facts, jsonl, csv, parquet"),
        ("gopher:x", "unknown scheme `gopher`: expected a path, `file:PATH`, `table:NAME`"),
        ("nowhere.csv", "cannot read `nowhere.csv`: No such file or directory"),
        ("pipe", "cannot read `pipe`: Spark reads files and folders"),
        ("_a.csv", "Spark passes over files whose names begin with `_` or `.`"),
        ("both", r"`both` holds files of several formats \(csv, jsonl\): say which it is, such as `csv\+both`"),
        ("empty", r"`empty` holds no files: say which format they will have, such as `csv\+empty`"),
        ("both/*", r"`both/\*` does not say which format it has"),
        ("s3a://bucket/x", r"does not say which format it has: put it in front, such as `csv\+s3a://bucket/x`"),
        ("both/*.csv", r"does not say which predicate its rows are: append `\?predicate=NAME`"),
        ("csv+table:x", r"a table has no format: leave `csv\+` away"),
        ("table:", "names no table"),
        ("file:", "names no file"),
        ("temp.csv?predicate=", "names no predicate"),
        ("file://host/x", "names a host"),
    ],
)
def test_what_cannot_be_read(folder: Path, spec: str, message: str) -> None:
    """What Spark cannot read, and what is not there, is told before Spark is started."""
    with pytest.raises(SpecError, match=message):
        parse_input(spec, 1)


def test_streams_are_folders(folder: Path) -> None:
    """A single file is no stream; a folder, a glob, a table and a URI may be one."""
    for spec in ("logs", "csv+empty", "*/temp.csv", "table:t", "s3a://b/x.csv"):
        check_streamed(parse_input(spec, 1))
    with pytest.raises(SpecError, match="a stream reads a folder, in which files appear"):
        check_streamed(parse_input("temp.csv", 1))


# --- text ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TEXTS)
def test_workers_read_as_run_does(kind: str) -> None:
    """Facts, and the places and reasons of what is none, are those of `tidelog run`, however lines are cut into batches."""
    predicate = "temp" if kind == "csv" else None
    for size in (1, 3, 100):
        worker = BlocksOfTask(Input(1, kind, "/d", predicate), job(), None)
        read = Read.of(worker.read(blocks(*file("/d/a b", TEXTS[kind]), size=size)))
        assert read.sorted() == expected(kind, "/d/a b", TEXTS[kind], predicate)
        assert read.facts
        assert read.letters


@pytest.mark.parametrize("kind", TEXTS)
def test_files_that_are_one_row(kind: str) -> None:
    """A file that comes as one row is read as by its lines."""
    predicate = "temp" if kind == "csv" else None
    size = len(TEXTS[kind])
    rows = [(TEXTS[kind], f"file:/d/{name}", 0, size, size) for name in "ab"]
    read = Read.of(BlocksOfTask(Input(1, kind, "/d", predicate), job(), None).read(blocks(*rows)))
    both = [expected(kind, f"/d/{name}", TEXTS[kind], predicate) for name in "ab"]
    assert read.sorted() == (sorted(both[0][0] + both[1][0], key=repr), sorted(both[0][1] + both[1][1]))


def test_whole_files_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts of whole files that go on in columns, and what is none, are those of `tidelog run`, piece by piece, too."""
    monkeypatch.setattr(whole, "COLUMNS_CHUNK", 64)
    plain = b"sensor,value,time\n" + b"".join(b"s%d,%d,%d\n" % (i % 3, i, i) for i in range(50))
    texts = {"/a": TEXTS["csv"], "/b": plain, "/c": b"value,time\n2,2\n", "/d": plain + b"s4,x,3\ns5,7,8"}
    rows = [(text, f"file:{path}", 0, len(text), len(text)) for path, text in texts.items()]
    read = Read.of(WholeFiles(Input(1, "csv", "/", "temp"), job()).read(blocks(*rows)))
    found = [expected("csv", path, text, "temp") for path, text in texts.items() if path != "/c"]
    reason = "the header lacks the field `sensor` of `temp`"
    letters = [letter for _, letters in found for letter in letters] + [("/c:1", reason), ("/c:2", reason)]
    assert read.sorted() == (sorted([fact for facts, _ in found for fact in facts], key=repr), sorted(letters))
    assert len(read.facts) > 100


def test_lines_are_counted_in_each_file_and_block() -> None:
    """Letters name the line where the file's beginning was seen, else the byte behind which the block begins."""
    rows = [
        *file("/a%20b", b"x\ny\n"),
        *file("/c", b"z\n"),
        (b"u", "file:/c", 1000, 5, 2000),
        (b"v", "file:/c", 1000, 5, 2000),
    ]
    read = Read.of(BlocksOfTask(Input(1, "jsonl", "/"), job(), None).read(blocks(*rows)))
    assert [each.place for each in read.letters] == [
        "/a b:1",
        "/a b:2",
        "/c:1",
        "/c (after byte 1000)",
        "/c (after byte 1000)",
    ]
    assert read.letters[4] == Rejected("/c (after byte 1000)", read.letters[0].reason, b"v")


def test_each_whole_file_has_its_own_header() -> None:
    """Files in one task may have different headers; one whose header is wrong is refused row by row."""
    files = [("/a", b"sensor,value,time\na,1,1\n"), ("/b", b"value,time\nb,2\n"), ("/c", b"time,value,sensor\n3,3,c\n")]
    rows = [row for path, text in files for row in file(path, text)]
    read = Read.of(BlocksOfTask(Input(1, "csv", "/", "temp"), job(), None).read(blocks(*rows)))
    assert read.facts == [("temp", ("a", 1), 1, 1), ("temp", ("c", 3), 3, 3)]
    reason = "the header lacks the field `sensor` of `temp`"
    assert [(each.place, each.reason) for each in read.letters] == [("/b:1", reason), ("/b:2", reason)]


def test_parts_of_a_file_share_the_header() -> None:
    """Where a file is cut, its later parts go by the header that was sent along, and its first part skips it."""
    rows = [(b"sensor, value,time", "file:/a", 0, 9, 18), (b"a,1,1", "file:/a", 0, 9, 18), (b"b,2,2", "file:/a", 9, 9, 18)]
    for part, found in ((rows, [("a", 1), ("b", 2)]), (rows[2:], [("b", 2)])):
        worker = BlocksOfTask(Input(1, "csv", "/", "temp"), job(), Header(b"sensor,value,time", "/0"))
        read = Read.of(worker.read(blocks(*part)))
        assert [record[1] for record in read.facts] == found
        assert read.letters == []


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (Header(b"value,sensor,time", "/0"), (b"sensor,value,time", 0), "/a: the header differs from that of `/0`"),
        (Header(b"value,sensor,time", "/0"), (b"a,b", 0), "/a:1: the header needs a column `time`"),
        (None, (b"a,1,1", 9), "/a: no header was found"),
    ],
)
def test_cut_files_with_another_header(header: Header | None, row: tuple[bytes, int], message: str) -> None:
    """A file that is cut and has not the header that was sent along ends everything: its other parts would be wrong."""
    worker = BlocksOfTask(Input(1, "csv", "/", "temp"), job(), header)
    with pytest.raises(DataError) as raised:
        list(worker.read(blocks((row[0], "file:/a", row[1], 9, 99))))
    assert str(raised.value).startswith(message)


def test_quoted_line_ends_in_whole_files() -> None:
    """A line end in quotes cuts no row of a file that is read as a whole; a quote that is never closed is a letter."""
    text = b'sensor,value,time\n"a\nforged,1,2\n",31,1\nb,32,2\n"c,33,3\nforged,1,4\n'
    for size in (1, 2, 100):
        worker = BlocksOfTask(Input(1, "csv", "/", "temp"), job(), None)
        read = Read.of(worker.read(blocks(*file("/a", text), *file("/b", text), size=size)))
        one = [("temp", ("a\nforged,1,2\n", 31), 1, 1), ("temp", ("b", 32), 2, 2)]
        assert sorted(read.facts, key=lambda fact: fact[2]) == [one[0], one[0], one[1], one[1]]
        reason = "not valid CSV: unexpected end of data"
        assert [(each.place, each.reason) for each in read.letters] == [("/a:6", reason), ("/b:6", reason)]


@pytest.mark.parametrize("text", [b'"a\nforged,1,2\n",31,1', b'"a,31,1', b'a,31,"\n1"'])
@pytest.mark.parametrize("start", [0, 9])
def test_quoted_line_ends_in_cut_files(text: bytes, start: int) -> None:
    """A line end in quotes of a file that is cut ends everything: a part may begin there, and take text for facts."""
    header = Header(b"sensor,value,time", "/0")
    lines = text.split(b"\n") if start else [header.line, *text.split(b"\n")]
    rows = [(line, "file:/a", start, 9, 99) for line in lines]
    for size in (1, 100):
        worker = BlocksOfTask(Input(1, "csv", "/", "temp"), job(), header)
        with pytest.raises(DataError, match="/a: a quote is open at a line's end, and Spark reads this file in parts"):
            list(worker.read(blocks(*rows, size=size)))


def test_counts_and_spans() -> None:
    """Facts are counted, those that no stage reads apart, and by name; the span is that of both. Others are letters."""
    text = b"temp(a,31)@7\nother(1)@2\ndoor(x)@[3,9]\nother(2)@8\n"
    read = Read.of(BlocksOfTask(Input(1, "facts", "/"), job(), None).read(blocks(*file("/a", text))))
    assert read.counts == {FACTS: 2}
    assert [letter.reason for letter in read.letters] == ["the program has no predicate `other`"] * 2
    assert read.spans == [(3, 7)]
    unread = PROGRAM.replace("output warm, open", "output open") + "input other(n).\n"
    read = Read.of(BlocksOfTask(Input(1, "facts", "/"), job(unread), None).read(blocks(*file("/a", text))))
    assert read.counts == {FACTS: 1, UNUSED: 3, "unused other": 2, "unused temp": 1}
    assert unused_names(read.counts) == {"other": 2, "temp": 1}
    assert read.spans == [(2, 8)]
    assert Read.of(BlocksOfTask(Input(1, "facts", "/"), job(), None).read(iter(()))).counts == {}


def test_batches_are_bounded() -> None:
    """What is read goes on in batches, and not when all is read."""
    arrivals = Arrivals(job(), 1)
    records: list[Record] = [("temp", ("a", 1), time, time) for time in range(1000)]
    batches = [batch for _ in range(125) for batch in arrivals.take(records)]
    assert [sum(batch.column("number").to_pylist()) for batch in batches] == [BATCH, BATCH]
    assert max(number for batch in batches for number in batch.column("number").to_pylist()) == PACK
    (rest,) = arrivals.finish()
    rest = rest.filter(pc.equal(rest.column("kind"), FACT))
    assert sum(rest.column("number").to_pylist()) == 25_000
    narrow = pc.subtract(rest.column("hi"), rest.column("lo"))
    assert max(narrow.to_pylist()) < 500  # what is in one pack is near in time


def test_order_of_arrival() -> None:
    """Where a stage needs it, places sort facts by input, file, block and line; elsewhere there are none."""
    rows: list[tuple[bytes, str, int, int, int]] = []
    for path, start in (("/a", 0), ("/a", 256), ("/a!", 0), ("/ab", 70_000), ("/b", 9)):
        rows += [(b"p(%d)@1" % i, f"file:{path}", start, 9, 99_999) for i in range(300)]
    places = []
    for number in (1, 2, 256):
        read = Read.of(BlocksOfTask(Input(number, "facts", "/"), job(ORDERED), None).read(blocks(*rows, size=7)))
        assert len(read.facts) == 1500
        places += read.places
    assert places == sorted(places)
    assert len(set(places)) == 4500
    unordered = Read.of(BlocksOfTask(Input(1, "facts", "/"), job(), None).read(blocks(*file("/a", b"temp(a,1)@1"))))
    assert (len(unordered.facts), unordered.places) == (1, [])


# --- rows ----------------------------------------------------------------------------------------------------------------


def table(**columns: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


TEXT, DOUBLE, LONG, FLAG = T.StringType(), T.DoubleType(), T.LongType(), T.BooleanType()
TEXTS_OF_JSON = T.ArrayType(TEXT)
STORED = {"start": TEXT, "end": TEXT, "start_open": FLAG, "end_open": FLAG}


def test_columns_of_declared_fields() -> None:
    """Declared fields stand in any order among columns that do not matter, with one time or an interval."""
    schema = job().plan.schema
    layout = layout_of_frame(table(time=T.TimestampType(), value=DOUBLE, node=LONG, sensor=TEXT), "temp", schema)
    assert layout == Layout((("sensor",), ("value",), ("time",)), ("text", "float"), ("text", "number"), ("timestamp",))
    bounds = {"from": T.DateType(), "to": TEXT}
    layout = layout_of_frame(table(**bounds, value=T.DecimalType(9, 3), sensor=TEXT), "temp", schema)
    assert (layout.names, layout.values) == (("sensor", "value", "from", "to"), ("text", "decimal"))
    assert layout.times == ("timestamp", "text")
    layout = layout_of_frame(table(**{"a`b": LONG, "time": LONG, "c": TEXT}), "other", job(LOOSE).plan.schema)
    assert layout.columns == ("a`b", "c", "time")
    years = T.YearMonthIntervalType()
    layout = layout_of_frame(table(sensor=TEXT, value=LONG, time=LONG, age=years), "temp", schema)
    assert layout.columns == ("sensor", "value", "time")


def test_columns_of_stored_facts() -> None:
    """Tables of derived facts are known by their columns; of texts in them it is declared whether they are JSON."""
    schema = job().plan.schema
    layout = layout_of_frame(table(arguments=TEXTS_OF_JSON, node=TEXT, **STORED), "temp", schema)
    assert (layout.columns, layout.values) == (("arguments", *EXACT), None)
    struct = table(value=DOUBLE, sensor=TEXT)
    layout = layout_of_frame(table(arguments=struct, **STORED), "temp", schema)
    assert layout.paths[:2] == (("arguments", "sensor"), ("arguments", "value"))
    assert (layout.columns, layout.values) == (("arguments", *EXACT), ("text", "float"))
    layout = layout_of_frame(table(arguments=struct, **STORED), "other", job(LOOSE).plan.schema)
    assert layout.values == ("float", "json")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sensor": TEXT, "value": DOUBLE}, "the table needs a column `time`, or `from` and `to`, got: sensor, value"),
        ({"sensor": TEXT, "time": LONG}, "the table lacks the field `value` of `temp`"),
        (
            {"sensor": TEXT, "value": TEXT, "time": LONG},
            "`temp` expects number for `value`, and the column is of type string",
        ),
        (
            {"sensor": LONG, "value": LONG, "time": LONG},
            "`temp` expects text for `sensor`, and the column is of type int64",
        ),
        ({"sensor": T.BinaryType(), "value": LONG, "time": LONG}, "column `sensor` is of type binary: an argument is text"),
        ({"sensor": TEXT, "value": LONG, "time": T.BooleanType()}, "column `time` is of type bool: a time is a number"),
        ({"arguments": table(sensor=TEXT), **STORED}, "the table lacks the field `value` of `temp`"),
        ({"arguments": T.ArrayType(LONG), **STORED}, "column `arguments` is of type list<element: int64"),
        (
            {"sensor": TEXT, "value": T.YearMonthIntervalType(), "time": LONG},
            "column `value` is of type interval year to month, which Arrow does not have",
        ),
    ],
)
def test_wrong_columns(columns: dict[str, T.DataType], message: str) -> None:
    """Columns that are missing, or of a type that they cannot have, are told before anything runs."""
    with pytest.raises(DataError) as raised:
        layout_of_frame(table(**columns), "temp", job().plan.schema)
    assert str(raised.value).startswith(message)


def test_a_table_of_no_input_is_refused() -> None:
    """A table of facts that the program cannot take is refused as a whole, not row by row."""
    with pytest.raises(DataError, match="`warm` is derived, and not declared as an input"):
        layout_of_frame(table(a=TEXT, time=LONG), "warm", job().plan.schema)
    with pytest.raises(DataError, match="the program has no predicate `dor`; did you mean `door`"):
        layout_of_frame(table(a=TEXT, time=LONG), "dor", job().plan.schema)


def test_dates_need_a_unit() -> None:
    """A timestamp is no time of a program that does not say what a unit of time is."""
    with pytest.raises(DataError, match=r"column `time` is of type timestamp.*, which needs a unit: declare one"):
        layout_of_frame(table(a=TEXT, time=T.TimestampType()), "p", job(ORDERED).plan.schema)


Kinds = dict[str, T.DataType]


def rows(
    predicate: str, columns: Kinds, *values: Sequence[object], program: str = LOOSE
) -> tuple[list[Any], list[Rejected]]:
    """What a worker makes of rows of a table of Spark's: without their predicate, and what is none."""
    schema = job(program).plan.schema
    layout = layout_of_frame(table(**columns), predicate, schema)
    arrays = [
        pa.array(each, arrow_type(kind)) for each, kind in zip(zip(*values, strict=True), columns.values(), strict=True)
    ]
    read = FrameReader(schema, predicate, layout).read(pa.RecordBatch.from_arrays(arrays, list(columns)), "t", None)
    assert {record[0] for record in read.records} <= {predicate}
    return [record[1:] for record in read.records], read.rejected


def test_values_of_rows() -> None:
    """Numbers are canonical and exact, booleans are constants, texts stay texts."""
    columns = {"a": TEXT, "b": T.DecimalType(9, 2), "c": DOUBLE, "d": FLAG, "time": T.DecimalType(9, 1)}
    read, rejected = rows(
        "x",
        columns,
        ("1", Decimal("1.50"), 3.0, True, Decimal(4)),
        ("1", Decimal(2), 2.5, False, Decimal("5.0")),
    )
    assert read == [(("1", 1.5, 3, "true"), 4, 4), (("1", 2, 2.5, "false"), 5, 5)]
    assert [type(value) for value in read[0][0]] == [str, float, int, str]
    assert rejected == []


def test_times_of_rows() -> None:
    """Dates and timestamps are exact in the program's unit, texts are read as in data, and intervals are closed."""
    days: Kinds = {"from": T.DateType(), "to": T.TimestampType()}
    minutes = "timeline rational, unit 60 s, resolution 1/60.\ninput p().\noutput q.\nq :- p."
    read, rejected = rows("p", days, (1, 86_461_000_000), (1, 86_400_500_000), (-1, 0), program=minutes)
    assert read == [((), 172_800, 172_922), ((), -172_800, 0)]
    assert "finer than the resolution" in rejected[0].reason
    assert rejected[0].raw == b'{"from":"1970-01-02","to":"1970-01-02T00:00:00.500000Z"}'
    texts: Kinds = {"from": TEXT, "to": DOUBLE}
    read, rejected = rows("x", texts, ("-inf", 5), ("1970-01-01", 3), ("1", float("inf")), ("2", 1))
    assert read == [((), NEG, 5), ((), 0, 3), ((), 1, POS)]
    assert [each.reason for each in rejected] == ["the interval from 2 to 1.0 is empty"]


def test_times_beyond_the_calendar() -> None:
    """A time after the year 9999 is a number as any other; one that is none is told with its number."""
    read, rejected = rows("x", {"time": T.TimestampType()}, (1_500_000,), (10**18,), (10**18 + 1,))
    assert (read, len(rejected)) == ([((), 10**12, 10**12)], 2)
    assert rejected[1].raw == b'{"time":1000000000000000001}'


def test_open_ends_of_rows() -> None:
    """The columns `from_open` and `to_open` say what they say in one process."""
    columns: Kinds = {"from": LONG, "to": LONG, "from_open": FLAG, "to_open": FLAG}
    read, _ = rows("x", columns, (1, 4, True, False), (1, 4, False, True), (None, 4, True, True))
    assert read == [((), 2, 4), ((), 1, 3), ((), NEG, 3)]


def test_stored_facts() -> None:
    """Arguments and intervals of derived facts are read back as they were told."""
    columns: Kinds = {"arguments": TEXTS_OF_JSON, **STORED}
    rational = "timeline rational, resolution 1/2.\ninput p(a, b).\noutput q.\nq(X) :- p(X, _)."
    values = [
        (['"s 1"', "21.5"], "1", "5/2", False, True),
        (['"7"', "7"], None, None, True, True),
        (["1e30", "2"], "3", "3", False, False),
    ]
    read, rejected = rows("p", columns, *values, program=rational)
    assert read == [(("s 1", 21.5), 4, 9), (("7", 7), NEG, POS), ((1e30, 2), 12, 12)]
    typed: Kinds = {"arguments": table(a=TEXT, b=TEXT), **STORED}
    read, rejected = rows(
        "p",
        typed,
        ({"a": '"1"', "b": "1"}, "1", "1", False, False),
        ({"a": "s1", "b": '"s1"'}, "1", "1", False, False),
        program=rational,
    )
    assert [row for row, *_ in read] == [("1", 1), ("s1", "s1")]
    assert rejected == []


PLAIN: Kinds = {"a": TEXT, "time": DOUBLE}
OF_JSON: Kinds = {"arguments": TEXTS_OF_JSON, **STORED}


@pytest.mark.parametrize(
    ("columns", "values", "reason"),
    [
        (PLAIN, (None, 1), "`a` is null"),
        (PLAIN, ("x", None), "`time` is null"),
        ({"a": DOUBLE, "time": LONG}, (float("nan"), 1), "`a` is nan: a number must be finite"),
        (PLAIN, ("x", float("inf")), "`time` is inf: a single time must be finite"),
        ({"a": TEXT, "time": TEXT}, ("x", "soon"), "`time`: time `soon` is neither a number"),
        (PLAIN, ("x", 1.5), "`time`: time 3/2 is not a whole number"),
        (OF_JSON, (None, "1", "2", False, False), "`arguments` is null"),
        (OF_JSON, ([None], "1", "2", False, False), "an argument is null"),
        (OF_JSON, (["s1"], "1", "2", False, False), "`s1` is no argument in JSON"),
        (OF_JSON, (["1", "2"], "1", "2", False, False), "`door` takes 1 argument, got 2"),
        (OF_JSON, (["1"], "1", "2", None, False), "`start_open` is null"),
        (OF_JSON, (["1"], "3", "2", False, False), "interval [3,2] is empty"),
    ],
)
def test_rows_that_are_no_facts(columns: Kinds, values: tuple[object, ...], reason: str) -> None:
    """A row that is no fact is a letter with its reason and its values, and costs no other row."""
    good = {"arguments": ["1"], "start": "7", "end": "7", "start_open": False, "end_open": False, "a": 1, "time": 7}
    last = [str(good[name]) if kind == TEXT else good[name] for name, kind in columns.items()]
    read, rejected = rows("door", columns, values, last)
    assert len(read) == 1
    assert rejected[0].place == "t"
    assert rejected[0].reason.startswith(reason)
    assert rejected[0].raw.startswith(b"{")


def test_rows_of_tasks_have_their_order() -> None:
    """Rows of several parts of files keep their order, and letters the file that they are from."""
    files = pa.array(["file:/a%20b"] * 3 + ["file:/c"])
    columns = [pa.array([1, 2, None, 4]), pa.array([1, 1, 1, 1]), files, pa.array([0, 0, 8, 0])]
    batch = pa.RecordBatch.from_arrays(columns, ["c0", "c1", "file_path", "file_block_start"])
    layout = Layout((("a",), ("time",)), ("integer",), ("any",), ("integer",))
    read = Read.of(RowsOfTask(Input(1, "parquet", "/", "p"), job(ORDERED), layout, in_columns=False).read(iter([batch])))
    assert [record[1] for record in read.facts] == [(1,), (2,), (4,)]
    assert read.places == sorted(set(read.places))
    assert [each.place for each in read.letters] == ["/a b"]


@pytest.mark.parametrize("in_columns", [False, True])
def test_text_that_is_not_utf8(in_columns: bool) -> None:
    """A text that is no UTF-8, which Spark lets pass, costs its row alone."""
    texts = pa.array([b"a", b"\xff", b"c", None], pa.binary()).view(pa.string())
    times = pa.array([b"1", b"2", b"\xff", b"4"], pa.binary()).view(pa.string())
    where = [pa.array(["file:/a"] * 4), pa.array([0] * 4)]
    names = ["file_path", "file_block_start"]
    batch = pa.RecordBatch.from_arrays([texts, times, *where], ["c0", "c1", *names])
    layout = Layout((("a",), ("time",)), ("text",), ("any",), ("text",))
    read = Read.of(RowsOfTask(Input(1, "parquet", "/", "door"), job(), layout, in_columns=in_columns).read(iter([batch])))
    assert read.facts == [("door", ("a",), 1, 1)]
    reasons = ["`a` is not valid UTF-8 at byte 1", "`time`: not valid UTF-8 at byte 1", "`a` is null"]
    assert [each.reason for each in read.letters] == reasons
    assert read.letters[1].raw == b'{"a":"c","time":"/w=="}'
    lists = pa.ListArray.from_arrays([0, 1, 2, 3, 4], pa.array([b'"a"', b"\xff", b"3", b"4"], pa.binary()).view(pa.string()))
    ends = [pa.array(["1"] * 4), pa.array(["2"] * 4), pa.array([False] * 4), pa.array([False] * 4)]
    batch = pa.RecordBatch.from_arrays([lists, *ends, *where], ["c0", "c1", "c2", "c3", "c4", *names])
    stored = layout_of_frame(table(**OF_JSON), "door", job().plan.schema)
    read = Read.of(RowsOfTask(Input(1, "parquet", "/", "door"), job(), stored, in_columns=in_columns).read(iter([batch])))
    assert sorted((record[1] for record in read.facts), key=repr) == [("a",), (3,), (4,)]
    assert [each.reason for each in read.letters] == ["not valid UTF-8 at byte 1"]


# --- on Spark ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEXTS)
def test_files_on_spark(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Files of a folder, compressed or not, become the facts and letters that `tidelog run` makes of each."""
    folder = tmp_path / "temp [1]%20{x}"
    folder.mkdir()
    ending = "txt" if kind == "facts" else kind
    for name in ("a", "b"):
        (folder / f"{name}.{ending}").write_bytes(TEXTS[kind])
    (folder / f"c.{ending}.gz").write_bytes(gzip.compress(TEXTS[kind]))
    (folder / "_SUCCESS").touch()
    predicate = "temp" if kind == "csv" else None
    item = parse_input(f"file:{folder}" + (f"?predicate={predicate}" if predicate else ""), 1)
    read = Read.frame(read_input(spark, item, job(), streaming=False))
    each = [
        expected(kind, f"{folder}/{name}", TEXTS[kind], predicate)
        for name in (f"a.{ending}", f"b.{ending}", f"c.{ending}.gz")
    ]
    assert read.sorted() == (
        sorted((f for facts, _ in each for f in facts), key=repr),
        sorted(x for _, xs in each for x in xs),
    )
    assert read.counts[FACTS] == len(read.facts)


@pytest.mark.slow
def test_cut_files_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A CSV file that Spark cuts into many blocks gives each row once; places sort rows as they stand in the file."""
    path = tmp_path / "p.csv"
    path.write_text("time,a\n" + "".join(f"1,x{i}\n" for i in range(2000)) + "soon,y\n", "utf-8")
    key = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(key)
    spark.conf.set(key, "1000b")
    try:
        frame = read_input(spark, parse_input(os.fspath(path), 1), job(ORDERED), streaming=False)
        read = Read.frame(frame)
        assert frame.rdd.getNumPartitions() > 10
    finally:
        spark.conf.set(key, before)
    assert read.counts == {FACTS: 2000}
    assert read.facts == [("p", (f"x{i}",), 1, 1) for i in range(2000)]
    assert read.letters[0].place.startswith(f"{path} (after byte ")


@pytest.mark.slow
def test_quoted_line_ends_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A line end in quotes is part of a value where a file is read as a whole; a file that Spark cuts is refused by name."""
    path, packed = tmp_path / "p.csv", tmp_path / "p.csv.gz"
    forged = "\n".join(f"1,forged{i}" for i in range(500))
    path.write_text(f'time,a\n1,x\n2,"{forged}"\n3,y\n', "utf-8")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    item = parse_input(f"csv+{packed}?predicate=p", 1)
    read = Read.frame(read_input(spark, item, job(ORDERED), streaming=False))
    assert sorted(read.facts, key=repr) == [("p", (forged,), 2, 2), ("p", ("x",), 1, 1), ("p", ("y",), 3, 3)]
    key = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(key)
    spark.conf.set(key, "1000b")
    try:
        frame = read_input(spark, parse_input(os.fspath(path), 1), job(ORDERED), streaming=False)
        assert frame.rdd.getNumPartitions() > 4
        with pytest.raises(PythonException, match=r"p\.csv: a quote is open at a line's end"):
            frame.collect()
    finally:
        spark.conf.set(key, before)


@pytest.mark.slow
def test_what_spark_cannot_read(spark: SparkSession, tmp_path: Path) -> None:
    """A wrong header, a glob or a table that names nothing, and a folder without Parquet are told in one line."""
    (tmp_path / "temp.csv").write_text("sensor,time\n", "utf-8")
    with pytest.raises(DataError, match=r"temp\.csv:1: the header lacks the field `value` of `temp`"):
        read_input(spark, parse_input(os.fspath(tmp_path / "temp.csv"), 1), job(), streaming=False)
    (tmp_path / "empty").mkdir()
    for spec, message in (
        (f"{tmp_path}/*.jsonl", "path does not exist"),
        ("table:nothing", "nothing"),
        (f"parquet+{tmp_path}/empty", "it holds no Parquet file that would tell its columns"),
        (f"parquet+{tmp_path}/temp.csv", "cannot read"),
        ("csv+nofs://x/y.csv", "cannot read"),
    ):
        with pytest.raises(SpecError, match=message) as raised:
            read_input(spark, parse_input(spec, 1), job(), streaming=False)
        assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_parquet_and_tables_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Parquet files, and a view as a table, become facts by their columns."""
    path = os.fspath(tmp_path / "temp.parquet")
    micros = pa.array([1_000_000, 2_000_000, None], pa.timestamp("us", "UTC"))
    values = {"value": pa.array([31, 32.5, 1]), "time": micros, "sensor": ["a", None, "c"], "other": [b"", b"", b""]}
    pq.write_table(pa.table(values), path)
    read = Read.frame(read_input(spark, parse_input(path, 1), job(), streaming=False))
    assert read.facts == [("temp", ("a", 31), 1, 1)]
    assert [(each.place, each.reason) for each in read.letters] == [(path, "`sensor` is null"), (path, "`time` is null")]
    assert read.letters[0].raw == b'{"sensor":null,"value":32.5,"time":"1970-01-01T00:00:02Z"}'
    spark.read.parquet(path).createOrReplaceTempView("readings")
    item = parse_input("table:readings?predicate=temp", 1)
    read = Read.frame(read_input(spark, item, job(), streaming=False))
    assert (read.facts, read.letters[0].place) == ([("temp", ("a", 31), 1, 1)], "readings")


@pytest.mark.slow
@pytest.mark.parametrize("fields", [{}, {"hot": parse_fields("sensor: text, value: number")}])
def test_tables_of_derived_facts(spark: SparkSession, fill: Fill, tmp_path: Path, fields: dict[str, Any]) -> None:
    """What `tidelog ingest` has made of derived facts is read back as those facts."""
    origin = fill(
        "n1", [("hot", ("a b", 1), 0, 5), ("hot", ("007", 2.5), 3, 3), ("hot", ("c", 1), NEG, 8), ("hot", ("d", 1), 2, POS)]
    )
    tables = os.fspath(tmp_path / "tables")
    with Ingestion([origin], tables, fields=fields) as ingestion:
        ingestion.run(once=True)
    program = (
        "timeline rational, unit 1 s, resolution 1.\ninput hot(sensor: text, value: number).\noutput q.\nq(S) :- hot(S, _)."
    )
    for path in (os.path.join(tables, "hot"), f"delta+{tables}/hot"):
        read = Read.frame(read_input(spark, parse_input(path, 1), job(program), streaming=False))
        assert read.letters == []
        assert sorted(read.facts, key=repr) == [
            ("hot", ("007", 2.5), 3, 3),
            ("hot", ("a b", 1), 0, 5),
            ("hot", ("c", 1), NEG, 8),
            ("hot", ("d", 1), 2, POS),
        ]


@pytest.mark.slow
def test_delta_in_a_bucket_needs_a_jar(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a table in a bucket is read without a jar; that Spark has none for its files is told, with its package."""
    with bucket(monkeypatch) as uri:
        deltalake().write_deltalake(f"{uri}/hot", pa.table({"a": [1]}), storage_options=storage_options(uri))
        with pytest.raises(SpecError, match=rf"cannot read the table `{uri}/hot`: .*`org.apache.hadoop:hadoop-aws`"):
            read_delta(spark, f"{uri}/hot")
        with pytest.raises(SpecError, match=rf"`{uri}/cold` is no table of Delta Lake: it has no log"):
            read_delta(spark, f"{uri}/cold")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_streams_of_files(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Files that appear in a folder are read once each, CSV files with a header of their own."""
    folder, places = tmp_path / "temp", [os.fspath(tmp_path / name) for name in ("out", "checkpoint")]
    folder.mkdir()

    def appear(name: str, sensor: str, *, turned: bool) -> None:
        path = folder / f"{name}.{kind}"
        if kind == "csv":
            path.write_text(
                f"time,value,sensor\n1,31,{sensor}\n" if turned else f"sensor,value,time\n{sensor},31,1\n", "utf-8"
            )
        elif kind == "jsonl":
            path.write_text(f'{{"predicate":"temp","args":["{sensor}",31],"time":1}}\n', "utf-8")
        else:
            pq.write_table(pa.table({"sensor": [sensor], "value": [31], "time": [1]}), path)

    def read() -> list[str]:
        frame = read_input(spark, parse_input(f"{kind}+{folder}", 1), job(), streaming=True)
        options = {"path": places[0], "checkpointLocation": places[1]}
        query = frame.writeStream.format("parquet").options(**options).trigger(availableNow=True).start()
        query.awaitTermination()
        return sorted(str(fact[1][0]) for fact in Read.frame(spark.read.parquet(places[0])).facts)

    appear("1", "a", turned=False)
    appear("2", "b", turned=True)
    assert read() == ["a", "b"]
    appear("3", "c", turned=True)
    assert read() == ["a", "b", "c"]

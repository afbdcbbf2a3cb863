"""Files read as columns say what they say line by line, and what is no fact is told at the same places."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.connectors.files import history_files
from tidelog.connectors.files.csv_columns import CsvColumns
from tidelog.connectors.files.history_files import open_history
from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.spec import Spec
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, SpecError
from tidelog.runtime.frames.columns import Pool
from tidelog.runtime.frames.layout import layout_of
from tidelog.runtime.frames.reading import FrameReader

LONGEST = 600
"""How long a line of a drawn file may be: longer than what is kept of one that is refused."""
PROGRAMS = [
    "timeline integer. input p(x: text, y: number). q(X) :- p(X, Y).",
    "timeline integer, unit 1 s. input p(x: any, y: integer). q(X) :- p(X, Y).",
    "timeline integer, unit 1 s, round down. input p(x: text, y: boolean). q(X) :- p(X, Y).",
    "timeline rational, unit 1 s, resolution 1 ms. q(X) :- p(X, Y).",
    "timeline rational, resolution 3. input p(x: boolean, y: any). q(X) :- p(X, Y).",
    "timeline integer. p(X, Y) :- r(X, Y). input r(x, y).",
    "timeline integer. q(X) :- r(X).",
]
SCHEMAS = [tidelog.compile(program).schema for program in PROGRAMS]


def by_lines(schema: Schema, path: str, kind: str, content: bytes, max_line: int) -> Any:
    """What the decoder says of a file: facts with their lines, and what is rejected, by line; or its error."""
    reader = LineReader(make_decoder(kind, schema, path, "p" if kind == "csv" else None), max_line)
    try:
        batches = [reader.feed(content), reader.finish()] if content else [reader.finish()]
    except DataError as error:
        return str(error)
    facts = [(batch.place(i), record) for batch in batches for i, record in enumerate(batch.records)]
    rejected = [item for batch in batches for item in batch.rejected]
    return facts, sorted(rejected, key=lambda item: int(item.place.rpartition(":")[2]))


def by_columns(schema: Schema, spec: Spec, rows: int, max_line: int) -> Any:
    """The same of the columns of the file."""
    pool = Pool()
    facts, rejected = [], []
    try:
        for batch in open_history(spec, schema, pool, rows=rows, max_line=max_line):
            found = batch.rows.facts(pool)
            facts += [(batch.place(i), (batch.predicate, *fact)) for i, fact in enumerate(found)]
            rejected += batch.rejected
    except DataError as error:
        return str(error)
    return facts, rejected


def assert_alike(schema: Schema, content: bytes, *, kind: str = "csv", rows: int = 3, piece: int = 1) -> None:
    """A file says the same read as columns, where each piece is so many bytes at least, and by lines."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(history_files, "READ_SIZE", piece):
        path = f"{folder}/p.{kind}"
        Path(path).write_bytes(content)
        expected = by_lines(schema, path, kind, content, LONGEST)
        found = by_columns(schema, Spec("file", kind, path), rows, LONGEST)
        if not isinstance(expected, str) and not isinstance(found, str) and kind != "csv":
            expected[0].sort(key=repr)
            found[0].sort(key=repr)
        assert found == expected
        assert repr(found) == repr(expected)


NUMBERS = ["1", "2.5", "-3", "0", "-0", "-0.0", "+4", "007", "1e3", "1E-2", "5.", ".5", "-.5", "1_0", "0x1F", "1e400", "nan"]
NUMBERS += ["inf", "9007199254740991", "9007199254740992", "9007199254740993", "1e17", "-9223372036854775808", "1" * 41]
NUMBERS += ["0" * 41 + "1", "1." + "0" * 45, "1/2", "٣", "9" * 19, "1e", "--1", "1 2", "\u00a05", "\x0b5", "", "5\x00"]
WORDS = ["a", "b", "true", "True", "1", "FALSE", "0.0", "", "ü", "a b", "\ufeffx", "\x00", "it's", "12-3", "a.b", "\x0c"]
TIMES = [
    "1",
    "2",
    "3",
    "17",
    "-5",
    "1.5",
    "0.001",
    "1/3",
    "2024-07-01T12:00:00Z",
    "2024-07-01",
    "5 min",
    "soon",
    "inf",
    "-inf",
]
TIMES += [
    str(1 << 60),
    str((1 << 60) + 1),
    str(1 << 62),
    "1" * 18,
    "1" * 19,
    "+7",
    "007",
    "1e2",
    "",
    "3.",
    "9-1",
    "0x1F",
    "[1,2]",
]
RAW = [
    b"\xff",
    b'"',
    b'""',
    b'"x',
    b"\r",
    b"\n",
    b"\r\n",
    b",",
    b" ",
    b"\t",
    b"\xef\xbb\xbf",
    b"\0",
    b'a"b',
    b'"a,b"',
    b'"a\nb"',
]
FORMS = ["{}", "{}", "{}", "{}", " {}", "{}\t", '"{}"', '"{}"', '" {}"', ' "{}"', '"{}" ', '"{}""', '"{},"']


MOMENTS = [
    ["2024-07-01T12:00:00Z", "2024-07-01T12:00:01.25Z", "2023-02-28 23:59:59.001Z"],
    ["2024-07-01T12:00:00", "2024-07-01 12:00", "2024-02-29T00:00:00.000001"],
    ["2024-07-01", "1970-01-01", "2024-12-31"],
    ["2024-07-01T12:00:00Z", "1969-12-31T23:59:59Z", "2024-07-01T12:00:00+02:00", "2024-07-01T12", "2024-07-01T12+02:00"],
    ["2024-07-01T12:00", "2024-07-01", "0001-01-01T00:00", "2023-02-29T00:00", "2024-07-01T24:00", "2024-07-01T12:60"],
    ["1.5", "2.25", "3", "0.125", "1e1"],
    ["1.5", "0.0005", "1.4999999999999999999", "12345678901234.5", "123456789012.3456", "-1.5", "+2.5"],
]
PLAIN_CELLS = {
    "x": ["a", "b", "true", "s 1"],
    "y": ["1", "0", "1", "0", "-3"],
    "time": ["1", "2", "30", "45"],
    "from": ["1", "2", "30"],
    "to": ["30", "31", "45"],
}
ODD_CELLS = {"x": WORDS + NUMBERS, "y": NUMBERS + WORDS, "time": TIMES, "from": TIMES, "to": TIMES}


def cells(name: str, odd: int, also: str = "1") -> st.SearchStrategy[str]:
    """Cells of a column, `odd` in ten of which may be anything; in `y`, one may be `also`."""
    plain = st.sampled_from([*PLAIN_CELLS[name], also] if name == "y" else PLAIN_CELLS[name])
    return st.one_of(*[plain] * (10 - odd), *[st.sampled_from(ODD_CELLS[name])] * odd)


HEADERS = [
    ["time", "x", "y"],
    ["x", "y", "time"],
    ["y", "from", "x", "to"],
    ["from", "to", "x", "y"],
    ["time", "x"],
    ["time"],
]


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A file of CSV: mostly plain, with something odd here and there."""
    header = draw(st.sampled_from(HEADERS))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    forms = st.sampled_from(draw(st.sampled_from([["{}"], ["{}", '"{}"'], ['"{}"'], FORMS])))
    moments = draw(st.sampled_from([[], [], *MOMENTS]))
    odd, also = draw(st.sampled_from([0, 0, 1, 5])), draw(st.sampled_from(["1", "2.5", "20.25", "true", "b"]))
    lines = [",".join(header)]
    for _ in range(draw(st.integers(0, 8))):
        row = [draw(forms).format(draw(cells(name, odd, also))) for name in header]
        if moments:
            row = [
                draw(st.sampled_from(moments)) if name in ("time", "from", "to") else cell
                for name, cell in zip(header, row, strict=True)
            ]
        if odd and draw(st.integers(0, 19)) == 0:
            row = draw(st.sampled_from([row[:-1], [*row, "1"], [""], [" "]]))
        lines.append(",".join(row))
    text = end.join(lines).encode() + draw(st.sampled_from([b"", end.encode(), b"\n", b"\n\n", b"\r", b"   "]))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(RAW)) + text[at:]
    return draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\n"])) + text


@drawn(600)
@given(st.sampled_from(SCHEMAS), tables(), st.integers(1, 6), st.sampled_from([1, 20, 50, 1 << 16]))
@example(SCHEMAS[0], b'time,x,y\n1,"a",2\n', 3, 1)
@example(SCHEMAS[0], b"time,x,y\n1,a,2\n2," + b"a" * 700 + b",2\n3,b,2\n", 3, 1)
@example(SCHEMAS[3], b'time,x,y\n1,a,b\n2,"a\nb",2\n3,b,2\n', 3, 1)
@example(SCHEMAS[3], b'time,x,y\n1,a,b\n2,"' + b"\n" * 700 + b'",2\n3,b,2\n', 3, 1)
def test_csv_says_what_its_lines_say(schema: Schema, content: bytes, rows: int, piece: int) -> None:
    """The same facts of the same lines, the same refusals, the same error."""
    assert_alike(schema, content, rows=rows, piece=piece)


@drawn(100)
@given(st.sampled_from(SCHEMAS), st.binary(max_size=40), st.integers(1, 30))
def test_any_bytes(schema: Schema, content: bytes, piece: int) -> None:
    """Whatever stands behind a header."""
    assert_alike(schema, b"time,x,y\n" + content, piece=piece)


FACT = st.tuples(
    st.sampled_from(["p", "p", "r", "z"]), cells("x", 3), cells("y", 3), st.sampled_from(["1", "2", "[3,4]", "1.5", "no"])
)


@drawn(80)
@given(st.sampled_from(SCHEMAS), st.lists(FACT, max_size=8), st.sampled_from(["jsonl", "facts"]), st.integers(1, 200))
def test_other_lines(schema: Schema, facts: list[Any], kind: str, piece: int) -> None:
    """JSON lines and text facts of several predicates, one of which is not the program's."""
    if kind == "jsonl":
        lines = [json.dumps({"predicate": name, "args": args, "time": time}) for name, *args, time in facts]
    else:
        lines = [f"{name}({','.join(args)})@{time}" for name, *args, time in facts]
    schema = Schema(schema.timeline, schema.predicates) if piece % 2 else schema
    assert_alike(schema, "\n".join(lines).encode(), kind=kind, piece=piece)


PLAIN = [
    (0, b"1,a,2.5\n2,b,3\n"),
    (0, b'1,"a",2.5\n2,"b","3"\n'),
    (0, b"1,a,2.5\r\n2,b,3\r\n"),
    (0, b"1, s 1,\t2.5\n-2 ,b,3\n"),
    (0, b"1,,2.5\n"),
    (1, b"2024-07-01T12:00:00Z,7,2\n0.5e1,b,-3.0\n"),
    (1, b"2024-07-01T12:00:00Z,7,2\n2024-07-01 12:00:01Z,7,2\n"),
    (1, b"2024-07-01T12:00:00+02:00,7,2\n1969-12-31,7,2\n"),
    (2, b"1.5,a,True\n2,b,0\n"),
    (3, b"1.5,a,b\n2,1,oops\n"),
    (6, b"1,1,9007199254740993\n"),
]


NOT_PLAIN = [
    (0, b"1,a,.5\n"),
    (0, b"1,a,5.\n2,a,3\n"),
    (0, b"1,a,-.5\n"),
    (0, b"1,a,5.e3\n"),
    (0, b"1,a,nan\n"),
    (0, b"1,a,1e400\n"),
    (0, b"1,a,\n"),
    (0, b"1,a,9007199254740992\n"),
    (0, b"1,a," + b"0" * 40 + b"1\n"),
    (0, b"0" * 40 + b"1,a,1\n"),
    (0, b"0x1F,a,1\n"),
    (0, b"1e400,a,1\n"),
    (0, b"2024-07-01T12:00:00Z,a,1\n"),
    (0, b"1.5,a,1\n"),
    (0, b"1152921504606846977,a,1\n"),
    (0, b"1,a\n"),
    (0, b"1,a,1\n\n"),
    (0, b"1,a\r,1\n"),
    (0, b"1,\xff,1\n"),
    (0, b"\xef\xbb\xbf1,a,1\n"),
    (0, b"1," + b"a" * 700 + b",1\n"),
    (0, b'1,"a,1\n'),
    (0, b'1,a"b",1\n'),
    (0, b'1, "a",1\n'),
    (0, b'1,"a"b,1\n'),
    (0, b'1,"a,b",1\n'),
    (0, b'1,"a""b",1\n'),
    (0, b'1," a",1\n'),
    (0, b'1,"a\t",1\n'),
    (0, b'1,"",1\n'),
    (0, b'1,"a\nb",1\n'),
    (0, b'1,"a\x00",1\n'),
    (1, b"2024-07-01T12,a,1\n"),
    (1, b"2024-07-01T12+02:00,a,1.5\n"),
    (1, b"1,a,1.5\n"),
    (1, b"2023-02-29,a,1\n"),
    (2, b"1,a,2\n"),
    (3, b"1.00000000000000000001,a,b\n"),
    (5, b"1,a,1\n"),
]


@pytest.mark.parametrize(("number", "rows"), NOT_PLAIN)
def test_what_is_not_plain(number: int, rows: bytes) -> None:
    """These lines are left to the decoder."""
    decoder = CsvDecoder(SCHEMAS[number], "p.csv")
    decoder.decode([b"time,x,y"], 1)
    assert CsvColumns(decoder, SCHEMAS[number], Pool(), LONGEST).read(rows) is None
    assert_alike(SCHEMAS[number], b"time,x,y\n" + rows)


@pytest.mark.parametrize(("number", "rows"), PLAIN)
def test_what_is_plain(number: int, rows: bytes) -> None:
    """These lines are read as columns, and say what they say by lines."""
    decoder = CsvDecoder(SCHEMAS[number], "p.csv")
    decoder.decode([b"time,x,y"], 1)
    assert CsvColumns(decoder, SCHEMAS[number], Pool(), LONGEST).read(rows) is not None
    assert_alike(SCHEMAS[number], b"time,x,y\n" + rows)


def test_blocks_have_about_as_many_rows_as_told(tmp_path: Path) -> None:
    """Blocks of a large file, one bad line of which costs no other."""
    path = tmp_path / "p.csv"
    lines = [f"{time},s{time % 7},{time / 4}" for time in range(50_000)]
    lines[40_000] = "40000,s1,oops"
    path.write_text("\n".join(["time,x,y", *lines]))
    pool = Pool()
    blocks = list(open_history(Spec("file", "csv", str(path)), SCHEMAS[0], pool, rows=10_000))
    assert {8_000 < len(block) < 12_000 for block in blocks[:-1]} == {True}
    assert len(blocks[-1]) < 12_000
    assert [(item.place, item.reason) for block in blocks for item in block.rejected] == [
        (f"{path}:40002", "`p` expects number for `y`, got oops")
    ]
    facts = [fact for block in blocks for fact in block.rows.facts(pool)]
    assert facts == [((f"s{time % 7}", time / 4), time, time) for time in range(50_000) if time != 40_000]
    assert blocks[-1].place(len(blocks[-1]) - 1) == f"{path}:50001"


@drawn(20)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from([1.0, 2.5, None]), st.integers(0, 5)), max_size=9
    )
)
def test_parquet_says_what_its_rows_say(rows: list[Any]) -> None:
    """A file of several groups of rows, with nulls."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/p.parquet"
        x, y, time = zip(*rows, strict=True) if rows else ((), (), ())
        kinds = pa.schema([("x", pa.string()), ("y", pa.float64()), ("time", pa.int64())])
        table = pa.table({"x": x, "y": y, "time": time}, kinds)
        pq.write_table(table, path, row_group_size=2)
        reader = FrameReader(SCHEMAS[0], "p", layout_of(kinds, "p", SCHEMAS[0]))
        expected = reader.read(table, path, range(len(rows)))
        found = by_columns(SCHEMAS[0], Spec("file", "parquet", path), 3, LONGEST)
    assert found == (list(zip(expected.places or (), expected.records, strict=True)), expected.rejected)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, and one that is no Parquet, are errors as elsewhere."""
    with pytest.raises(SpecError, match=r"cannot read `nowhere\.csv`: No such file"):
        list(open_history(Spec("file", "csv", "nowhere.csv"), SCHEMAS[0], Pool()))
    (tmp_path / "p.parquet").write_bytes(b"PAR")
    with pytest.raises(ConnectorError, match="cannot read"):
        list(open_history(Spec("file", "parquet", str(tmp_path / "p.parquet")), SCHEMAS[0], Pool()))

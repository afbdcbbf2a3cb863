"""CSV records: those of the standard library's reader, wherever chunks are cut, and no fact out of a quoted field."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors import BatchLoader, CsvDecoder, FileSource, load_facts
from tidelog.connectors.formats.csv.decoder import split_row
from tidelog.connectors.formats.csv.framer import CsvFramer
from tidelog.connectors.formats.framing import LineReader
from tidelog.plans.data.facts import PredicateSchema, Record, Schema
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import DataError, SnapshotError
from tidelog.runtime.ports.interfaces import Rejected

SCHEMA = Schema(Timeline("integer"), {"log": PredicateSchema("log", 2, ("text", "value"), ("text", "number"))})
HEADER = b"text,value,time\n"
PIECES = st.lists(
    st.sampled_from(['"', '""', ",", "\n", "\r\n", " ", "a", "b,c", '"x', 'y"', "\ufeff", '"a\nb"']), max_size=24
)
TEXTS = st.text(st.sampled_from('ab",\n\r é'), max_size=12)


def cut(data: st.DataObject, whole: bytes) -> list[bytes]:
    """The bytes in chunks, cut anywhere."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[i:j] for i, j in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def frame(chunks: list[bytes], max_line: int = 1000) -> tuple[list[tuple[int, bytes]], list[Rejected]]:
    """The records that are not empty, each with the number of its first line, and what was refused.

    Between two chunks, the framer's state goes into a new framer.
    """
    framer = CsvFramer("data", max_line)
    numbered: list[tuple[int, bytes]] = []
    rejected: list[Rejected] = []
    for i in range(len(chunks) + 1):
        twin = CsvFramer("data", max_line)
        twin.restore(framer.snapshot())
        framer = twin
        framed = framer.push(chunks[i]) if i < len(chunks) else framer.finish()
        numbered += [(framed.first + index, line) for index, line in enumerate(framed.lines) if line]
        rejected += framed.rejected
    return numbered, rejected


def read(whole: bytes, max_line: int = 1000, size: int = 7) -> tuple[list[Record], list[tuple[str, str]]]:
    """The facts of a file, and the places and reasons of what is none."""
    reader = LineReader(CsvDecoder(SCHEMA, "log.csv"), max_line)
    batches = [reader.feed(whole[i : i + size]) for i in range(0, len(whole), size)] + [reader.finish()]
    rejected = [(item.place, item.reason) for batch in batches for item in batch.rejected]
    return [record for batch in batches for record in batch.records], rejected


def lines_of(text: str) -> list[str]:
    """Lines with their ends, cut at LF alone."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]] * (not text.endswith("\n"))


@given(PIECES, st.data())
def test_records_are_those_of_the_standard_reader(pieces: list[str], data: st.DataObject) -> None:
    """Records begin and end where the csv module finds them, and strict ones have its cells."""
    text = "".join(pieces)
    numbered, rejected = frame(cut(data, text.encode()))
    reader = csv.reader(lines_of(text.removeprefix("\ufeff")), skipinitialspace=True)
    begins, before = [], 0
    for _ in reader:
        begins.append(before + 1)
        before = reader.line_num
    blank = {i for i, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1) if line in ("", "\r")}
    assert [number for number, _ in numbered] == [number for number in begins if number not in blank]
    assert rejected == []
    for _, record in numbered:
        try:
            expected = next(csv.reader((record.decode(),), strict=True, skipinitialspace=True))
        except csv.Error:
            with pytest.raises(DataError, match="not valid CSV"):
                split_row(record)
        else:
            assert [cell.strip(" \t") for cell in split_row(record)] == [cell.strip(" \t") for cell in expected]


def test_blanks_count_within_quotes_alone() -> None:
    """Otherwise two texts that differ would become one."""
    assert split_row(b' 1 , "b, c",x ') == ["1", "b, c", "x"]
    assert split_row(b'" a","a ", a\t,"x""y ",\t,""') == [" a", "a ", "a", 'x"y ', "", ""]


@given(st.lists(st.tuples(TEXTS, st.integers(0, 9)), max_size=6), st.sampled_from(["\n", "\r\n"]), st.data())
def test_what_a_writer_writes_is_read(rows: list[tuple[str, int]], end: str, data: st.DataObject) -> None:
    """Any texts, written by the csv module, are read as they are, each with its row's first line as its place."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["text", "value", "time"])
    numbers = []
    for text, time in rows:
        numbers.append(1 + file.getvalue().count("\n"))
        writer.writerow([text, 1, time])
    reader = LineReader(CsvDecoder(SCHEMA, "log.csv"))
    batches = [*map(reader.feed, cut(data, file.getvalue().encode())), reader.finish()]
    assert [item for batch in batches for item in batch.rejected] == []
    assert [record for batch in batches for record in batch.records] == [
        ("log", (text, 1), time, time) for text, time in rows
    ]
    places = [place for batch in batches for place in batch.places or ()]
    assert places == [f"log.csv:{number}" for number in numbers]


@given(st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "aaa", "forged,1,2\n", " "]), max_size=40), st.data())
def test_refusals_do_not_depend_on_chunks(pieces: list[str], data: st.DataObject) -> None:
    """With records that are too long, too, any cutting gives the same records and refuses the same ones."""
    whole = "".join(pieces).encode()
    numbered, rejected = frame(cut(data, whole), 12)
    one_numbered, one_rejected = frame([whole], 12)
    assert numbered == one_numbered
    assert [(item.place, item.reason) for item in rejected] == [(item.place, item.reason) for item in one_rejected]


@given(TEXTS, st.integers(1, 40), st.integers(1, 9))
def test_no_field_forges_a_fact(text: str, most: int, size: int) -> None:
    """However long a quoted field, and however short a record may be, nothing within the field becomes a fact."""
    field = text.replace('"', '""') + "\nforged,1,2\n" + text.replace('"', '""')
    whole = HEADER + f'"{field}",1,1\nhonest,1,3\n'.encode()
    records, rejected = read(whole, max(most, len(HEADER)), size)
    assert [record for record in records if "forged" in str(record[1][0]) and record[2] != 1] == []
    assert records[-1:] == [("log", ("honest", 1), 3, 3)]
    assert len(records) + len(rejected) == 2


def test_quoted_line_end_is_part_of_the_value() -> None:
    """A line end in quotes cuts no row; the next row's place is that of its own line."""
    records, rejected = read(HEADER + b'"a\nb ""c""\r\n",99,1\n"\nx,1,2\n",2,2\nsoon,x,3\n"d"e,1,4\nf,1,5\n')
    assert records == [
        ("log", ('a\nb "c"\r\n', 99), 1, 1),
        ("log", ("\nx,1,2\n", 2), 2, 2),
        ("log", ("f", 1), 5, 5),
    ]
    assert rejected == [
        ("log.csv:8", "`log` expects number for `value`, got x"),
        ("log.csv:9", "not valid CSV: ',' expected after '\"'"),
    ]


def test_overlong_record_is_passed_over_to_its_end() -> None:
    """A record beyond the bound is one dead letter; what stands in its quotes stays there, and the next row counts."""
    long = b'"' + b"x" * 60 + b'\nforged,1,1\n""\nforged,1,2\n' + b"y" * 60 + b'",1,3\n'
    records, rejected = read(HEADER + long + b"honest,1,4\n" + b"z" * 70 + b',"\nforged,1,5\n",1,1\nhonest,1,6\n', 50)
    assert records == [("log", ("honest", 1), 4, 4), ("log", ("honest", 1), 6, 6)]
    assert rejected == [(f"log.csv:{line}", "record is longer than 50 bytes") for line in (2, 8)]


def test_quote_without_end_is_told_at_both_its_ends() -> None:
    """An open quote keeps no memory beyond the bound, gives no fact, and is told again where the stream ends."""
    framer = CsvFramer("log.csv", 100)
    rejected = framer.push(b'a,1,1\n"b,1,2\n').rejected
    for _ in range(1000):
        framed = framer.push(b"forged,1,3\n" * 5)
        rejected += framed.rejected
        assert framed.lines == []
        assert len(framer.tail) <= 100
    rejected += [*framer.push(b"forged,1,4").rejected, *framer.finish().rejected]
    reason = "a quoted field has no end: all that follows, as far as line 5003, was passed over"
    assert [(item.place, item.reason) for item in rejected] == [
        ("log.csv:2", "record is longer than 100 bytes"),
        ("log.csv:2", reason),
    ]
    assert read(HEADER + b'"b,1,2\nforged,1,3\n') == ([], [("log.csv:2", "not valid CSV: unexpected end of data")])


def test_header_may_span_lines() -> None:
    """A quoted field name may hold a line end; the first row's place is its own."""
    schema = Schema(Timeline("integer"), {})
    reader = LineReader(CsvDecoder(schema, "p.csv"))
    batch = reader.feed(b'\xef\xbb\xbf"a\nb",time\nx,1\ny,soon\n')
    assert batch.records == [("p", ("x",), 1, 1)]
    assert [item.place for item in batch.rejected] == ["p.csv:4"]


def test_damaged_framer_state_is_refused() -> None:
    """A stored state of another shape, or out of range, is a SnapshotError."""
    whole = CsvFramer("data").snapshot()
    for damaged in (
        {},
        whole | {"more": 1},
        whole | {"quotes": whole["quotes"] | {"state": 5}},
        whole | {"quotes": whole["quotes"] | {"scanned": 1}},
        whole | {"lines": whole["lines"] | {"next": -1}},
    ):
        with pytest.raises(SnapshotError):
            CsvFramer("data").restore(damaged)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_file_goes_on_within_a_quoted_field(tmp_path: Path) -> None:
    """A file whose reading ended in the middle of a quoted field goes on there in a later run."""
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER + b"a,1,1\n" + b'"' + b"forged,1,2\n" * 10_000 + b'",1,3\nb,1,4\n')

    async def take(position: dict[str, object] | None, most: int) -> tuple[list[Record], dict[str, object] | None]:
        source = FileSource(str(path), CsvDecoder(SCHEMA, str(path)))
        if position is not None:
            source.resume(position)
        records: list[Record] = []
        async with source:
            while most and (batch := await source.receive()) is not None:
                records += batch.records
                assert batch.rejected == []
                position, most = batch.position, most - 1
        return records, position

    first, position = await take(None, 1)
    rest, _ = await take(position, 100)
    assert first == [("log", ("a", 1), 1, 1)]
    assert rest == [("log", ("forged,1,2\n" * 10_000, 1), 3, 3), ("log", ("b", 1), 4, 4)]


def test_batch_and_background_files_take_quoted_line_ends(tmp_path: Path) -> None:
    """Facts of batch commands and of `background` are read by the same records."""
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER + b'"a\nforged,1,2\n",1,1/2\nb,1,3\n')
    loader = BatchLoader(Schema(Timeline(), SCHEMA.predicates))
    loader.load(str(path))
    assert sorted(record[1] for record in loader.drain()) == [("a\nforged,1,2\n", 1), ("b", 1)]
    path.write_bytes(b'text,value\n"a\nforged,1\n",1\nb,1\n')
    assert load_facts(str(path), SCHEMA, "log") == [
        ("log", ("a\nforged,1\n", 1), NEG, POS),
        ("log", ("b", 1), NEG, POS),
    ]
    path.write_bytes(HEADER + b'"a\nb",1,1\nc,soon,2\n')
    with pytest.raises(DataError, match=r"log\.csv:4: "):
        BatchLoader(SCHEMA).load(str(path))

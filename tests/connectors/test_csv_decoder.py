"""CSV: headers, values, times, and why what is not read is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors import CsvDecoder
from tidelog.connectors.formats.decoding import FEW
from tidelog.connectors.formats.values import read_argument
from tidelog.plans.data.facts import PredicateSchema, Record, Schema
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import DataError


def read(schema: Schema, name: str, *lines: str) -> list[Record]:
    """The records of these lines, none of which may be refused."""
    batch = CsvDecoder(schema, name).decode([line.encode() for line in lines], 1)
    assert batch.rejected == []
    return batch.records


def test_declared_fields_stand_in_any_order(integer: Schema) -> None:
    """The header says which column is which field of the input that the file is named after."""
    records = read(integer, "data/temp.csv", "value, time, sensor", "21.5,17,s1", "", "3.0, 18, 007")
    assert records == [("temp", ("s1", 21.5), 17, 17), ("temp", ("007", 3), 18, 18)]


def test_columns_of_undeclared_predicates_stand_in_order(integer: Schema) -> None:
    """Without declared fields, the columns beside the time are the arguments as they stand; numbers are numbers."""
    records = read(integer, "q.csv", "time,a,b", '1,"x, ""y""",2', "2,-1.5,z")
    assert records == [("q", ('x, "y"', 2), 1, 1), ("q", (-1.5, "z"), 2, 2)]


def test_from_and_to_are_a_closed_interval(halves: Schema) -> None:
    """`from` and `to` bound a closed interval, which may be unbounded."""
    records = read(halves, "p.csv", "from,to,x", "1,3/2,a", "-inf,2,b", "2,inf,c")
    assert [record[2:] for record in records] == [(4, 6), (NEG, 8), (8, POS)]


def test_header_lasts_over_batches_and_is_asked_anew_for_each_stream(integer: Schema) -> None:
    """A decoder remembers its header from batch to batch; the one for another stream reads its own."""
    decoder = CsvDecoder(integer, "temp.csv")
    assert decoder.decode([b"time,sensor,value"], 1).records == []
    assert decoder.decode([b"1,s1,2"], 2).records == [("temp", ("s1", 2), 1, 1)]
    other = decoder.for_stream("peer:1")
    assert other.decode([b"sensor,value,time", b"s1,2,3"], 1).records == [("temp", ("s1", 2), 3, 3)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,s1", "expected 3 columns, got 2"),
        ("1,s1,2,3", "expected 3 columns, got 4"),
        ("x,s1,2", "time `x` is neither a number, a fraction nor ISO-8601"),
        (",s1,2", "a time is missing"),
        ("1.5,s1,2", "time 3/2 is not a whole number, as `timeline integer` needs"),
        ("1,s1,high", "`temp` expects number for `value`, got high"),
        ("1,s1,", '`temp` expects number for `value`, got ""'),
        ('1,"s1,2', "not valid CSV: unexpected end of data"),
        ('1,"s"1,2', "not valid CSV: ',' expected after '\"'"),
        (b"1,\xff,2", "not valid UTF-8 at byte 3"),
    ],
)
def test_malformed_rows_are_rejected_with_reason(integer: Schema, row: str | bytes, reason: str) -> None:
    """A damaged row is told with its place and its reason, and costs no other row."""
    raw = row if isinstance(row, bytes) else row.encode()
    batch = CsvDecoder(integer, "temp.csv").decode([b"time,sensor,value", b"1,s1,2", raw, b"2,s1,2"], 1)
    assert [(item.place, item.reason, item.raw) for item in batch.rejected] == [("temp.csv:3", reason, raw)]
    assert [record[2] for record in batch.records] == [1, 2]
    assert batch.places is not None and list(batch.places) == ["temp.csv:2", "temp.csv:4"]


def test_empty_interval_is_rejected(integer: Schema) -> None:
    """`from` after `to` is refused."""
    batch = CsvDecoder(integer, "p.csv").decode([b"from,to,x", b"3,2,a"], 1)
    assert [item.reason for item in batch.rejected] == ["interval [3,2] is empty"]


NEEDED = "the header needs a column `time`, or `from` and `to`, "


@pytest.mark.parametrize(
    ("name", "header", "reason"),
    [
        ("temp.csv", "sensor,value", NEEDED + "got: sensor, value"),
        ("temp.csv", "sensor,value,tiem", NEEDED + "got: sensor, value, tiem; did you mean `time`?"),
        ("temp.csv", "sensor,value,form,to", NEEDED + "got: sensor, value, form, to; did you mean `from`?"),
        ("temp.csv", "time,sensor", "the header lacks the field `value` of `temp`"),
        ("temp.csv", "time,sensor,vlaue", "`temp` has no field `vlaue`; did you mean `value`?"),
        ("temp.csv", "time,sensor,value,value", "column `value` stands twice in the header"),
        ("temp.csv", "time,from,to,sensor,value", "the header has `time`, and `from` and `to`: one of them is enough"),
        ("q.csv", "time,a", "`q` has 2 columns beside the time, got 1: a"),
    ],
)
def test_wrong_header_ends_the_source(integer: Schema, name: str, header: str, reason: str) -> None:
    """Behind a wrong header nothing can be understood: one clear error with its place."""
    with pytest.raises(DataError) as caught:
        CsvDecoder(integer, name).decode([header.encode(), b"1,2,3"], 1)
    assert (caught.value.reason, caught.value.place) == (reason, f"{name}:1")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("true", "true"),
        ("True", "true"),
        ("TRUE", "true"),
        ("1", "true"),
        ("false", "false"),
        ("False", "false"),
        ("0", "false"),
    ],
)
def test_booleans_as_others_write_them(cell: str, value: str) -> None:
    """In a column of type boolean pandas' `True`, Excel's `TRUE` and `1` are read; elsewhere they are what they were."""
    kinds = PredicateSchema("on", 3, ("device", "is_on", "note"), ("text", "boolean", "any"))
    schema = Schema(Timeline("integer"), {"on": kinds})
    ((_, row, _, _),) = read(schema, "on.csv", "note,is_on,device,time", f"{cell},{cell},{cell},3")
    assert row == (cell, value, {"1": 1, "0": 0}.get(cell, cell))


def test_what_is_no_boolean_is_refused() -> None:
    """A word, or another number, is none, and the reason says what was expected."""
    schema = Schema(Timeline("integer"), {"on": PredicateSchema("on", 1, ("is_on",), ("boolean",))})
    batch = CsvDecoder(schema, "on.csv").decode([b"is_on,time", b"yes,1", b"2,1"], 1)
    assert [item.reason for item in batch.rejected] == [
        "`on` expects boolean for `is_on`, got yes", "`on` expects boolean for `is_on`, got 2"
    ]  # fmt: skip


PLAIN_CELLS = (
    st.integers(-5, 1 << 65).map(str) | st.floats(0, 1e18).map(str) | st.sampled_from(["s1", "true", "0", "1", "7.0"])
)
ODD_CELLS = st.sampled_from(
    ["", " ", "TRUE", "1.0", "+1", "007", "-0", "-0.0", "1e3", "9007199254740993.0", "inf", "a b", " x\t", "é"]
)
BREAKING_CELLS = st.sampled_from(['"x,y"', '"x', "x,y", "[1", "null", "\r", "1" * 90])
TIME_CELLS = st.integers(0, 99).map(str) | st.sampled_from(
    ["1.5", "1970-01-01 00:00:07Z", "1970-01-01", "7/2", " 3", "-3", "03"]
)
ENDS = TIME_CELLS | st.sampled_from(["inf", "-inf", "x"])
MOMENTS = Timeline("rational", Fraction(1, 2), Fraction(1))
TYPES = {"any": "any", "text": "text", "number": "number", "integer": "integer", "flag": "boolean"}


def read_cell(cell: str, kind: str) -> object:
    """What a cell without quotes and spaces says in a column of this type."""
    number = None if kind == "text" else read_argument(cell)
    value = cell if number is None else number
    if kind == "boolean":
        return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(str(value).lower(), value)
    return value


@given(
    st.sampled_from(["time", "from,to"]),
    st.lists(st.sampled_from(list(TYPES)), unique=True, max_size=3),
    st.sampled_from([PLAIN_CELLS, PLAIN_CELLS | ODD_CELLS, PLAIN_CELLS | ODD_CELLS | BREAKING_CELLS]),
    st.sampled_from([TIME_CELLS, ENDS, st.integers(0, 99).map(str)]),
    st.booleans(),
    st.data(),
)
def test_a_batch_says_what_its_rows_say(
    times: str,
    fields: list[str],
    cells: st.SearchStrategy[str],
    ends: st.SearchStrategy[str],
    known: bool,
    data: st.DataObject,
) -> None:
    """Rows that are read at once say what each says by itself, with the same places and reasons; so do their cells."""
    predicate = PredicateSchema("p", len(fields), tuple(fields), tuple(TYPES[field] for field in fields))
    schema = Schema(MOMENTS, {"p": predicate} if known else {})
    row = st.tuples(*[ends for _ in times.split(",")], *[cells for _ in fields]).map(",".join)
    rows = data.draw(
        st.lists(row | st.sampled_from(["", " "]) if data.draw(st.booleans()) else row, min_size=FEW, max_size=FEW + 8)
    )
    lines = [line.encode() for line in [",".join([times, *fields]), *rows]]
    whole, single = CsvDecoder(schema, "p.csv"), CsvDecoder(schema, "p.csv")
    batch = whole.decode(lines, 1)
    each = [single.decode([line], number) for number, line in enumerate(lines, 1)]
    assert repr(batch.records) == repr([record for part in each for record in part.records])
    assert repr(batch.rejected) == repr([rejected for part in each for rejected in part.rejected])
    assert [batch.place(i) for i in range(len(batch.records))] == [part.place(0) for part in each if part.records]
    if known and not any(character in "".join(rows) for character in '"\r') and cells is PLAIN_CELLS:
        for i, record in enumerate(batch.records):
            given_cells = rows[int(batch.place(i).rpartition(":")[2]) - 2].split(",")[len(times.split(",")) :]
            assert repr(record[1]) == repr(tuple(map(read_cell, given_cells, map(TYPES.__getitem__, fields))))

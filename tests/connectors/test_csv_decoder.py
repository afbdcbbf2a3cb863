"""CSV: headers, values, times, and why what is not read is refused."""

from __future__ import annotations

import pytest

from tidelog.connectors import CsvDecoder
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

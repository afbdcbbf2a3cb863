"""Answers as CSV: a header with the names of an output, and rows that are read again as the same facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from children import tidelog as run
from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.connectors.formats.csv.encoder import CsvEncoder
from tidelog.plans.data.facts import PredicateSchema, Record
from tidelog.plans.data.timeline import NEG, POS

PROGRAM = """timeline integer, unit 1 s.
input temp(room: text, celsius: number).
output alarm(room: text, celsius), cold.
alarm(R, C) :- temp(R, C), C > 8.
cold(R) :- temp(R, C), C < 0.
"""
FACTS = 'temp("hall, west",21.5)@3\ntemp(attic,-2)@4\n'
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from(',"\n'), max_size=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.tide").write_text(PROGRAM)
    (tmp_path / "f.txt").write_text(FACTS)
    return tmp_path


def test_a_file_has_the_output_that_it_is_named_after(folder: Path) -> None:
    """Several files have one each; names, or `x1` where there are none."""
    done = run("run", "p.tide", "f.txt", "--out", "alarm.csv", "--out", "csv+-?predicate=cold", "--iso", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "x1,from,to\nattic,1970-01-01T00:00:04Z,1970-01-01T00:00:04Z\n"
    assert (folder / "alarm.csv").read_text() == (
        'room,celsius,from,to\n"hall, west",21.5,1970-01-01T00:00:03Z,1970-01-01T00:00:03Z\n'
    )


def test_the_header_is_there_without_answers(folder: Path) -> None:
    """A table that is empty has columns."""
    done = run("run", "p.tide", "/dev/null", "--out", "csv+alarms?predicate=alarm", cwd=folder)
    assert (done.returncode, (folder / "alarms").read_text()) == (0, "room,celsius,from,to\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "csv+-"], "csv holds one output of 2: append `?predicate=NAME`, such as `alarm`"),
        (["--out", "csv+-?predicate=alrm"], "the program has no output `alrm`; did you mean `alarm`?"),
        (["--out", "csv+tcp://127.0.0.1:9?predicate=alarm"], "csv has one header"),
        (["--out", "alarm.csv", "--emit", "changes"], "tables hold facts, and what has only begun is none"),
        (["--out", "alarm.csv", "--state", "s"], "tables cannot be gone on with after a restart"),
        (["--out", "alarm.csv?by=room"], "`by` is an option of sources"),
    ],
)
def test_what_csv_cannot_hold_is_refused(folder: Path, arguments: list[str], said: str) -> None:
    """Before anything is read."""
    done = run("run", "p.tide", "f.txt", *arguments, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr


@given(st.lists(st.tuples(CELLS, st.integers(-99, 99) | st.floats(-1e9, 1e9), st.integers(-9, 9), st.integers(0, 9))))
def test_what_is_written_is_read_again(drawn: list[tuple[str, float, int, int]]) -> None:
    """Every text and number, on a timeline of integers, also without an end. Spaces around a value are kept in quotes."""
    plan = tidelog.compile("timeline integer. input p(name: text, value: number). q(X) :- p(X, V).")
    records: list[Record] = [
        plan.record("p", [text, value], interval=f"[{lo},{lo + length}]") for text, value, lo, length in drawn
    ]
    records += [(name, row, NEG if lo % 2 else lo, POS) for name, row, lo, _ in records[:2]]
    encoder = CsvEncoder(plan.schema, plan.schema.predicates["p"])
    decoder = CsvDecoder(plan.schema, "p.csv", "p")
    framer = decoder.framer("p.csv", 1 << 20)
    lines = [framer.push(encoder.header + encoder.encode(records)), framer.finish()]
    batches = [decoder.decode(framed.lines, framed.first) for framed in lines]
    assert [item for batch in batches for item in batch.rejected] == []
    assert [record for batch in batches for record in batch.records] == records


def test_open_ends_have_columns_of_their_own() -> None:
    """On a rational timeline; and no two columns have one name."""
    plan = tidelog.compile("input p(from, to). q(X) :- p(X, Y).")
    encoder = CsvEncoder(plan.schema, PredicateSchema("p", 2, ("from", "to")))
    records = [plan.record("p", ["a", "b"], interval=text) for text in ("[1,5/2)", "(1,inf)")]
    lines = (encoder.header + encoder.encode(records)).decode().splitlines()
    assert lines == ["from,to,from_,to_,from_open_,to_open_", "a,b,1,5/2,false,true", "a,b,1,inf,true,true"]

"""Wide CSV: each cell of a sensor's column is a fact, as if it stood in a row of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.cli import main
from tidelog.connectors.files.history_files import open_history
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.spec import parse_spec
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.frames.columns import Pool

SCHEMA = tidelog.compile(
    "timeline integer. input temp(plant: text, sensor: text, value: number). hot(S) :- temp(P, S, V)."
).schema
OPEN = tidelog.compile("timeline integer. hot(S) :- p(S, V).").schema


def read(options: str, text: str, schema: Schema = SCHEMA) -> tuple[list[tuple[str, Record]], list[str]]:
    """The facts of a file with their places, and why the others are none."""
    spec = parse_spec(f"a.csv?{options}")
    reader = LineReader(make_decoder("csv", schema, "a.csv", spec.predicate, dialect=spec.dialect))
    batches = [reader.feed(text.encode()), reader.finish()]
    facts = [(batch.place(i), record) for batch in batches for i, record in enumerate(batch.records)]
    return facts, [f"{item.place}: {item.reason}" for batch in batches for item in batch.rejected]


def test_each_cell_is_a_fact() -> None:
    """Empty ones are none, and what is no number costs no other cell."""
    text = "time;werk;t1;007;t3\n1;north;1,5;;3\n\nsoon;north;1;2;3\n4;north;n/a;5;6\n5;north\n"
    facts, rejected = read("predicate=temp&melt=sensor,value&sep=;&decimal=,&columns=plant:werk", text)
    assert facts == [
        ("a.csv:2", ("temp", ("north", "t1", 1.5), 1, 1)),
        ("a.csv:2", ("temp", ("north", "t3", 3), 1, 1)),
        ("a.csv:5", ("temp", ("north", "007", 5), 4, 4)),
        ("a.csv:5", ("temp", ("north", "t3", 6), 4, 4)),
    ]
    assert rejected == [
        "a.csv:4: time `soon` is neither a number, a fraction nor ISO-8601",
        "a.csv:5: column `t1`: `temp` expects number for `value`, got n/a",
        "a.csv:6: expected 5 columns, got 2",
    ]


def test_without_declared_fields() -> None:
    """The name of the column comes first, then its cell."""
    assert read("predicate=p&melt=s,v", "a,time,b\n1,2,3\n", OPEN)[0] == [
        ("a.csv:2", ("p", ("a", 1), 2, 2)),
        ("a.csv:2", ("p", ("b", 3), 2, 2)),
    ]


@pytest.mark.parametrize(
    ("options", "header", "reason"),
    [
        ("melt=senser,value", "time,plant,a", "`temp` has no field `senser`; did you mean `sensor`?"),
        (
            "melt=sensor,value",
            "time,a,b",
            "the header lacks the field `plant` of `temp`: say `columns=plant:COLUMN`, with one of a, b",
        ),
        ("melt=sensor,value", "time,plant,a,a", "column `a` stands twice in the header"),
        ("melt=sensor,value", "time,plant", "the header has no columns beside the time and the other fields"),
        ("melt=sensor,value&time=ts", "time,plant,a", "the columns are time, plant, a"),
    ],
)
def test_a_wrong_header(options: str, header: str, reason: str) -> None:
    """Nothing can be read."""
    with pytest.raises(DataError) as caught:
        read(f"predicate=temp&{options}", f"{header}\n")
    assert reason in caught.value.reason


@pytest.mark.parametrize("option", ["melt=a", "melt=a,a", "melt=a,b,c", "melt=,b", "melt=a,b&extra=ignore"])
def test_options_that_say_nothing(option: str) -> None:
    """They are refused before anything is opened."""
    with pytest.raises(SpecError, match="melt"):
        parse_spec(f"a.csv?{option}")


CELLS = st.sampled_from(["", "1", "2.5", "x", "1e400", '"3"', " 4 "])


@drawn(150)
@given(st.lists(st.tuples(st.sampled_from(["1", "2", "no"]), CELLS, CELLS, CELLS), max_size=6))
def test_wide_rows_say_what_narrow_ones_say(rows: list[tuple[str, ...]]) -> None:
    """The same facts, as a stream and as a history, as of a file with a row for each cell."""
    wide = "time,plant,s1,s2,s3\n" + "".join(f"{time},p,{','.join(cells)}\n" for time, *cells in rows)
    narrow = [
        f"{time},p,s{i},{cell}"
        for time, *cells in rows
        for i, cell in enumerate(cells, 1)
        if cell.strip(' "') and time != "no"
    ]
    options = "predicate=temp&melt=sensor,value"
    facts, rejected = read(options, wide)
    expected, refused = read("predicate=temp", "\n".join(["time,plant,sensor,value", *narrow]))
    assert [record for _, record in facts] == [record for _, record in expected]
    assert len(rejected) == len(refused) + sum(row[0] == "no" for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        Path(f"{folder}/a.csv").write_text(wide)
        pool, found, bad = Pool(), [], 0
        for batch in open_history(parse_spec(f"{folder}/a.csv?{options}"), SCHEMA, pool, rows=2):
            found += [(batch.place(i)[len(folder) + 1 :], ("temp", *fact)) for i, fact in enumerate(batch.rows.facts(pool))]
            bad += len(batch.rejected)
    assert (found, bad) == (facts, len(rejected))


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A stream whose sensors are told apart, and a batch."""
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text("input temp(sensor: text, value: number). hot(S) :- temp(S, V), V > 80. output hot.")
    Path("wide.csv").write_text("time,s1,s2\n1,85,20\n2,,90\n")
    assert main(["run", "p.tide", "--in", "wide.csv?predicate=temp&melt=sensor,value&by=sensor", "--out", "facts+-"]) == 0
    assert sorted(capfd.readouterr().out.split()) == ["hot(s1)@1", "hot(s2)@2"]
    assert main(["materialise", "p.tide", "wide.csv?predicate=temp&melt=sensor,value"]) == 0
    assert "hot(s2)@2" in capfd.readouterr().out

"""Parquet files, folders and globs as inputs, and a folder of tables as an output, in streams and in batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog
from tidelog.cli import main
from tidelog.connectors import open_sink, open_source
from tidelog.connectors.files.folders import parse_sources
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, SnapshotError, SpecError
from tidelog.runtime.ports.interfaces import Batch

PROGRAM = (
    "timeline rational, unit 1 s, resolution 1 ms.\ninput temp(sensor: text, value: number).\n"
    "hot(S) :- temp(S, V), V > 80.\nboxplus[0,1) high(S, V) :- temp(S, V), V > 80.\n"
)
TEMPS = {"sensor": ["a", "b", "a"], "value": [85.0, 70.0, 90.5], "time": pa.array([0, 1500, 3000], pa.timestamp("ms"))}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a program, and readings in one file and in a folder of two."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.tide").write_text(PROGRAM)
    table = pa.table(TEMPS)
    pq.write_table(table, "temp.parquet", row_group_size=2)
    (tmp_path / "many").mkdir()
    pq.write_table(table.slice(0, 2), "many/1.parquet")
    pq.write_table(table.slice(2), "many/2.parquet")
    return tmp_path


def told(capfd: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """What a command prints, sorted; it has to end well."""
    code = main(arguments)
    out, err = capfd.readouterr()
    assert (code, err) == (0, "")
    return sorted(out.splitlines())


def refusal(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that ends as a mistake in usage."""
    assert main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    return err.removeprefix("tidelog: error: ").rstrip("\n")


ANSWERS = ["high(a,85)@[0,1)", "high(a,90.5)@[3,4)", "hot(a)@0", "hot(a)@3"]


@pytest.mark.parametrize(
    "spec",
    [
        "temp.parquet",
        "parquet+temp.parquet",
        "parquet+file:temp.parquet",
        "many?predicate=temp",
        "many/*.parquet?predicate=temp",
    ],
)
def test_parquet_files_are_sources(spec: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file, a folder and a glob give the facts of their rows, to a stream and to a batch command."""
    assert told(capfd, "run", "p.tide", "--in", spec, "--out", "facts+-") == ANSWERS
    assert [line for line in told(capfd, "materialise", "p.tide", spec) if not line.startswith("temp")] == ANSWERS


def test_tables_are_written_without_spark_and_read_again(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`parquet:DIR` has a table for each output, with exact times beside timestamps; each is an input of another program."""
    assert told(capfd, "run", "p.tide", "--in", "temp.parquet", "--out", "parquet:out") == []
    assert sorted(os.listdir("out")) == ["high", "hot"]
    assert pq.read_table("out/high").schema.names == [
        "arguments",
        "start",
        "end",
        "start_time",
        "end_time",
        "start_open",
        "end_open",
    ]
    assert pq.read_table("out/high")["end"].to_pylist() == ["1", "4"]
    Path("q.tide").write_text("timeline rational, unit 1 s. again(S, V) :- high(S, V).")
    again = told(capfd, "run", "q.tide", "--in", "out/high", "--out", "facts+-")
    assert again == ["again(a,85)@[0,1)", "again(a,90.5)@[3,4)"]


def test_an_output_without_answers_has_an_empty_table(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever reads the tables finds all of them."""
    Path("temp.jsonl").write_text("")
    told(capfd, "run", "p.tide", "--in", "temp.jsonl", "--out", "parquet:out")
    assert pq.read_table("out/hot").num_rows == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--in", "parqet+temp.parquet"],
            "`parqet+temp.parquet` has an unknown format `parqet`: the formats are facts, jsonl, csv, parquet, text; "
            "did you mean `parquet`?",
        ),
        (["--in", "avro+temp.parquet"], "`avro+temp.parquet` has an unknown format `avro`: the formats are facts"),
        (["--out", "jsnl+x"], "`jsnl+x` has an unknown format `jsnl`: the formats are facts"),
        (["--in", "parquet:many"], "`parquet:many` is a folder that tables are written to: to read one, say `parquet+PATH`"),
        (["--out", "x.parquet"], "`x.parquet`: tables go to a folder, which `parquet:DIR` names"),
        (["--out", "parquet:many"], "`many` is not empty: choose another folder"),
        (["--out", "parquet:o", "--out", "parquet:o"], "`o` is written twice in one run"),
        (["--out", "parquet:o", "--emit", "changes"], "tables hold facts, and what has only begun is none"),
        (["--in", "parquet+-"], "`parquet+-`: Parquet is read from files, and written to a folder, `parquet:DIR`"),
        (["--in", "none/*.csv"], "`none/*.csv` matches no file"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    arguments: list[str], reason: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A format that there is not, a folder that holds something, and the like are mistakes in usage."""
    source = [] if "--in" in arguments else ["--in", "temp.parquet"]
    assert refusal(capfd, "run", "p.tide", *source, *arguments).startswith(reason)


def test_a_file_whose_name_looks_like_a_format_is_one(folder: Path) -> None:
    """What is there is a file, whatever its name."""
    Path("jsnl+x").write_text("")
    assert [spec.path for spec in parse_sources(["jsnl+x"])] == ["jsnl+x"]


def test_a_folder_holds_one_format(folder: Path) -> None:
    """A folder is named after its predicate, and has one format, or is told which to read; hidden files are passed over."""
    Path("temp").mkdir()
    for name in ("b.csv", "a.csv", "_SUCCESS", ".crc"):
        Path("temp", name).write_text("")
    assert [(spec.path, spec.format, spec.predicate) for spec in parse_sources(["temp"])] == [
        ("temp/a.csv", "csv", "temp"),
        ("temp/b.csv", "csv", "temp"),
    ]
    Path("temp", "c.jsonl").write_text("")
    with pytest.raises(SpecError, match=r"`temp` holds files of several formats \(csv, jsonl\): say which it is"):
        parse_sources(["temp"])
    assert len(parse_sources(["jsonl+temp"])) == 3


def test_rows_that_are_no_facts_are_dead_letters(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A bad row is told with its file and row, and costs no other; with `--strict` it is an error in batch."""
    pq.write_table(pa.table(TEMPS | {"sensor": ["a", None, "a"]}), "temp.parquet")
    assert main(["run", "p.tide", "--in", "temp.parquet", "--out", "facts+-"]) == 0
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == ANSWERS
    assert err.startswith("temp.parquet row 1: `sensor` is null: {")
    assert main(["materialise", "p.tide", "temp.parquet"]) == 0
    said = "tidelog: temp.parquet row 1: `sensor` is null\ntidelog: {}\n"
    assert capfd.readouterr().err == said.format("note: 1 record could not be used")
    assert main(["materialise", "p.tide", "temp.parquet", "--strict"]) == 1
    assert capfd.readouterr() == ("", said.format("error: 1 record could not be used (`--strict`)"))


def test_batch_takes_times_as_fine_as_they_are(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Times finer than the program's resolution are exact in a batch command, as those of text facts are."""
    finer = TEMPS | {"time": pa.array([0, 1, 3_000_000_001], pa.timestamp("ns"))}
    pq.write_table(pa.table(finer), "temp.parquet", row_group_size=1)
    assert "hot(a)@3000000001/1000000000" in told(capfd, "materialise", "p.tide", "temp.parquet")


def test_what_is_no_parquet_is_told(folder: Path) -> None:
    """A file that is no Parquet, or has other columns, ends the source with its name."""
    schema = tidelog.compile(PROGRAM).schema
    Path("bad.parquet").write_text("no parquet")
    pq.write_table(pa.table({"sensor": ["a"], "time": [1]}), "other.parquet")

    async def read(spec: str) -> None:
        async with open_source(f"{spec}?predicate=temp", schema) as source:
            await source.receive()

    with pytest.raises(ConnectorError, match=r"cannot read `bad\.parquet`: parquet magic bytes not found"):
        anyio.run(read, "bad.parquet")
    with pytest.raises(DataError, match=r"other\.parquet: the table lacks the field `value` of `temp`"):
        anyio.run(read, "other.parquet")


def test_devices_in_a_file_have_watermarks_of_their_own(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With `?by=sensor` a sensor that is behind the others is not late."""
    pq.write_table(pa.table(TEMPS | {"time": pa.array([1000, 9000, 2000], pa.timestamp("ms"))}), "temp.parquet")
    assert main(["run", "p.tide", "--in", "temp.parquet", "--out", "facts+-"]) == 0
    assert "late: facts before 9 can no longer come" in capfd.readouterr().err
    assert "hot(a)@2" in told(capfd, "run", "p.tide", "--in", "temp.parquet?by=sensor", "--out", "facts+-")


def test_a_source_goes_on_behind_its_position(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a later run a file is read on from where a batch ended; one that is another by now is refused."""
    monkeypatch.setattr("tidelog.connectors.sources.parquet_source.BATCH_ROWS", 2)
    schema = tidelog.compile(PROGRAM).schema

    async def read(position: dict[str, object] | None = None) -> Sequence[Batch]:
        source = open_source("temp.parquet", schema)
        if position is not None:
            source.resume(position)  # type: ignore[union-attr]
        async with source:
            batches = []
            while (batch := await source.receive()) is not None:  # type: ignore[union-attr]
                batches.append(batch)
            return batches

    first, *others = anyio.run(read)
    assert [len(first.records), *[len(batch.records) for batch in others]] == [2, 1]
    again = anyio.run(read, first.position)
    assert [batch.records for batch in again] == [batch.records for batch in others]
    assert list(again[0].places or ()) == ["temp.parquet row 2"]
    pq.write_table(pa.table(TEMPS).slice(1), "temp.parquet")
    with pytest.raises(SnapshotError, match=r"`temp\.parquet` is not what was read before"):
        anyio.run(read, first.position)


def test_what_was_told_is_there_after_an_error(folder: Path) -> None:
    """A sink that is left by an error has the facts that it was given, in a file that can be read."""
    plan = tidelog.compile(PROGRAM)

    async def fail() -> None:
        async with open_sink("parquet:out", plan.schema, outputs=plan.outputs) as sink:
            await sink.send([("hot", ("a",), 0, 0)])
            raise KeyError("something else")

    with pytest.raises(KeyError):
        anyio.run(fail)
    assert pq.read_table("out/hot")["start"].to_pylist() == ["0"]

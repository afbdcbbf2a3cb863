"""Compressed files: what they hold is read as if it were not compressed, and what is damaged is told."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import anyio
import pyarrow as pa
import pytest

import tidelog
from tidelog.cli import main
from tidelog.connectors import BatchLoader, load_facts, open_sink, open_source
from tidelog.connectors.files.history_files import open_history
from tidelog.connectors.spec import parse_spec
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, SnapshotError, SpecError
from tidelog.runtime.frames.columns import Pool
from tidelog.runtime.ports.interfaces import Batch

SCHEMA = tidelog.compile(
    "timeline integer. input temp(sensor: text, value: number). hot(S) :- temp(S, V), V > 80. output hot."
).schema
CSV = ("sensor,value,time\n" + "".join(f"s{i % 7},{i},{i}\n" for i in range(9000))).encode()
JSONL = "".join(f'{{"temp":{{"sensor":"s","value":{i}}},"time":{i}}}\n' for i in range(3000)).encode()


def zstandard(content: bytes) -> bytes:
    """The content in two frames, as tools that append write it."""
    half = len(content) // 2
    return b"".join(pa.compress(part, "zstd", asbytes=True) for part in (content[:half], content[half:]))


def gzipped(content: bytes) -> bytes:
    """The content in two members."""
    half = len(content) // 2
    return gzip.compress(content[:half]) + gzip.compress(content[half:])


KINDS = [("gz", gzipped), ("zst", zstandard)]


async def received(spec: str, position: object = None) -> list[Batch]:
    """All batches of a source, entered anew for each."""
    source = open_source(spec, SCHEMA)
    if position is not None:
        source.resume(position)  # type: ignore[union-attr, arg-type] # a source of a file
    found: list[Batch] = []
    while True:
        async with source:
            batch = await source.receive()  # type: ignore[union-attr] # as above
        if batch is None:
            return found
        found.append(batch)


def facts(batches: list[Batch]) -> list[Record]:
    """All facts of batches."""
    assert not any(batch.rejected for batch in batches)
    return [record for batch in batches for record in batch.records]


@pytest.mark.parametrize(("ending", "compress"), KINDS)
@pytest.mark.parametrize(("name", "content"), [("temp.csv", CSV), ("a.jsonl", JSONL)])
def test_all_ways_to_read(
    name: str, content: bytes, ending: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """A stream, a batch and a history say what the file that is not compressed says."""
    plain, path = tmp_path / name, f"{tmp_path}/{name}.{ending}"
    plain.write_bytes(content)
    Path(path).write_bytes(compress(content))
    expected = facts(anyio.run(received, str(plain)))
    batches = anyio.run(received, path)
    assert facts(batches) == expected
    assert batches[-1].place(0).startswith(f"{path}:")
    for batch in batches[:-1]:
        rest = anyio.run(received, path, batch.position)
        assert facts(rest) == expected[-len(facts(rest)) :]
    loader = BatchLoader(SCHEMA)
    read: list[int] = []
    loader.load(parse_spec(path), read.append)
    assert sorted(loader.drain(), key=lambda record: record[2]) == expected
    assert sum(read) == Path(path).stat().st_size
    pool = Pool()
    columns = [fact for batch in open_history(parse_spec(path), SCHEMA, pool) for fact in batch.rows.facts(pool)]
    assert [("temp", *fact) for fact in columns] == expected


@pytest.mark.parametrize(("ending", "compress"), KINDS)
def test_another_file_is_not_gone_on_with(ending: str, compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Where it begins otherwise by now."""
    path = tmp_path / f"temp.csv.{ending}"
    path.write_bytes(compress(CSV))
    position = anyio.run(received, str(path))[0].position
    path.write_bytes(compress(CSV.replace(b"s1", b"t1")))
    with pytest.raises(SnapshotError, match="is not what was read before"):
        anyio.run(received, str(path), position)


@pytest.mark.parametrize(("ending", "compress"), KINDS)
def test_damage_is_told(ending: str, compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """What is cut, or is no such file at all."""
    path = tmp_path / f"temp.csv.{ending}"
    for content in (compress(CSV)[:-30], CSV):
        path.write_bytes(content)
        with pytest.raises(ConnectorError, match="cannot read"):
            anyio.run(received, str(path))
        with pytest.raises(ConnectorError, match="cannot read"):
            BatchLoader(SCHEMA).load(str(path))
        with pytest.raises(ConnectorError, match="cannot read"):
            list(open_history(parse_spec(str(path)), SCHEMA, Pool()))


def test_background_facts(tmp_path: Path) -> None:
    """A program's own files may be compressed, too."""
    path = tmp_path / "near.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert [record[1] for record in load_facts(str(path), SCHEMA, "near")] == [(1, 2)]
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="cannot read"):
        load_facts(str(path), SCHEMA, "near")


def test_zstandard_needs_pyarrow(tmp_path: Path) -> None:
    """Without it, one clear line says so."""
    path = tmp_path / "temp.csv.zst"
    path.write_bytes(zstandard(CSV))
    with (
        mock.patch.dict(sys.modules, {"pyarrow": None}),
        pytest.raises(ConnectorError, match=r"Zstandard needs pyarrow, which is not installed: pip install"),
    ):
        BatchLoader(SCHEMA).load(str(path))


def test_what_is_not_possible(tmp_path: Path) -> None:
    """Answers are not compressed, nor are pipes unpacked."""
    with pytest.raises(SpecError, match="not compressed"):
        open_sink(f"{tmp_path}/hot.jsonl.gz", SCHEMA)
    (tmp_path / "d.csv.gz").mkdir()
    with pytest.raises(SpecError):
        open_source(f"{tmp_path}/d.csv.gz", SCHEMA)
    with pytest.raises(SpecError, match="cannot read"):
        open_source(f"{tmp_path}/none.csv.gz", SCHEMA)


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A folder of compressed files is a folder of files; the file's name tells the predicate."""
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text("input temp(sensor: text, value: number). hot(S) :- temp(S, V), V > 80. output hot.")
    Path("temp").mkdir()
    Path("temp/1.csv.gz").write_bytes(gzip.compress(b"sensor,value,time\na,81,1\n"))
    Path("temp/2.csv.gz").write_bytes(gzip.compress(b"sensor,value,time\nb,82,2\n"))
    assert main(["run", "p.tide", "--in", "temp", "--out", "facts+-"]) == 0
    assert sorted(capfd.readouterr().out.split()) == ["hot(a)@1", "hot(b)@2"]
    assert main(["materialise", "p.tide", "temp"]) == 0
    assert "hot(b)@2" in capfd.readouterr().out

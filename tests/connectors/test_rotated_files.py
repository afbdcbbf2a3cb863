"""Files that are rotated between two runs, or while they are read; and those that are cut, replaced or gone."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest

from children import WAIT
from tidelog.connectors import CsvDecoder, FileSource, TextDecoder
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SnapshotError

pytestmark = pytest.mark.anyio


def write(path: Path, first: int, count: int, changed: int = 0) -> None:
    """Facts with a time each; `changed` is when the file says that it was written last."""
    with path.open("a") as file:
        file.writelines(f"p(a)@{time}\n" for time in range(first, first + count))
    if changed:
        os.utime(path, (changed, changed))


async def read_some(path: Path, schema: Schema) -> tuple[list[int], dict[str, Any]]:
    """The times of the facts of the first batch, and where it ends: the run is killed then."""
    with anyio.fail_after(WAIT):
        async with FileSource(str(path), TextDecoder(schema, path.name)) as source:
            batch = await source.receive()
    assert batch is not None and batch.position is not None
    return [record[2] for record in batch.records], batch.position


async def read_on(path: Path, schema: Schema, position: dict[str, Any]) -> tuple[list[int], list[str], dict[str, Any]]:
    """The times and places of what a later run reads, and where it ends."""
    source = FileSource(str(path), TextDecoder(schema, path.name))
    source.resume(position)
    times: list[int] = []
    places: list[str] = []
    with anyio.fail_after(WAIT):
        async with source:
            while (batch := await source.receive()) is not None:
                times += [record[2] for record in batch.records]
                places += batch.places or ()
                position = batch.position or position
    return times, places, position


@pytest.mark.parametrize("name", ["data.txt.1", "data.txt-20260131", "data-20260131.txt", "moved.txt"])
async def test_the_rest_of_a_renamed_file_is_read_before_the_new_one(tmp_path: Path, integer: Schema, name: str) -> None:
    """Renamed between two runs, with a new file in its place: each fact comes once, with the place where it stands now."""
    path, rotated = tmp_path / "data.txt", tmp_path / name
    write(path, 0, 20_000)
    begun, position = await read_some(path, integer)
    write(path, 20_000, 5)
    path.rename(rotated)
    write(path, 20_005, 5)
    times, places, position = await read_on(path, integer, position)
    assert 0 < len(begun) < 20_000
    assert begun + times == list(range(20_010))
    assert places[0] == f"{rotated}:{len(begun) + 1}"
    assert places[-1] == "data.txt:5"
    assert await read_on(path, integer, position) == ([], [], position)


async def test_the_rest_of_a_renamed_file_is_read_before_there_is_a_new_one(tmp_path: Path, integer: Schema) -> None:
    """A run that starts in between reads the rest, and a later one the file that has come by then."""
    path, rotated = tmp_path / "data.txt", tmp_path / "data.txt.1"
    write(path, 0, 20_000)
    begun, position = await read_some(path, integer)
    path.rename(rotated)
    assert FileSource(str(path), TextDecoder(integer, path.name)).is_replayable
    times, _, position = await read_on(path, integer, position)
    assert begun + times == list(range(20_000))
    write(path, 20_000, 5)
    assert (await read_on(path, integer, position))[0] == list(range(20_000, 20_005))


@pytest.mark.parametrize("is_copied", [False, True])
async def test_all_that_was_rotated_meanwhile_is_read_in_order(tmp_path: Path, integer: Schema, is_copied: bool) -> None:
    """Rotated twice between two runs, by renaming or by copying and emptying: nothing is left out, whatever lies beside."""
    path, first, second = (tmp_path / name for name in ("data.txt", "data.txt.2", "data.txt.1"))
    for name in ("data.txt.3", "data.txt.1.gz", "other.txt.1", "data.txtual"):
        write(tmp_path / name, 90_000, 3, changed=10)
    (tmp_path / "data.txt.4").mkdir()
    write(path, 0, 20_000)
    begun, position = await read_some(path, integer)
    for rotated, begin, changed in ((first, 20_000, 100), (second, 20_005, 200)):
        write(path, begin, 5)
        if is_copied:
            shutil.copyfile(path, rotated)
            os.truncate(path, 0)
        else:
            path.rename(rotated)
        os.utime(rotated, (changed, changed))
    write(path, 20_010, 5)
    times, _, _ = await read_on(path, integer, position)
    assert begun + times == list(range(20_015))


async def test_a_rotated_table_has_a_header_of_its_own(tmp_path: Path, integer: Schema) -> None:
    """CSV: the columns of a new file may stand in another order; those of the old one are known from the run before."""
    path = tmp_path / "p.csv"
    path.write_text("time,x\n" + "".join(f"{time},a\n" for time in range(20_000)))
    async with FileSource(str(path), CsvDecoder(integer, "p.csv")) as source:
        batch = await source.receive()
    assert batch is not None and batch.position is not None
    path.rename(tmp_path / "p.csv.1")
    path.write_text("x,time\na,20000\n")
    again = FileSource(str(path), CsvDecoder(integer, "p.csv"))
    again.resume(batch.position)
    times = [record[2] for record in batch.records]
    async with again:
        while (batch := await again.receive()) is not None:
            assert batch.rejected == []
            times += [record[2] for record in batch.records]
    assert times == list(range(20_001))


async def test_a_file_that_is_rotated_while_it_is_read_is_read_to_its_end(tmp_path: Path, integer: Schema) -> None:
    """What is open is read on; what came after it is another run's."""
    path = tmp_path / "data.txt"
    write(path, 0, 20_000)
    async with FileSource(str(path), TextDecoder(integer, "data.txt")) as source:
        first = await source.receive()
        path.rename(tmp_path / "data.txt.1")
        write(path, 20_000, 5)
        assert first is not None
        times = [record[2] for record in first.records]
        while (batch := await source.receive()) is not None:
            times += [record[2] for record in batch.records]
            position = batch.position
    assert times == list(range(20_000))
    assert position is not None
    assert (await read_on(path, integer, position))[0] == list(range(20_000, 20_005))


async def test_entered_again_after_a_rotation_a_file_goes_on(tmp_path: Path, integer: Schema) -> None:
    """Left and entered again within a run: the rest of the old file comes before the new one."""
    path = tmp_path / "data.txt"
    write(path, 0, 20_000)
    source = FileSource(str(path), TextDecoder(integer, "data.txt"))
    async with source:
        first = await source.receive()
    assert first is not None
    path.rename(tmp_path / "data.txt.1")
    write(path, 20_000, 5)
    times = [record[2] for record in first.records]
    async with source:
        while (batch := await source.receive()) is not None:
            times += [record[2] for record in batch.records]
    assert times == list(range(20_005))


async def test_a_file_that_is_cut_while_it_is_read_is_told(
    tmp_path: Path, integer: Schema, caplog: pytest.LogCaptureFixture
) -> None:
    """What was behind the cut is lost, and whoever runs it hears so; half a line is no fact."""
    path = tmp_path / "data.txt"
    write(path, 0, 20_000)
    async with FileSource(str(path), TextDecoder(integer, "data.txt")) as source:
        await source.receive()
        os.truncate(path, 0)
        with caplog.at_level(logging.WARNING):
            batch = await source.receive()
            assert await source.receive() is None
    assert batch is not None and batch.records == []
    assert [(item.reason, item.raw) for item in batch.rejected] == [("the file was cut within the line", b"p(a)@6")]
    assert "data.txt: was cut while it was read: 65536 bytes of it had been read" in caplog.text


async def test_what_is_not_there_any_more_is_told(tmp_path: Path, integer: Schema) -> None:
    """Cut, replaced by another file, or gone: a later run says that it cannot go on, and reads nothing."""
    path = tmp_path / "data.txt"
    write(path, 0, 20_000)
    _, position = await read_some(path, integer)
    for name in ("data.txt.1", "data.txt.2"):
        write(tmp_path / name, 50_000, 20_000)
    whole = path.read_bytes()
    for other in (whole[:1000], b"", whole.replace(b"p(a)@7\n", b"p(b)@7\n", 1)):
        path.write_bytes(other)
        with pytest.raises(SnapshotError, match=r"is not what was read before: its first 65536 bytes differ"):
            await read_on(path, integer, position)
    path.unlink()
    with pytest.raises(SnapshotError, match="cannot be read again: No such file"):
        await read_on(path, integer, position)

"""A damaged outbox: each flipped bit is told or changes nothing, and what is missing is never taken for a new beginning."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

import tidelog
from children import WAIT
from outbox.boxes import durable, held, opened, run_durably, source
from tidelog import PushSource
from tidelog.connectors.outbox import sink as outbox_sink
from tidelog.connectors.outbox.file import FILE
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader, OutboxRow
from tidelog.connectors.sources.file_source import FileSource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.connectors.store.stored_lock import lock_of
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.plans.diagnostics.errors import ConnectorError, SnapshotError, SpecError, TidelogError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.durable import ledger
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.interfaces import Batch

LOCK = lock_of("outbox")
PROGRAM = """
timeline integer.
input temp(sensor: text, value: number).
output alarm.
alarm(X) :- diamondminus[0,2] temp(X, V), V > 22.
"""
LINES = [f"{time},{sensor},{20 + (time * 7 + ord(sensor)) % 6}" for time in range(12) for sensor in "ab"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return tidelog.compile(PROGRAM)


def facts(rows: list[OutboxRow]) -> list[tuple[object, ...]]:
    """The rows without what depends on the moment at which they were told."""
    return [row[:7] for row in rows]


class CopiedOutbox(Outbox):
    """Copies its folder at its second commit, as a process that is killed then leaves it."""

    def commit(self, checkpoint: bytes) -> None:
        super().commit(checkpoint)
        if self._commits == 2:
            shutil.copytree(self.name, f"{self.name}.killed")


async def at_once(call: Callable[[], Any]) -> Any:
    await anyio.lowlevel.checkpoint()
    return call()


class Box:
    """An outbox of a run that was killed half way through its file, and what it holds in the end."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan = plan
        self.input = folder / "temp.csv"
        self.input.write_text("\n".join(["time,sensor,value", *LINES, ""]))
        self.killed = folder / "box.killed"
        read = Descriptor.read
        with (
            pytest.MonkeyPatch.context() as patch,
            CopiedOutbox(str(folder / "box"), plan) as outbox,
            StateDirectory(str(folder / "box")) as state,
        ):
            patch.setattr(Descriptor, "read", lambda descriptor: read(descriptor, 60))
            patch.setattr(ledger, "MOST_NEW", 1)
            patch.setattr(channels, "CHANNEL_BOUND", 0)
            patch.setattr(outbox_sink, "_TOGETHER", 4)
            patch.setattr(anyio.to_thread, "run_sync", at_once)  # what is copied is of one moment
            run = durable(plan, [source(plan, self.input)], outbox, state, commit_every=1000)
            anyio.run(run.run, backend="trio")
        self.closed = folder / "box.closed"
        shutil.copytree(self.killed, self.closed)
        self.rows = self.read(self.closed)
        self.golden = facts(held(folder / "box"))
        assert 0 < len(self.rows) < len(self.golden)
        assert {path.name for path in self.killed.iterdir()} >= {FILE, f"{FILE}-wal", f"{FILE}-shm", LOCK}
        assert {path.name for path in self.closed.iterdir()} >= {FILE, LOCK}

    def read(self, folder: Path) -> list[OutboxRow]:
        """What a reader is given, and all that it is told; then what the writer would go on from."""
        rows = held(folder)
        with OutboxReader(str(folder)) as reader:
            assert reader.schema().predicates["alarm"].arity == 1
            assert (reader.first(), reader.last()) == (1, len(rows))
        with Outbox(str(folder), self.plan) as box:
            assert box.checkpoint()
        return rows

    def finish(self, folder: Path) -> list[tuple[object, ...]]:
        """What it holds once the run has gone on to its end."""
        run_durably(self.plan, folder, [source(self.plan, self.input)])
        return facts(held(folder))


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> Box:
    return Box(tmp_path_factory.mktemp("damage"), plan)


def flips(folder: Path, stride: int, beginning: str) -> Iterator[tuple[Path, Callable[[Path], None]]]:
    """One bit of each byte of each file, but for most of the zeros: which file it is, and what flips the bit in a copy."""
    for path in sorted(folder.glob(f"{beginning}*")):
        content = path.read_bytes()
        used = [i for i, byte in enumerate(content) if byte or i % 61 == 0]
        for i in used[::stride]:
            damaged = bytearray(content)
            damaged[i] ^= 1 << (i * 5 + 3) % 8
            yield path, lambda copy, name=path.name, data=bytes(damaged): (copy / name).write_bytes(data)  # type: ignore[misc]


def damaged_copies(whole: Path, tmp_path: Path, stride: int, beginning: str = "") -> Iterator[Path]:
    for number, (_, damage) in enumerate(flips(whole, stride, beginning)):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        damage(folder)
        yield folder
        shutil.rmtree(folder)
    assert number > 20


def outcome(read: Callable[[Path], Any], folder: Path) -> Any:
    """What it says, or the error that is told."""
    try:
        return read(folder)
    except TidelogError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("state", ["killed", "closed"])
def test_flipped_bits_are_told_to_readers(box: Box, tmp_path: Path, state: str) -> None:
    """Wherever a bit is flipped, readers and the writer find what was written, or are told."""
    told = 0
    for folder in damaged_copies(getattr(box, state), tmp_path, 1, "outbox"):
        found = outcome(box.read, folder)
        assert isinstance(found, str) or found == box.rows
        told += isinstance(found, str)
    assert told > 1000


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("state", ["killed", "closed"])
def test_flipped_bits_are_told_to_a_run_that_goes_on(box: Box, tmp_path: Path, state: str) -> None:
    """Wherever a bit is flipped, the run that goes on gives the same answers as without, or is refused."""
    told = 0
    for folder in damaged_copies(getattr(box, state), tmp_path, 23):
        found = outcome(box.finish, folder)
        assert isinstance(found, str) or found == box.golden
        told += isinstance(found, str)
    assert told > 20


@pytest.fixture
def copy(box: Box, tmp_path: Path) -> Path:
    """An outbox of six facts or so, closed."""
    shutil.copytree(box.closed, tmp_path / "box")
    return tmp_path / "box"


def change(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / FILE)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE facts SET start = '77' WHERE seq = 2", "in `outbox.sqlite`, fact number 2 is not what was written"),
        ("UPDATE facts SET arguments = X'ff' WHERE seq = 2", "fact number 2 is not what was written"),
        ("UPDATE facts SET arguments = CAST(X'ff' AS TEXT) WHERE seq = 2", "Could not decode to UTF-8"),
        ("DELETE FROM facts WHERE seq = 2", "fact number 2 is missing"),
        ("DELETE FROM facts WHERE seq >= 2", "fact number 2 is missing"),
        ("DELETE FROM meta WHERE key = 'acked'", "`acked` is missing"),
        ("UPDATE meta SET value = 1 WHERE key = 'acked'", "`acked` is not what was written"),
        ("UPDATE meta SET value = 'x' WHERE key = 'schema'", "`schema` is not what was written"),
        ("ALTER TABLE facts RENAME COLUMN horizon TO h", "its tables are not those that were made"),
    ],
)
def test_damage_is_told_by_file_and_fact(copy: Path, statement: str, message: str) -> None:
    """What is not as it was written is told to readers, with the fact's number or the name of what is damaged."""
    change(copy, statement)
    with pytest.raises(ConnectorError, match=message):
        held(copy)
        with OutboxReader(str(copy)) as reader:
            reader.schema()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM meta WHERE key = 'checkpoint'", "`checkpoint` is missing"),
        (
            "UPDATE meta SET value = CAST(value AS TEXT) WHERE key = 'checkpoint'",
            "`checkpoint` is not what was written|UTF-8",
        ),
        ("UPDATE meta SET value = X'80' WHERE key = 'checkpoint'", "`checkpoint` is not what was written"),
        ("DELETE FROM facts WHERE seq = (SELECT max(seq) FROM facts)", "fact number .* is missing"),
        ("DROP TABLE meta", "outbox"),
    ],
)
def test_no_run_begins_anew_beside_facts(box: Box, copy: Path, statement: str, message: str) -> None:
    """Where the checkpoint is missing or damaged, a run is refused and adds nothing."""
    before = held(copy)
    change(copy, statement)
    with pytest.raises(ConnectorError, match=message):
        box.finish(copy)
    with closing(sqlite3.connect(copy / FILE)) as connection:
        count = connection.execute("SELECT count(*) FROM facts").fetchone()
    assert count[0] <= len(before)


def test_a_file_that_was_emptied_is_no_new_outbox(box: Box, copy: Path) -> None:
    """A database without tables, or none, beside the note of commits is refused, and beside a state, too."""
    for damage in ((copy / FILE).unlink, lambda: (copy / FILE).write_bytes(b"")):
        damage()
        with pytest.raises(ConnectorError, match=r"0 commits are left of 2"):
            box.finish(copy)
    shutil.rmtree(copy)
    shutil.copytree(box.closed, copy)
    box.finish(copy)
    for name in (FILE, LOCK):
        (copy / name).unlink()
    with pytest.raises(SpecError, match="holds answers up to 0, and"):
        box.finish(copy)
    for path in copy.iterdir():
        path.unlink()
    assert box.finish(copy) == box.golden


def test_lost_commits_are_told(box: Box, tmp_path: Path) -> None:
    """A write-ahead log that is gone, or cut, takes commits with it: readers and the writer are told."""
    for number, size in enumerate((0, 5000)):
        folder = tmp_path / str(number)
        shutil.copytree(box.killed, folder)
        os.truncate(folder / f"{FILE}-wal", size)
        for read in (held, box.finish):
            with pytest.raises((ConnectorError, SpecError), match=r"commits are left of 2|there is no outbox"):
                read(folder)


def test_an_older_format_is_told(copy: Path) -> None:
    """An outbox of an older version is refused, with what can be done about it."""
    change(copy, "UPDATE meta SET value = 1 WHERE key = 'format'")
    with pytest.raises(
        SpecError,
        match=r"in format 1, and this is tidelog .* which takes over formats from 3 on: let what it holds be taken with",
    ):
        held(copy)


@pytest.mark.long
@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", LOCK, "."])
@pytest.mark.parametrize("is_idle", [False, True])
def test_removed_files_end_the_run(tmp_path: Path, plan: Plan, name: str, is_idle: bool) -> None:
    """Where a file of the outbox is removed while it is written, the run ends with an error, whether facts come or not."""
    folder = tmp_path / "box"
    push = PushSource()

    async def main() -> None:
        with opened(plan, folder) as (outbox, state), anyio.fail_after(WAIT):
            run = durable(plan, [push], outbox, state, commit_every=0.01)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run.run)
                await push.send(Batch([("temp", ("a", 30), 0, 0)]))
                while not outbox._commits:  # noqa: ASYNC110 - nothing tells of a commit
                    await anyio.sleep(0.001)
                if name == ".":
                    shutil.rmtree(folder)
                else:
                    (folder / name).unlink()
                if not is_idle:
                    await push.send(Batch([("temp", ("a", 30), 9, 9)]))

    with pytest.raises(ConnectorError, match="was removed while it was in use") as raised:
        run_to_its_error(main)
    assert str(folder) in str(raised.value)


def run_to_its_error(main: Callable[[], Any]) -> None:
    try:
        anyio.run(main, backend="trio")
    except BaseExceptionGroup as group:
        raise first_cause(group) from None


def test_a_removed_outbox_is_told_to_its_readers(copy: Path) -> None:
    """A reader whose files are gone is told, and does not wait for ever for facts that go elsewhere."""
    with OutboxReader(str(copy)) as reader:
        assert reader.read(0)
        shutil.rmtree(copy)
        with pytest.raises(ConnectorError, match="was removed while it was in use"):
            reader.read(0)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_file_is_compared_from_its_beginning_to_its_end(tmp_path: Path, plan: Plan) -> None:
    """A change anywhere in what was read is found, not only at its ends; what is appended is none."""
    path = tmp_path / "temp.csv"
    path.write_text("time,sensor,value\n" + "".join(f"{time},a,30\n" for time in range(20_000)))
    file = source(plan, path)
    async with file:
        await file.receive()
        batch = await file.receive()
    assert batch is not None and batch.position is not None
    with path.open("a") as more:
        more.write("20000,a,30\n")
    resumed = source(plan, path)
    assert isinstance(resumed, FileSource)
    resumed.resume(batch.position)
    async with resumed:
        following = await resumed.receive()
    assert following is not None and following.records[0][2] == batch.records[-1][2] + 1
    assert following.position is not None
    whole = bytearray(path.read_bytes())
    whole[60_000] ^= 1
    path.write_bytes(whole)
    for position in (batch.position, following.position):
        with pytest.raises(SnapshotError, match="is not what was read before"):
            FileSource(str(path), resumed._reader._decoder).resume(position)


@pytest.mark.parametrize(
    "position",
    [
        {},
        {"offset": "1", "seen": "", "lines": {}},
        {"offset": -1, "seen": "", "lines": {}},
        {"offset": 0, "seen": 1, "lines": {}},
    ],
)
def test_a_damaged_position_is_told(tmp_path: Path, plan: Plan, position: dict[str, Any]) -> None:
    """A position that is none is a SnapshotError."""
    path = tmp_path / "temp.csv"
    path.touch()
    file = source(plan, path)
    assert isinstance(file, FileSource)
    with pytest.raises(SnapshotError, match="damaged"):
        file.resume(position)

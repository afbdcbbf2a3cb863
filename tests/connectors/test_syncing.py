"""What is brought to the disk, and what becomes of a run where the disk refuses."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

import tidelog
from tidelog import Engine, MemorySource
from tidelog.connectors import FileSink, TextEncoder
from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.connectors.store.syncing import make_folder, replace_file
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.runtime.ports.durability import Changes
from tidelog.runtime.ports.interfaces import Batch

PLAN = tidelog.compile("timeline integer. seen(X) :- p(X).")


class Disk:
    """Notes what is brought to the disk, by its path. Of the path `bad` the first attempt fails, and the next succeeds,
    as Linux does it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bad: Path | None = None) -> None:
        self.synced: list[str] = []
        self.failures = 0
        real = os.fsync

        def fsync(descriptor: int) -> None:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if path == str(bad) and not self.failures:
                self.failures += 1
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(descriptor)
            self.synced.append(path)

        monkeypatch.setattr(os, "fsync", fsync)


class Numbers(MemorySource):
    """So many facts, each a batch, of which a later run reads those behind the last commit."""

    is_replayable = True

    def __init__(self, count: int) -> None:
        self._batches = [Batch([("p", (i,), i, i)], position={"at": i + 1}) for i in range(count)]
        super().__init__(self._batches)

    def resume(self, position: dict[str, Any]) -> None:
        self._rest = iter(self._batches[position["at"] :])


def run(folder: Path, count: int) -> None:
    """A run with a state, to a file, from where the last one stopped."""
    with StateDirectory(str(folder / "state")) as state:
        sink = FileSink(str(folder / "out"), TextEncoder(PLAN.schema))
        anyio.run(Engine(PLAN, [Numbers(count)], [sink], state=state, at_end="stop").run)


@pytest.mark.parametrize("bad", ["out", "."], ids=["the file", "its name"])
def test_a_disk_that_refuses_stops_the_run_and_the_next_one_writes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    """A second attempt would succeed though what was written is gone: so there is none, and nothing counts as told."""
    make_folder(tmp_path / "state")
    with monkeypatch.context() as patch:
        disk = Disk(patch, tmp_path / bad)
        with pytest.raises(
            ConnectorError, match=r"out: what was written may not be on the disk: .*; the next run writes it again"
        ):
            run(tmp_path, 5)
        assert disk.failures == 1
        assert str(tmp_path) not in disk.synced
    (tmp_path / "out").write_bytes(b"")  # what the system held, and the disk never had, is gone
    run(tmp_path, 8)
    assert (tmp_path / "out").read_text().splitlines() == [f"seen({i})@{i}" for i in range(8)]


def test_the_name_of_a_new_file_is_brought_to_the_disk_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the file itself may be gone after a power failure, whatever it held."""
    make_folder(tmp_path / "state")
    disk = Disk(monkeypatch)
    run(tmp_path, 5)
    assert str(tmp_path / "out") in disk.synced
    assert disk.synced.count(str(tmp_path)) == 1


def test_every_folder_that_is_made_is_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name on the way to a state lies in a folder that is synced behind it, and so does the lock."""
    disk = Disk(monkeypatch)
    with StateDirectory(str(tmp_path / "a" / "b" / "state")):
        assert disk.synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b"), str(tmp_path / "a/b/state")]


def test_the_folder_of_a_state_is_for_its_owner_alone(tmp_path: Path) -> None:
    """What was read and told is in it; an outbox is read by others."""
    with StateDirectory(str(tmp_path / "state")):
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    with Outbox(str(tmp_path / "box"), PLAN):
        assert stat.S_IMODE((tmp_path / "box").stat().st_mode) & 0o055 == 0o055


@pytest.mark.parametrize("what", ["state", "outbox"])
def test_the_log_is_written_into_the_file_when_it_is_opened(tmp_path: Path, what: str) -> None:
    """What a run that was stopped by its disk has left in the log may not be on the disk, though it can be read."""
    folder = tmp_path / what

    def opened() -> StateDirectory | Outbox:
        return StateDirectory(str(folder)) if what == "state" else Outbox(str(folder), PLAN)

    log = folder / f"{what}.sqlite-wal"
    with opened() as first:
        if isinstance(first, Outbox):
            first.append([("seen", (1,), 1, 1)], 1)
            first.commit(b"")
        else:
            first.commit(Changes(b"head"))
        held = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(held[log.name]) > 0
    for name, data in held.items():  # as it was while the run was there: as after a crash
        (folder / name).write_bytes(data)
    with opened():
        assert log.stat().st_size == 0


def test_a_state_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    """Whoever names a file learns that a folder is wanted; the file stays as it is."""
    path = tmp_path / "state.db"
    path.write_text("mine")
    with pytest.raises(SpecError, match=rf"^cannot write the state `{path}`: that is a file, and a folder is wanted$"):
        StateDirectory(str(path))
    assert path.read_text() == "mine"


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is on the disk before the name, and the name before the call returns."""
    path = tmp_path / "identity"
    path.write_text("old")
    disk = Disk(monkeypatch)
    replace_file(path, "new")
    assert path.read_text() == "new"
    assert disk.synced == [str(tmp_path / ".identity.new"), str(tmp_path)]
    assert [one.name for one in tmp_path.iterdir()] == ["identity"]

"""On Windows there is no POSIX: what needs none works, and the rest is refused by name where it is asked for."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import anyio
import pytest

from children import WAIT
from tidelog.connectors.store import syncing
from tidelog.connectors.store.stored_lock import WriterLock
from tidelog.connectors.transport.addresses import UnixAddress
from tidelog.plans.diagnostics import systems
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.columns.memory import SHARE, usual_memory

SCRIPT = Path(__file__).with_name("without_posix.py")
RULES = "timeline integer, unit 1 s.\ninput level(n: integer).\nhigh(N) :- level(N), N > 5.\noutput high.\n"
WORKS = {
    "--version": "tidelog ",
    "check high.tide": "",
    "explain high.tide": "high: join",
    "fmt --check high.tide": "",
    "types high.tide": "class High",
    "plot high.tide --in levels.txt": "<svg",
    "peek table.csv": "room",
    "materialise high.tide --in levels.txt": "high(9)@2",
    "entails high.tide --in levels.txt --fact high(9)@2": "true",
    "consistent high.tide --in levels.txt": "true",
    "why high.tide --in levels.txt --fact high(9)@2": "high(9)@2",
    "run high.tide --in levels.txt --out facts+-": "high(9)@2",
    "run high.tide --in levels.txt --out facts+file:out.txt": "",
    "run high.tide --in facts+- --out facts+-": "high(9)@2",
    "ask asked.tide --in levels.txt": "high",
    "init plant": "wrote plant.tide",
    "test rules": "2 tests passed",
    "gateway rules/plant.toml --check": "right",
    "gateway rules/plant.toml --try rules/messages.jsonl": "temp(north",
}
REFUSED = {
    "run high.tide --in levels.txt --state s": "cannot write the state `s`",
    "run high.tide --in unix:///tmp/nobody": "cannot connect to `unix:///tmp/nobody`",
    "run high.tide --in unix+listen:///tmp/nobody": "cannot listen at `unix:///tmp/nobody`",
    "gateway rules/plant.toml": "cannot run a gateway",
    "spark run high.tide levels.txt": "cannot run on Spark",
}


class Said(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plant")
    (folder / "high.tide").write_text(RULES)
    (folder / "asked.tide").write_text(f"{RULES}ask high(N)@T.\n")
    (folder / "levels.txt").write_text("level(1)@1\nlevel(9)@2\n")
    (folder / "table.csv").write_text("room,celsius,time\nnorth,7,1\nsouth,8,2\n")
    return folder


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Said]:
    """What each command says. One process runs them all, one after the other: to start one costs more than a command."""
    path = os.pathsep.join(filter(None, [str(SCRIPT.parents[2]), os.environ.get("PYTHONPATH", "")]))
    commands = ["init rules", *WORKS, *REFUSED]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *commands],
        cwd=folder,
        input="level(9)@2\n",
        stdout=subprocess.PIPE,
        text=True,
        timeout=WAIT,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    found = dict(zip(commands, (Said(*json.loads(line)) for line in done.stdout.splitlines()), strict=False))
    assert done.returncode == 0 and list(found) == commands, f"{done.returncode} behind {list(found)[-1:]}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("command", "told"), WORKS.items())
def test_what_needs_no_posix_works(command: str, told: str, folder: Path, said: dict[str, Said]) -> None:
    done = said[command]
    assert (done.code, done.err.count("Traceback")) == (0, 0), done.err
    assert told in done.out
    assert "out.txt" not in command or (folder / "out.txt").read_text() == "high(9)@2\n"


@pytest.mark.slow
@pytest.mark.parametrize(("command", "told"), REFUSED.items())
def test_what_needs_posix_is_refused_by_name(command: str, told: str, said: dict[str, Said]) -> None:
    done = said[command]
    assert (done.code in (1, 2), done.err.count("Traceback")) == (True, 0), done.err
    assert told in done.err
    assert "needs Linux or macOS" in done.err


def test_sockets_and_locks_of_posix_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both ends of a Unix-domain socket, and whatever has one writer at a time."""
    monkeypatch.setattr(systems, "has_posix", lambda: False)
    with pytest.raises(SpecError, match="cannot connect to `unix:///there`: this needs Linux or macOS"):
        anyio.run(UnixAddress("/there").connect)
    with pytest.raises(SpecError, match="cannot listen at `unix:///there`: this needs Linux or macOS"):
        anyio.run(UnixAddress("/there").listen)
    with pytest.raises(SpecError, match=r"cannot write the outbox `.*`: this needs Linux or macOS"):
        WriterLock(str(tmp_path), "outbox")


def test_memory_is_what_windows_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of the 8-byte words that it fills in, where the first one says how long they are."""

    def fill(status: Any) -> int:
        assert status._obj[0] == ctypes.sizeof(status._obj)
        status._obj[1] = 4 << 20
        return 1

    monkeypatch.delattr(os, "sysconf")
    kernel = SimpleNamespace(GlobalMemoryStatusEx=fill)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert usual_memory() == (4 << 20) // SHARE


def test_a_folder_is_not_brought_to_the_disk_where_none_can_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows opens no folder; files are brought there all the same."""
    synced: list[int] = []
    monkeypatch.setattr(syncing.os, "fsync", synced.append)
    monkeypatch.setattr(syncing, "is_windows", lambda: True)
    syncing.sync(tmp_path)
    assert synced == []
    (tmp_path / "file").touch()
    syncing.sync(tmp_path / "file")
    assert len(synced) == 1

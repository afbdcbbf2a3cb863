"""Workers that are killed at drawn points, and the engine with them: nothing is lost, nothing comes twice, order is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

import tidelog
from children import WAIT, child
from crashing import ReplayableSource
from islands.scripts import heard_of, session_of, takes
from tidelog import Engine
from tidelog.connectors import FileSink, JsonEncoder
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.runtime.durable import ledger, snapshots
from tidelog.runtime.islands import actors
from tidelog.runtime.islands.lines import WorkerLink
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.interfaces import Batch, EmitMode, Tick
from tidelog.runtime.sessions.settings import SOURCE, Settings
from waiting import eventually

PROGRAM = """timeline integer. input p(x, v). input q(x).
up(X) :- boxminus[0,2] p(X, _), not diamondminus[0,1] q(X).
seen(X, Y) :- p(X, Y). seen(X, Y) :- diamondminus[1,2] seen(X, Y), q(X).
n(N) :- N = count() over up(_) in [3].
last(X, V) :- latest p(X, V) by X in [5].
bottom :- up(X), q(X).
output up, seen, n, last. p(stated, 0)@[3,4]."""
"""Islands with keys, one behind them, and one in a loop."""


def stream(random: Random, length: int) -> list[list[Record]]:
    """Batches of facts, in order."""
    found = []
    for at in range(length):
        rows = [("p", (f"k{random.randrange(12)}", random.randrange(3)), at, at) for _ in range(random.choice((1, 3, 12)))]
        if random.random() < 0.3:
            rows.append(("q", (f"k{random.randrange(12)}",), at, at))  # type: ignore[arg-type]
        found.append(rows)
    return found  # type: ignore[return-value]


HOWS = ("before", "behind", "behind", "nursery", "behind")


class Killer:
    """Kills a worker before or behind something that is sent to it, or its nursery; again once others have answered."""

    def __init__(self, random: Random, kills: int, every: float) -> None:
        self.random, self.left, self._every = random, kills, every
        self._landed = -1
        self.session: SpreadReasoner | None = None
        self.done = {"before": 0, "behind": 0, "nursery": 0}

    def install(self, patch: pytest.MonkeyPatch) -> None:
        send, killer = WorkerLink.send, self

        def sending(link: WorkerLink, address: bytes, data: bytes, number: int) -> None:
            how = killer.draw()
            if how == "before":
                killer.kill(link, how)
            send(link, address, data, number)
            if how in ("behind", "nursery"):
                time.sleep(killer.random.choice((0, 0, 0.0005, 0.002)))  # it reads, works, or has answered
                killer.kill(link, how)

        patch.setattr(WorkerLink, "send", sending)

    def draw(self) -> str:
        if not self.left or self.session is None or self.session._network_of is None or self.random.random() > self._every:
            return ""
        landed = self.session._network_of.number - self.session.on_the_way
        if landed <= self._landed + 1:
            return ""
        self._landed, self.left = landed, self.left - 1
        return HOWS[self.left % len(HOWS)]

    def kill(self, link: WorkerLink, how: str) -> None:
        self.done[how] += 1
        with suppress(OSError):  # it has gone with the last kill, and nobody has seen it yet
            if how == "nursery" and self.session is not None:
                nursery = self.session._hosts[0]._nursery._process
                assert nursery is not None
                os.kill(nursery.pid, signal.SIGKILL)
            os.kill(link.process, signal.SIGKILL)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


@pytest.mark.parametrize(
    ("emit", "kills", "seed"),
    [
        ("intervals", 8, 1),
        *(
            pytest.param(emit, 20, seed, marks=pytest.mark.long)
            for seed, emit in enumerate(("intervals", "changes", "final"))
        ),
        pytest.param("points", 10, 9, marks=pytest.mark.long),
    ],
)
def test_workers_are_killed_wherever_they_are(
    emit: EmitMode, kills: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With states that are saved often, ticks of a clock, and states of all in between: it tells what one task tells."""
    monkeypatch.setattr(actors, "MOST_TOLD", 20)
    random = Random(seed)
    plan, settings = tidelog.compile(PROGRAM), Settings(emit=emit, lateness=1)
    steps = [takes(SOURCE, Batch(batch)) for batch in stream(random, 12 * kills)]
    for at in range(5, len(steps), 20):
        steps.insert(at, lambda session, at=at: session.pass_time(Tick(at - 9, at - 8)))  # type: ignore[misc]
        steps.insert(at, lambda session: session.state() and None)
    steps.append(lambda session: session.end(SOURCE))
    expected = heard_of(session_of(plan, settings, None), steps)
    killer = Killer(random, kills, 0.1)
    killer.install(monkeypatch)
    session = SpreadReasoner(plan, settings, Layout(workers=2, supervision=Supervision(restarts=10_000)))
    killer.session = session
    heard = heard_of(session, steps)
    assert heard.differences(expected) == {}
    assert not killer.left
    assert killer.done["before"] and killer.done["behind"]
    assert not session.left_out


class SlowSource(ReplayableSource):
    """Waits a moment before each fact."""

    async def receive(self) -> Batch | None:
        await anyio.sleep(0.002)
        return await super().receive()


def run_engine(folder: str, workers: str) -> None:
    """Run over a state, with a snapshot now and then and a commit for each few facts: what the process of a test does."""
    snapshots.MOST_REPLAYED, ledger.MOST_NEW, actors.MOST_TOLD, channels.CHANNEL_BOUND = 60, 3, 20, 0
    plan = tidelog.compile(PROGRAM)
    given = [fact for batch in stream(Random(7), 60) for fact in batch]
    with StateDirectory(f"{folder}/state") as store:
        sink = FileSink(f"{folder}/answers.jsonl", JsonEncoder(plan.schema))
        source = SlowSource(given)
        engine = Engine(plan, [source], [sink], state=store, commit_every=0, workers=int(workers), actors="islands")
        anyio.run(engine.run)


def lines_by_row(path: Path) -> dict[str, list[str]]:
    """The answers in a file about each row, in order."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        item = json.loads(line)
        when = {name: item.pop(name) for name in ("from", "to", "at", "time", "begin", "end") if name in item}
        found.setdefault(json.dumps(item, sort_keys=True), []).append(json.dumps(when, sort_keys=True))
    return found


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.long)])
def test_the_engine_is_killed_with_its_workers(kills: int, tmp_path: Path) -> None:
    """It goes on in one task, or with other numbers of workers, one of which is killed as well: the file holds all once."""
    random = Random(kills)
    folders = [tmp_path / "whole", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
    for number in range(kills):
        with engine_in(folders[1], random.choice((1, 2, 3)) if number else 2) as run:
            kill_engine(run, folders[1] / "answers.jsonl", random)
    for folder in folders:
        with engine_in(folder, 1 if folder == folders[0] else 2) as run:
            assert run.wait(WAIT) == 0
    killed, whole = (lines_by_row(folder / "answers.jsonl") for folder in folders[::-1])
    assert killed == whole


def engine_in(folder: Path, workers: int) -> AbstractContextManager[subprocess.Popen[Any]]:
    """A process that runs the engine over the state in a folder."""
    code = "import sys; from islands.test_kills import run_engine; run_engine(*sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return child([sys.executable, "-c", code, str(folder), str(workers)], env=environment)


def kill_engine(run: subprocess.Popen[Any], answers: Path, random: Random) -> None:
    """Kill it some time behind its first answers, and now and then a worker just before."""

    def size() -> int:
        return answers.stat().st_size if answers.exists() else 0

    before = size()
    eventually(lambda: run.poll() is not None or size() > before)
    time.sleep(random.random() * 0.1)
    for process in descendants(run.pid)[-1:] if random.random() < 0.5 else ():
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
        time.sleep(random.random() * 0.02)
    run.kill()


def descendants(process: int) -> list[int]:
    """The processes that it has started, and those that they have, the youngest last."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if parent_of(int(folder.name)) == process:
                found += [int(folder.name), *descendants(int(folder.name))]
    return found

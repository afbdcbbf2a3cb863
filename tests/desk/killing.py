"""Kills a desk at each of its calls that change a file or send something: `killing.py FOLDER MODE STRIDE [MUTANT]`.

Run under LD_PRELOAD of `tests/state/shim.c`. Each run is a fork of this process, which asks it over HTTP. It is killed at
its n-th call behind the first action, for n = 1, 1 + STRIDE …; the next run goes on, and people go on with what they had no
answer to and do not find in the history. What is wrong then is written as JSON, for each call. A mutant is a desk with a
mistake.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import anyio

import tidelog
from tidelog.connectors.http import HttpServer, HttpSettings, Watch
from tidelog.connectors.http.desk.history import History
from tidelog.connectors.sources.memory import MemorySink
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.connectors.transport.addresses import TcpAddress

MODES = ("before", "after", "torn", "io", "space")
KILLS = MODES[:3]
"""In the others a call fails."""
PROGRAM = """
timeline integer, unit 1 s.
input hot(room: text).
too_warm(R) :- hot(R).
alarm too_warm(room: text), priority high, acknowledge, shelve at most 8 h.
"""
FACTS = [("north", 10, 999), ("south", 12, 20), ("hall", 14, 999), ("x", 30, 30)]
LATER = [("cellar", 40, 999), ("x", 50, 50)]
SCRIPT = [
    ("north", "acknowledge", ""),
    ("north", "comment", ""),
    ("south", "acknowledge", ""),
    ("hall", "shelve", "2 h"),
    ("hall", "unshelve", ""),
    ("hall", "remove", ""),
    ("hall", "restore", ""),
    ("later", "", ""),
    ("cellar", "acknowledge", ""),
    ("hall", "shelve", "1 h"),
    ("cellar", "shelve", "30 min"),
    ("cellar", "unshelve", ""),
    ("north", "remove", ""),
    ("north", "comment", ""),
    ("north", "restore", ""),
    ("north", "acknowledge", ""),
]
"""With which room's alarm what is done, and for how long."""
MOST = 1000
"""How many calls a run makes at most."""
MOST_FAILING = 120
"""So many of them may fail: a run need not end by it."""

shim = ctypes.CDLL(None)
Told = list[dict[str, Any]]


def answered_before_it_is_written() -> None:
    """The history is written one commit late."""
    write, late = History.committing, list[int]()

    def committing(self: History, events: int) -> None:
        late.append(events)
        if len(late) % 2:
            write(self, events)

    History.committing = committing  # type: ignore[method-assign]


def nothing_is_cut_off() -> None:
    """What was written before a commit that did not come about stays."""
    go_on = History.going_on
    History.going_on = lambda self, run, events: go_on(self, run, events + MOST)  # type: ignore[method-assign]


MUTANTS: dict[str, Callable[[], None]] = {
    found.__name__: found for found in (answered_before_it_is_written, nothing_is_cut_off)
}


async def serve(folder: Path, at: int, mode: int, told: int) -> None:
    """A desk that runs until it is killed: it tells its port once it has its state."""
    plan = tidelog.compile(PROGRAM, desk=True)
    with StateDirectory(str(folder / "state")) as store:
        watch = Watch(plan, name="plant", history=folder / "state/alarms.jsonl")
        sources = [watch.ingest, watch.desk.actions]
        engine = tidelog.Engine(
            plan, sources, [MemorySink()], emit="changes", observer=watch, state=store, commit_every=0.001
        )
        watch.attach(engine, is_durable=True)
        settings = HttpSettings(TcpAddress("127.0.0.1", 0))
        async with HttpServer([watch], settings) as server, anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await engine.wait_started()
            while not watch.desk.actions.is_open:  # noqa: ASYNC110 - seen from outside
                await anyio.sleep(0.001)
            os.write(told, b"%d\n" % server.port)
            os.close(told)
            shim.shim_arm(ctypes.c_long(at), mode)


@contextmanager
def desk(folder: Path, at: int = 0, mode: int = 0) -> Iterator[HTTPConnection]:
    """A run, killed at its n-th call unless that is 0, and in the end in any case."""
    hear, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hear)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            anyio.run(serve, folder, at, mode, told, backend="trio")
        finally:
            os._exit(1)
    os.close(told)
    try:
        with os.fdopen(hear) as line:
            port = int(line.readline())
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        yield connection
        connection.close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def ask(connection: HTTPConnection, method: str, path: str, body: str = "") -> tuple[int, Any]:
    """An answer's status and object."""
    connection.request(method, path, body or None, {"content-type": "application/x-ndjson"} if body else {})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def post(connection: HTTPConnection, facts: list[tuple[str, int, int]]) -> int:
    """Facts, once they are stored."""
    lines = [json.dumps({"hot": {"room": room}, "interval": f"[{lo},{hi}]"}) for room, lo, hi in facts]
    return ask(connection, "POST", "/ingest?wait=commit", "\n".join(lines))[0]


def act(connection: HTTPConnection, number: int) -> int:
    """Do what the script says; returns the status."""
    room, action, length = SCRIPT[number]
    if not action:
        return post(connection, LATER)
    _, history = ask(connection, "GET", "/alarms/history")
    identity = next((entry["id"] for entry in history["entries"] if entry["args"] == [room]), None)
    if identity is None:  # the history has lost it
        return HTTPStatus.NOT_FOUND
    told = {"who": "anna", "comment": f"step {number}"} | ({"for": length} if length else {})
    return ask(connection, "POST", f"/alarms/{identity}/{action}", json.dumps(told))[0]


def go(connection: HTTPConnection, done: set[int]) -> tuple[set[int], bool]:
    """Do what is not done yet; returns what was answered, and whether that was all."""
    answered = set[int]()
    for number in range(len(SCRIPT)):
        if number in done:
            continue
        try:
            if act(connection, number) not in (200, 202):
                return answered, False
        except (OSError, HTTPException):
            return answered, False
        answered.add(number)
    return answered, True


def entries_of(connection: HTTPConnection) -> Counter[tuple[str, str, str]]:
    """What the history has: what happened, with which room, and when, or in which step somebody did it."""
    _, told = ask(connection, "GET", "/alarms/history")
    return Counter((each["what"], each["args"][0], each.get("comment", each["time"])) for each in told["entries"])


def standing(connection: HTTPConnection) -> list[tuple[str, str, list[str]]]:
    """How the open alarms stand: room, state, and what was said."""
    _, told = ask(connection, "GET", "/alarms")
    found = [(each["args"][0], each["state"], [said["comment"] for said in each["comments"]]) for each in told["alarms"]]
    return sorted(found)


def steps_of(entries: Counter[tuple[str, str, str]]) -> set[int]:
    """Which steps are in the history."""
    return {int(said.removeprefix("step ")) for _, _, said in entries if said.startswith("step ")}


def trouble(place: Path, first: Path, at: int, mode: str, golden: tuple[Any, Any]) -> str | None:
    """What is wrong with a desk that was killed at its n-th call; None where it was not killed."""
    shutil.copytree(first, place)
    with desk(place, at, MODES.index(mode)) as connection:
        answered, is_whole = go(connection, set())
    if is_whole and mode in KILLS:
        return None
    with desk(place) as connection:
        entries = entries_of(connection)
        steps = steps_of(entries)
        acted = {number for number in answered if SCRIPT[number][1]}
        if len(acted - steps) > (mode not in KILLS):  # what a failed write left out waits for the next one: see `History`
            return f"answered, and not there: {sorted(acted - steps)}"
        if steps - acted and mode in KILLS and len(steps - acted) > 1:
            return f"there, and never asked for: {sorted(steps - acted)}"
        if any(count > 1 for count in entries.values()):
            return f"twice: {entries}"
        _, is_whole = go(connection, steps | {number for number in answered if not SCRIPT[number][1]})
        if not is_whole:
            return "it does not go on"
        found = standing(connection), entries_of(connection)
    return "" if found == golden else f"{found} instead of {golden}"


def run() -> None:
    folder, mode, stride, *mutants = sys.argv[1:]
    place = Path(folder)
    with desk(place / "first") as connection:
        post(connection, FACTS)
    shutil.copytree(place / "first", place / "golden")
    with desk(place / "golden") as connection:
        go(connection, set())
    with desk(place / "golden") as connection:
        golden = standing(connection), entries_of(connection)
    for name in mutants:
        MUTANTS[name]()
    found = []
    for at in range(1, MOST if mode in KILLS else MOST_FAILING, int(stride)):
        told = trouble(place / str(at), place / "first", at, mode, golden)
        if told is None:
            break
        found.append(told)
        if mutants and told:  # the mistake shows
            break
    json.dump({"golden": [golden[0], sorted(golden[1])], "told": found}, sys.stdout)


if __name__ == "__main__":
    run()

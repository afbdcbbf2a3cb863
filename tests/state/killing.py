"""Kills a run at each of its calls that change a file or send something: `killing.py FOLDER SINK MODE STRIDE [MUTANT]`.

Run under LD_PRELOAD of `shim.c`. Each run is a fork of this process. It is killed at its n-th call, for n = 1, 1 + STRIDE …,
then run again until it comes to its end. Whether its sink then holds what an undisturbed run's holds is written as JSON. A
mutant is the run with a mistake, which has to show: it is killed until it does.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from tidelog.cli import main
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.connectors.sinks import giving_up
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.runtime.durable import ledger, pace, sink_feeds, snapshots
from tidelog.runtime.journal.manifest import SinkStanding

MODES = ("before", "after", "torn", "io", "space")
PROGRAM = """
timeline integer.
input temp(sensor: text, value: number).
hot(X) :- temp(X, V), V > 22.
alarm(X) :- boxminus[0,2] hot(X).
spread(X) :- alarm(X).
spread(X) :- diamondminus[1,3] spread(X), hot(X).
quiet(X) :- diamondminus[0,1] temp(X, _), not hot(X).
often(X) :- temp(X, V) in [#5], V > 27.
output alarm, spread, quiet, often.
"""
LINES = [
    "time,sensor,value",
    *(f"{time},{sensor},{15 + (time * 7 + ord(sensor) * 5) % 16}" for time in range(12) for sensor in "abc"),
]
PIECE = 60
"""How many bytes are read at once."""
UNDISTURBED = 99
"""The exit code of a run that made fewer calls, and came to its end."""
MOST = 2000
"""How many calls a run makes at most."""

shim = ctypes.CDLL(None)


def taken_before_the_sink() -> None:
    """The commit says that a sink has taken what it is only owed."""
    sink_feeds.OwedFeed.standing = lambda self, name: SinkStanding(name, self._owed.told)


def position_before_the_state() -> None:
    """The position of a source is stored one commit before what it brought."""
    write = ledger.Ledger._write
    late: list[object] = []

    def held_back(self, head, first, events, groups, parts):  # type: ignore[no-untyped-def]
        given, late[:] = [*late, *events], []
        if len(given) > 1:
            late.append(given.pop())
            head.events -= 1
        return write(self, head, first, given, groups, None)

    ledger.Ledger._write = held_back


def no_id() -> None:
    """Lines that are sent have no ids."""
    giving_up.encode_with_ids = lambda encoder, heading, answers: encoder.encode(answers)


MUTANTS: dict[str, Callable[[], None]] = {
    found.__name__: found for found in (taken_before_the_sink, position_before_the_state, no_id)
}


class FileEnd:
    """A file of answers."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers.jsonl"
        self.spec = str(self.path)

    def holds(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


class OutboxEnd:
    """An outbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "box"
        self.spec = f"spark+outbox:{self.folder}?node=n"

    def holds(self) -> list[str]:
        with OutboxReader(str(self.folder)) as reader:
            rows = reader.read(reader.first() - 1, 10**6)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        return [json.dumps(row[1:7]) for row in rows]


class SocketEnd:
    """A process that listens, and drops what it has by its id."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "received"
        self.path.touch()
        server = socket.create_server(("127.0.0.1", 0))
        self.spec = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        self.child = os.fork()
        if self.child == 0:
            self._receive(server)
        server.close()

    def _receive(self, server: socket.socket) -> None:
        while True:
            connection, _ = server.accept()
            data = b""
            try:
                while piece := connection.recv(1 << 16):
                    data += piece
            except ConnectionResetError:
                pass
            with self.path.open("ab") as file:
                file.write(data[: data.rfind(b"\n") + 1])  # a line without its end was cut off
            connection.close()

    def holds(self) -> list[str]:
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        found: dict[str, str] = {}
        for number, line in enumerate(self.path.read_text().splitlines()):
            answer = json.loads(line)
            found.setdefault(json.dumps(answer.pop("id", number)), json.dumps(answer))
        return list(found.values())


ENDS = {"file": FileEnd, "outbox": OutboxEnd, "socket": SocketEnd}


def attempt(folder: Path, spec: str, at: int, mode: int) -> int:
    """One run, killed at its n-th call unless that is 0; returns its status, as `wait` has it."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        options = [
            "--in",
            f"{folder.parent}/temp.csv?predicate=temp",
            "--state",
            f"{folder}/state",
            "--commit-every",
            "0.001",
        ]
        shim.shim_arm(ctypes.c_long(at), mode)
        status = main(["run", f"{folder.parent}/program.tide", *options, "--emit", "final", "--out", spec])
        os._exit(UNDISTURBED if not status and shim.shim_left() > 0 else status)
    return os.waitpid(child, 0)[1]


def outcome(folder: Path, sink: str, at: int, mode: str) -> tuple[list[str], bool]:
    """What the sink of a run holds that was killed at its n-th call, in the end; and whether it was killed at all."""
    folder.mkdir()
    end = ENDS[sink](folder)
    status = attempt(folder, end.spec, at, MODES.index(mode))
    was_disturbed = bool(at) and status != UNDISTURBED << 8
    if status and was_disturbed and attempt(folder, end.spec, 0, 0):
        return ["it does not go on"], True
    return sorted(end.holds()), was_disturbed


def run() -> None:
    shim.shim_left.restype = ctypes.c_long
    folder, sink, mode, stride, *mutants = sys.argv[1:]
    place = Path(folder)
    (place / "program.tide").write_text(PROGRAM)
    (place / "temp.csv").write_text("\n".join(["time,sensor,value", *LINES]))
    read = Descriptor.read
    Descriptor.read = lambda self, limit=PIECE: read(self, limit)  # type: ignore[method-assign]
    pace._PAUSE = 0
    ledger._LEAST_WAIT = 0.001
    snapshots.REPLAY_SECONDS = 0.01
    golden, _ = outcome(place / "golden", sink, 0, mode)
    for name in mutants:
        MUTANTS[name]()
    found = []
    for at in range(1, MOST, int(stride)):
        held, was_disturbed = outcome(place / str(at), sink, at, mode)
        if not was_disturbed:
            break
        found.append(held == golden)
        if mutants and held != golden:
            break  # it shows
    json.dump({"golden": len(golden), "same": found}, sys.stdout)


if __name__ == "__main__":
    run()

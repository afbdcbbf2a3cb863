"""Cuts what an outbox does off at each of its SQL statements: `python cutting.py FOLDER` writes what was left, as JSON.

Each attempt is a fork of this process, which ends when it comes to its n-th statement, for n = 1, 2, … until it comes
to its end. After each, the outbox is opened again, and what it then holds is noted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import tidelog
from tidelog.connectors.outbox.file import OutboxFile
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader

PLAN = tidelog.compile("timeline integer. alarm(X) :- hot(X).")


def cut(file: OutboxFile, at: int) -> None:
    """End this process when its n-th statement is about to begin."""
    count = 0

    def trace(_: str) -> None:
        nonlocal count
        count += 1
        if count == at:
            os._exit(9)

    file._connection.set_trace_callback(trace)


def commit(folder: str, at: int) -> None:
    """Forty more facts, and a checkpoint that says how many there are."""
    outbox = Outbox(folder, PLAN)
    cut(outbox._file, at)
    outbox.append([("alarm", (i,), i, i) for i in range(40)], 0)
    outbox.commit(b"%d" % (outbox._next + 39))


def acknowledge(folder: str, at: int) -> None:
    """Two facts fewer."""
    reader = OutboxReader(folder)
    cut(reader._file, at)
    reader.acknowledge(reader.first() + 1)


def begin(folder: str, at: int) -> None:
    """A new outbox: its first statements are those that make it."""
    connect = OutboxFile.__init__

    def watched(self: OutboxFile, *arguments: object, **options: object) -> None:
        configure = self._configure
        self._configure = lambda create: (cut(self, at), configure(create))[1]
        connect(self, *arguments, **options)

    OutboxFile.__init__ = watched
    Outbox(folder, PLAN, node="n")


def standing(folder: str) -> list[object]:
    """What the outbox holds: the numbers of its facts, what `meta` says of them, and the checkpoint."""
    with Outbox(folder, PLAN) as outbox, OutboxReader(folder) as reader:
        checkpoint = outbox.checkpoint()
        numbers = [row.seq for row in reader.read(reader.first() - 1)]
        return [numbers, reader.first(), reader.last(), checkpoint.decode() if checkpoint else "0", outbox.has_room()]


def every(step: Callable[[str, int], None], folder: str) -> list[list[object]]:
    """What is left after each attempt, up to the one that is not cut off."""
    left = []
    for at in range(1, 100):
        place = f"{folder}/{at}" if step is begin else folder
        child = os.fork()
        if child == 0:
            step(place, at)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        left.append(standing(place))
        if status == 0:
            return left
    raise SystemExit("it does not come to an end")


if __name__ == "__main__":
    folder = sys.argv[1]
    steps = {"begin": begin, "commit": commit, "acknowledge": acknowledge}
    json.dump({name: every(step, folder) for name, step in steps.items()}, sys.stdout)

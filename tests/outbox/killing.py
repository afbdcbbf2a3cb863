"""Kills a durable run again and again: `python killing.py SEED KILLS PROGRAM OUTBOX SOURCE…` writes what was read as JSON.

Each run is a fork of this process, so that none of the time goes into starting Python. It is killed at a random moment: most
often once it has got ahead, now and then before. Meanwhile the outbox is read and acknowledged. The last run is left to come
to its end. Files are read in small pieces, and committed as often as can be, so that there are many moments.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time

import anyio

from tidelog.cli import main
from tidelog.connectors.outbox.outbox import OutboxReader, OutboxRow
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.durable import ledger, pace, snapshots

LONGEST = 0.02
"""How many seconds a run lives at most, once it has got ahead, before it is killed."""


PIECE = 8192
"""How many bytes are read at once."""
MOST = 5
"""How many pieces a run reads at most that is to be killed: however slow the machine is, it does not come to its end."""


_read = Descriptor.read


def read_pieces(most: float) -> None:
    """Read small pieces from now on, and nothing more once they are so many."""
    left = most

    async def read(self: Descriptor, limit: int = PIECE) -> bytes:
        nonlocal left
        left -= 1
        if left < 0:
            await anyio.sleep_forever()
        return await _read(self, limit)

    Descriptor.read = read


def begin(arguments: list[str], most: float) -> int:
    """Run the command line in a process of its own, which reads up to so many pieces; returns its number."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        read_pieces(most)
        os._exit(main(arguments))
    return child


def collect(outbox: str, rows: list[OutboxRow], draw: random.Random) -> None:
    """Read what is new, and acknowledge it every other time."""
    try:
        reader = OutboxReader(outbox)
    except SpecError:  # it has not come so far
        return
    with reader:
        after = rows[-1].seq if rows else 0
        while found := reader.read(after, draw.randint(1, 5000)):
            rows += found
            after = found[-1].seq
        if draw.random() < 0.5:
            reader.acknowledge(after)


def watch(child: int, outbox: str, rows: list[OutboxRow], draw: random.Random) -> bool:
    """Read along for a while; whether the run has ended by itself in the meantime."""
    before = len(rows) if draw.random() < 0.8 else -1  # or be killed as early as may be
    until = time.monotonic() + 300
    while time.monotonic() < until:
        time.sleep(draw.random() * 0.005)  # looks, and with them the kill, come at drawn moments
        collect(outbox, rows, draw)
        ended, status = os.waitpid(child, os.WNOHANG)
        if status:
            raise SystemExit(f"a run ended by itself with {status}")
        if ended:
            return True
        if before < len(rows):
            before, until = sys.maxsize, time.monotonic() + draw.random() * LONGEST
    return False


def torment(kills: int, outbox: str, arguments: list[str], draw: random.Random) -> tuple[list[OutboxRow], list[int]]:
    """All that was read from the outbox of a run that was killed up to so many times, and how much it was each time."""
    rows: list[OutboxRow] = []
    killed: list[int] = []
    for _ in range(kills):
        child = begin(arguments, MOST)
        if watch(child, outbox, rows, draw):
            return rows, killed
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killed.append(len(rows))
    child = begin(arguments, math.inf)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"the last run ended with {status}")
    return rows, killed


if __name__ == "__main__":
    pace._PAUSE = 0
    ledger.EVERY = ledger._LEAST_WAIT = 0.002
    snapshots.REPLAY_SECONDS = 0.1
    seed, kills, program, outbox, *sources = sys.argv[1:]
    draw = random.Random(int(seed))
    inputs = [text for source in sources for text in ("--in", source)]
    arguments = ["run", program, *inputs, "--out", f"spark+outbox:{outbox}?every=0.002"]
    rows, killed = torment(int(kills), outbox, arguments, draw)
    collect(outbox, rows, draw)
    json.dump({"killed": killed, "rows": rows}, sys.stdout)

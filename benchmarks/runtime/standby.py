"""How long it takes until the gateway that stands by leads: the other one is killed, stopped, cut off, ended, or hands over.

Two processes with the settings of the tests (`tests/gateway/pairs.py`), and the default lease, while devices post without a
pause. What is measured is what a receiver sees: from the fault to the first alarm that the other gateway tells, at 50 points
(`POINTS=10` does fewer). Between them the two are cut off from each other, and both from the lease. Each alarm has to be
told, but for those of a leader that had gone alone before the fault: such faults are counted, and not measured. Run it
alone: `python -m benchmarks.runtime.standby`.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figures import Figure, show

MOST_SECONDS = 2.0
"""Within so many seconds after the fault the other gateway leads."""
POINTS = int(os.environ.get("POINTS", "50"))
_TESTS = Path(__file__).parents[2] / "tests"
_POST_WAIT = 0.2
"""A device that waits longer for a gateway that stands still would be what is measured."""
_Does = Callable[[Any, Any], None]
FAULTS: dict[str, tuple[_Does, _Does]] = {
    "killed": (lambda both, leader: leader.end(), lambda both, leader: leader.start()),
    "stopped": (lambda both, leader: _send(leader, signal.SIGSTOP), lambda both, leader: _send(leader, signal.SIGCONT)),
    "cut off from the lease": (
        lambda both, leader: (leader.folder / "lease").unlink(),
        lambda both, leader: (leader.folder / "lease").symlink_to(both.lease),
    ),
    "ended": (lambda both, leader: _send(leader, signal.SIGTERM), lambda both, leader: _restart(leader)),
    "told to hand over": (lambda both, leader: _tell(both.other(leader)), lambda both, leader: None),
}
"""Each with what mends it."""


def run() -> list[Figure]:
    """Seconds from a fault to the first alarm of the gateway that takes over, by the kind of the fault."""
    for folder in (_TESTS / "gateway", _TESTS):
        sys.path.insert(0, str(folder))
    from pairs import pair  # noqa: PLC0415 - of the tests, whose folders are not those of a package

    took: dict[str, list[float]] = {name: [] for name in FAULTS}
    chance = random.Random(int(os.environ.get("SEED", "1")))
    with tempfile.TemporaryDirectory() as folder, pair(Path(folder)) as both:
        both.post_wait = _POST_WAIT
        for member in both.members:
            member.start()
        with both.posting():
            for point in range(POINTS):
                _disturb(both, point)
                name = list(FAULTS)[point % len(FAULTS)]
                known = both.alone_count
                with both.fault(chance.uniform(0.2, 0.8)) as (leader, follower):
                    seconds = _take_over(both, leader, name)
                    FAULTS[name][1](both, leader)
                    both.wait_leads(follower)
                if both.alone_count == known:
                    took[name].append(seconds)
        both.check_all_told()
        told = both.receiver
        lost = both.risked & set(range(both.posted)) - set(told.numbers)
        print(
            f"{both.posted} alarms, {len(told.told) - len(set(told.told))} of them twice, under one id; none lost, but for"
        )
        print(f"{len(lost)} at {both.alone_count} faults of a leader that was alone")
    return [
        figure
        for name, times in took.items()
        if times
        for figure in (
            Figure("standby", f"{name}, median", median(times), "s"),
            Figure("standby", f"{name}, longest of {len(times)}", max(times), "s", MOST_SECONDS),
        )
    ]


def _disturb(both: Any, point: int) -> None:
    """Now and then something fails that lets nobody take over."""
    if point % len(FAULTS) == 0:
        both.cut(both.wait_together()[0])
        both.pull_from_both(both.wait_together()[0])


def _take_over(both: Any, leader: Any, name: str) -> float:
    """Let the leader fail, and wait for the first alarm of the other one; how many seconds that took."""
    epoch, began = max(both.receiver.epochs, default=0), time.monotonic()
    FAULTS[name][0](both, leader)
    try:
        return _first_told(both.receiver, epoch) - began
    except TimeoutError:
        print(f"{name}, epoch {epoch}, told {len(both.receiver.told)} of {both.posted}")
        print(*[f"{member.port} {member.standing}\n{member.log[-3000:]}" for member in both.members], sep="\n")
        raise


def _tell(member: Any) -> None:
    member.ask("/-/take-over", b"", 60.0)


def _send(member: Any, number: int) -> None:
    member.process.send_signal(number)


def _restart(member: Any) -> None:
    member.process.wait(60)
    member.start()


def _first_told(receiver: Any, epoch: int) -> float:
    """When the first alarm was told under a higher epoch."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        told = next((when for when, of in zip(receiver.when, receiver.epochs, strict=False) if of > epoch), None)
        if told is not None:
            return float(told)
        time.sleep(0.002)
    raise TimeoutError("the other gateway has told nothing for a minute")


if __name__ == "__main__":
    show(run)

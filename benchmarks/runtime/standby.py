"""How long it takes until the gateway that stands by leads: killed, stopped, cut off from the lease, or told to hand over.

Two processes with the settings of the tests (`tests/gateway/pairs.py`), and the default lease, while devices post without a
pause. What is measured is what a receiver sees: from the fault to the first alarm that the other gateway tells, at 50 points
(`POINTS=10` does fewer). Run it alone: `python -m benchmarks.runtime.standby`.
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


def run() -> list[Figure]:
    """Seconds from a fault to the first alarm of the gateway that takes over, by the kind of the fault."""
    for folder in (_TESTS / "gateway", _TESTS):
        sys.path.insert(0, str(folder))
    from pairs import pair  # noqa: PLC0415 - of the tests, whose folders are not those of a package

    faults: dict[str, tuple[Callable[[Any, Any], None], Callable[[Any, Any], None]]] = {
        "killed": (lambda both, leader: leader.end(), lambda both, leader: leader.start()),
        "stopped": (lambda both, leader: _send(leader, signal.SIGSTOP), lambda both, leader: _send(leader, signal.SIGCONT)),
        "cut off from the lease": (
            lambda both, leader: (leader.folder / "lease").unlink(),
            lambda both, leader: (leader.folder / "lease").symlink_to(both.lease),
        ),
        "told to hand over": (lambda both, leader: _tell(both.other(leader)), lambda both, leader: None),
    }
    took: dict[str, list[float]] = {name: [] for name in faults}
    chance = random.Random(int(os.environ.get("SEED", "1")))
    with tempfile.TemporaryDirectory() as folder, pair(Path(folder)) as both:
        for member in both.members:
            member.start()
        with both.posting():
            for point in range(POINTS):
                leader, follower = both.wait_together()
                time.sleep(chance.uniform(0.2, 0.8))
                name = list(faults)[point % len(faults)]
                epoch, began = max(both.receiver.epochs), time.monotonic()
                faults[name][0](both, leader)
                try:
                    took[name].append(_first_told(both.receiver, epoch) - began)
                except TimeoutError:
                    print(f"point {point}: {name}, epoch {epoch}, told {len(both.receiver.told)} of {both.posted}")
                    print(*[f"{member.port} {member.standing}\n{member.log[-3000:]}" for member in both.members], sep="\n")
                    raise
                faults[name][1](both, leader)
                both.wait_leads(follower)
        both.check_all_told()
        print(f"{both.posted} alarms, {len(both.receiver.told) - both.posted} of them twice, under one id; none lost")
    return [
        figure
        for name, times in took.items()
        if times
        for figure in (
            Figure("standby", f"{name}, median", median(times), "s"),
            Figure("standby", f"{name}, longest of {len(times)}", max(times), "s", MOST_SECONDS),
        )
    ]


def _tell(member: Any) -> None:
    member.ask("/-/take-over", b"", 60.0)


def _send(member: Any, number: int) -> None:
    member.process.send_signal(number)


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

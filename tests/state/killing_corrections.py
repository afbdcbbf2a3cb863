"""Kills a run that takes facts back, at its calls: `killing_corrections.py FOLDER MODE STRIDE`, as `killing.py` does.

What a run tells depends on which lines of its file it read at once, and so on where it was killed: something was told and
is taken back, or was never told. So what counts is what was told less what was taken back.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
from collections import Counter

import killing
from killing import FileEnd

from tidelog.cli import main

LINES = [f"temp({sensor},{15 + (time * 7 + ord(sensor) * 5) % 16})@{time}" for time in range(10) for sensor in "abc"]
OPTIONS = ("--emit", "changes", "--keep", "7d", "--corrections", "--commit-every", "0.001")


class SumEnd(FileEnd):
    """A file of answers, without those that were taken back."""

    def holds(self) -> list[str]:
        held: Counter[str] = Counter()
        for line in super().holds():
            is_back = ',"retracted":true' in line
            held[line.replace(',"retracted":true', "")] += -1 if is_back else 1
        return sorted(held.elements()) if min(held.values()) >= 0 else ["taken back, and never told"]


def attempt(folder: os.PathLike[str], spec: str, at: int, mode: int) -> int:
    """One run, killed at its n-th call unless that is 0; returns its status, as `wait` has it."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        place = os.path.dirname(folder)
        ends = ["--in", f"{place}/temps.txt", "--out", spec, "--state", f"{folder}/state"]
        killing.shim.shim_arm(ctypes.c_long(at), mode)
        status = main(["run", f"{place}/program.tide", *ends, *OPTIONS])
        os._exit(killing.UNDISTURBED if not status and killing.shim.shim_left() > 0 else status)
    return os.waitpid(child, 0)[1]


def main_with_retractions() -> None:
    folder, mode, stride = sys.argv[1:]
    lines, draw = list(LINES), random.Random(7)
    for _ in range(5):
        at = draw.randint(10, len(lines))
        lines.insert(at, "retract " + draw.choice([line for line in lines[:at] if "retract" not in line]))
    with open(f"{folder}/temps.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    killing.ENDS["file"] = SumEnd
    killing.attempt = attempt
    sys.argv[1:] = [folder, "file", mode, stride]
    killing.run()


if __name__ == "__main__":
    main_with_retractions()

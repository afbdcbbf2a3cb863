"""The CPU of this process and of all that it has started, apart: the JVM, and the workers of Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> tuple[float, float]:
    """Seconds of CPU so far of the JVM that this process has started, and of Python: the workers and this process."""
    jvm = python = 0.0
    for name, seconds in _family():
        if name == "java":
            jvm += seconds
        else:
            python += seconds
    return jvm, python


def _family() -> Iterator[tuple[str, float]]:
    """This process and its descendants: the name of each, and its seconds, with those of children that have ended."""
    found: dict[int, tuple[str, int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # it has just ended
                continue
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            found[int(folder.name)] = name, int(rest[1]), sum(map(int, rest[11:15])) / _TICK
    ours = {os.getpid()}
    while more := {pid for pid, (_, parent, _) in found.items() if parent in ours and pid not in ours}:
        ours |= more
    return ((found[pid][0], found[pid][2]) for pid in ours if pid in found)

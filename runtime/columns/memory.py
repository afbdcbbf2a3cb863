"""The bound on what a history takes of the memory: the rows that steps keep, facts that wait, the run's constants, what is
told and stays there, and what all steps say of one stretch.

The rows of columns are counted by their bytes, those of operators that run row by row by what such a row takes. What a
kernel needs while it computes is not seen: stretches are so short that there is room for it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import MemoryBoundError

SHARE = 4
"""One part in so many of the machine's memory may be taken, unless told otherwise."""
ROW = 600
"""So many bytes a row takes that an operator holds as Python objects, about."""
ANSWER = 300
"""So many bytes an answer takes until sinks have it, about."""
_PAIR = 100
"""So many bytes a kernel needs for a pair of rows that meet: their places on either side, twice, and their columns."""
_COPIES = 32
"""So often the memory has room for the facts of a stretch: steps say about as much as they get, and compute with copies."""
_LEAST = 1_000
"""A stretch has so many rows at least: of fewer, each step costs more than its rows."""
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_TEXTS = ("the history's different texts", "", "without columns of texts that differ in each row there are fewer")
_NARROWER = "rules with shorter windows keep less"
_FEWER = "rules that find fewer rows at once need less"


@dataclass(frozen=True, slots=True)
class Held:
    """So many bytes (`size`) are held by one holder, which `tell`s what it is, its place in the program or nothing, and what
    needs less."""

    size: int
    tell: Callable[[], tuple[str, str, str]]


def of_step(size: int, tell: Callable[[], tuple[str, str]]) -> Held:
    """What a step keeps from stretch to stretch."""
    return Held(size, lambda: (*tell(), _NARROWER))


class Memory:
    """Adds up what is held, stretch by stretch; MemoryBoundError where it is more than `most` bytes (None: no bound)."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._total = 0
        self._largest: Held | None = None

    def rows(self, schema: Schema, usual: int) -> int:
        """How many rows a stretch has: as many as are usual, or as there is room for."""
        if self.most is None:
            return usual
        widest = max((known.arity for known in schema.predicates.values() if known.accepts_input), default=0)
        return min(usual, max(_LEAST, self.most // (_COPIES * 8 * (widest + 2))))

    def count(self, held: Iterable[Held], pool: Pool) -> None:
        """Count all that is held now that a stretch is done, and let go what was said of it."""
        if self.most is None:
            return
        everything = [*held, Held(pool.size(), lambda: _TEXTS)]
        self._total, self._largest = sum(each.size for each in everything), max(everything, key=lambda each: each.size)
        self._check(self._largest)
        pool.room.rows = (self.most - self._total) // _PAIR

    def say(self, size: int, tell: Callable[[], tuple[str, str]]) -> None:
        """A step has said so many bytes of the stretch."""
        if self.most is not None:
            self._add(Held(size, lambda: (*tell(), _FEWER)))

    def no_room(self, rows: int, tell: Callable[[], tuple[str, str]]) -> MemoryBoundError:
        """The error for a step that was about to find so many pairs of rows that meet."""
        return MemoryBoundError(*tell(), rows * _PAIR, self.most or 0, _FEWER)

    def _add(self, held: Held) -> None:
        self._total += held.size
        if self._largest is None or held.size > self._largest.size:
            self._largest = held
        self._check(self._largest)

    def _check(self, largest: Held) -> None:
        if self.most is not None and self._total > self.most:
            holder, place, advice = largest.tell()
            raise MemoryBoundError(holder, place, largest.size, self.most, advice)


def usual_memory() -> int:
    """A quarter of the machine's memory, or of what the processes beside this one may take together (cgroups)."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else _memory_of_windows()
    for path in _GROUPS:
        with suppress(OSError, ValueError):  # there is no such file, or it says `max`
            most = min(most, int(Path(path).read_text()))
    return most // SHARE


def _memory_of_windows() -> int:
    """The bytes of memory of a machine with Windows (MEMORYSTATUSEX: its own length, and 4 bytes on, the whole)."""
    status = (ctypes.c_uint64 * 8)(64)
    if not getattr(ctypes, "windll").kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # noqa: B009 - only there
        raise OSError("Windows does not say how much memory there is")
    return status[1]

"""How far a command has come, on standard error, where a person is looking."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from tidelog.commands.outcome import count

if TYPE_CHECKING:
    from tidelog.runtime.batch.materialisation import Materialisation

INTERVAL = 1.0
"""The line is drawn anew once in so many seconds."""
_WIDTH = 60


class Progress:
    """One line, drawn anew about once a second: how far files have been read, then the rounds. Used with `with`.

    Nothing is drawn where standard error is no terminal.
    """

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()
        self._begin = time.monotonic()
        self._next = self._begin + INTERVAL
        self._is_drawn = False
        self._size = self._done = self._first = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()

    def expect(self, paths: Iterable[str]) -> None:
        """Take the size of the files that will be read; of what has none, such as a pipe, only the rows are told."""
        sizes = [_size(path) for path in paths]
        self._size = 0 if None in sizes else sum(size or 0 for size in sizes)

    def note(self, number: int) -> None:
        """So many more bytes have been read, compressed or not, which `rows` shows."""
        self._done += number

    def stand(self, done: int, size: int) -> None:
        """So many of all bytes have been read by now; what had been read before the first time is no work of this run."""
        if not self._size:
            self._first = done
        self._done, self._size = done, size

    def rows(self, number: int) -> None:
        """So many rows have been taken so far."""
        if not self._is_due():
            return
        passed = max(time.monotonic() - self._begin, 1e-9)
        told = f"{number:,} rows, {number / passed:,.0f} a second"
        if self._first < self._done <= self._size:
            left = passed * (self._size - self._done) / (self._done - self._first)
            told = f"{self._done / self._size:.0%}, {told}, {_left(left)} left"
        self._draw(told)

    def round(self, done: Materialisation) -> None:
        """A round of this materialisation begins."""
        if self._is_due():
            statistics = done.statistics()
            new = count(statistics.facts[-1], "new range") if statistics.facts else "reading done"
            self._draw(f"round {statistics.rounds + 1}: {new}")

    def wait(self) -> None:
        """Processes of their own are at work."""
        if self._is_due():
            self._draw(f"materialisation and automata: {time.monotonic() - self._begin:.0f} s")

    def clear(self) -> None:
        """Leave the line empty: something else will be said."""
        if self._is_drawn:
            self._draw("")
            self._is_drawn = False

    def _is_due(self) -> bool:
        if not self.is_shown or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + INTERVAL
        return True

    def _draw(self, text: str) -> None:
        self._is_drawn = True  # first: a signal may come while it is being written
        sys.stderr.write(f"\r{text:<{_WIDTH}}\r")  # what is said next, by whomever, stands in its place
        sys.stderr.flush()


def _left(seconds: float) -> str:
    """Time that is left, as people read it.

    >>> _left(7.2), _left(600), _left(10_000)
    ('7 s', '10 min', '2.8 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _size(path: str) -> int | None:
    """A regular file's size in bytes; None for anything else."""
    if not path:
        return None
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None

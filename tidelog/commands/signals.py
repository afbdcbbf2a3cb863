"""Signals that ask to stop what goes on elsewhere: they are noted, and whoever waits looks for them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noted_signals() -> Iterator[list[int]]:
    """The signals to stop that arrive meanwhile: what is being done is finished first.

    From then on nothing is said: where the signal goes to all processes, Spark's end before this one, and PySpark complains.
    """
    arrived: list[int] = []
    said = sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:

        def note(number: int, _: FrameType | None) -> None:
            arrived.append(number)
            sys.stderr = nowhere

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield arrived
        finally:
            sys.stderr = said
            for number, handler in before.items():
                signal.signal(number, handler)

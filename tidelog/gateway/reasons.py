"""Why answers hold, for sinks that tell people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.runtime.running.runner import Runner

MOST_LINES: Final = 40
MOST_TEXT: Final = 4_000
"""How long a reason may be: what is longer is cut, with a mark. Nobody reads more of it in a message."""
_MARK: Final = "[…]"


class Reasons:
    """Explains answers of a run by the facts that it remembers, one at a time, in a thread."""

    def __init__(self, engine: Runner, at: Callable[[int, int], str]) -> None:
        self._engine, self._at = engine, at
        self._threads: anyio.CapacityLimiter | None = None

    async def why(self, answer: Record) -> str:
        """Why it began to hold, as text; nothing where that does not follow from what is remembered, as after a restart."""
        predicate, row, lo, _ = answer
        if lo <= NEG:
            return ""
        self._threads = self._threads or anyio.CapacityLimiter(1)
        try:
            known = self._engine.known(self._at)
            found = await anyio.to_thread.run_sync(
                known.why, (predicate, row, lo, lo), limiter=self._threads, abandon_on_cancel=True
            )
            return shortened(found.text()) if found.holds else ""
        except TidelogError:
            return ""


def shortened(text: str) -> str:
    """A reason that is not too long for a message.

    >>> shortened("a") == "a", shortened("a\\n" * 50).count("\\n"), shortened("a\\n" * 50)[-3:]
    (True, 40, '[…]')
    """
    lines = text.split("\n")
    short = "\n".join(lines[:MOST_LINES])[:MOST_TEXT]
    return text if short == text else f"{short}\n{_MARK}"

"""Sinks that tell people why an answer holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import AnyAnswer

Explain = Callable[[Record], Awaitable[str]]
"""Says why an answer began to hold, as text; nothing where that is not known any more."""


class Explaining:
    """A sink that is told why answers hold, where its templates ask for it; nothing where nobody knows."""

    asks_why = False
    _explain: Explain | None = None

    def explain_by(self, explain: Explain) -> None:
        """Ask `explain` from now on."""
        self._explain = explain

    async def _reason(self, answer: AnyAnswer) -> str:
        if not self.asks_why or self._explain is None or not isinstance(answer, tuple):
            return ""
        return await self._explain(answer)

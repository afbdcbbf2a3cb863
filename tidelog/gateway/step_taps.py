"""What a step takes and sends, for those who listen in to it: a line of JSON for each fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.gateway.taps import Taps
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.network.graph import Hear

Listen = Callable[[str, Hear | None], None]
"""Lets somebody hear what a step of a running program takes and sends; with None, nobody any more."""


class StepTaps:
    """The steps of one program, to which others listen in by their names (`names`, by the steps' ids)."""

    def __init__(self, plan: Plan, taps: Taps, listen: Listen, times: TimeFormatter, *, taken: Sequence[str], prefix: str):
        """`taken` are names that lead elsewhere; there are several programs if there is a `prefix`."""
        self._taps, self._listen, self._times = taps, listen, times
        self.names = {step.id: f"{prefix}{step.id}" for step in plan.steps}
        self.names |= {step: f"step:{name}" for step, name in self.names.items() if name in taken}

    def start(self) -> None:
        """The program runs from now on."""
        for step, name in self.names.items():
            self._taps.switches[name] = partial(self._switch, step)
            if self._taps.is_tapped(name):
                self._switch(step, True)

    def stop(self) -> None:
        """It runs no more."""
        for name in self.names.values():
            self._taps.switches.pop(name, None)

    def _switch(self, step: str, is_tapped: bool) -> None:
        self._listen(step, partial(self._hear, self.names[step]) if is_tapped else None)

    def _hear(self, name: str, feeder: str, facts: Sequence[Fact]) -> None:
        self._taps.pass_on(name, facts, partial(self._lines, {"takes": feeder} if feeder else {"sends": name}))

    def _lines(self, way: dict[str, str], facts: Sequence[Fact]) -> bytes:
        return b"".join([msgspec.json.encode({**way, "args": row, **self._time(lo, hi)}) + b"\n" for row, lo, hi in facts])

    def _time(self, lo: int, hi: int) -> dict[str, str | int]:
        if hi in (OPEN, SHUT):
            begin = "-inf" if lo <= NEG else self._times.point(lo)
            return {"open" if hi == OPEN else "shut": _number(begin)}
        if self._times.is_point(lo, hi):
            return {"time": _number(self._times.point(lo))}
        return {"interval": self._times.range(lo, hi)}


def _number(text: str) -> str | int:
    """A time as JSON: a number, unless it is none."""
    return int(text) if text.removeprefix("-").isdigit() else text

"""What a step takes and sends, for those who listen in to it: a line of JSON for each fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from tidelog.connectors.formats.formatting import TimeFormatter, number_or_text
from tidelog.gateway.listening.taps import Taps
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
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
        self._taken, self._prefix = taken, prefix
        self.names = self._named(plan)

    def _named(self, plan: Plan) -> dict[str, str]:
        names = {step.id: f"{self._prefix}{step.id}" for step in plan.steps}
        return names | {step: f"step:{name}" for step, name in names.items() if name in self._taken}

    def start(self, plan: Plan) -> None:
        """The program runs from now on, by this plan: that of its state may have other steps."""
        self.names = self._named(plan)
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

    def _hear(self, name: str, feeder: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        passing = [_Passing(row, "", lo, hi) for row, lo, hi in facts]
        if notices is not None:
            ended = [_Passing(row, "shut", lo, lo) for row, lo, _ in notices.ended]
            held = [_Passing(row, "", lo, hi) for row, lo, hi in notices.ranges()]
            passing = [*ended, *held, *passing, *[_Passing(row, "open", lo, lo) for row, lo in notices.begun.items()]]
        self._taps.pass_on(name, passing, partial(self._lines, {"takes": feeder} if feeder else {"sends": name}))

    def _lines(self, way: dict[str, str], passing: Sequence[_Passing]) -> bytes:
        return b"".join([msgspec.json.encode({**way, "args": item.row, **self._time(item)}) + b"\n" for item in passing])

    def _time(self, item: _Passing) -> dict[str, str | int]:
        if item.notice:
            return {item.notice: number_or_text("-inf" if item.lo <= NEG else self._times.point(item.lo))}
        if self._times.is_point(item.lo, item.hi):
            return {"time": number_or_text(self._times.point(item.lo))}
        return {"interval": self._times.range(item.lo, item.hi)}


class _Passing(NamedTuple):
    """A fact, or a notice that a row begins or ceases to stand."""

    row: Row
    notice: str
    lo: int
    hi: int

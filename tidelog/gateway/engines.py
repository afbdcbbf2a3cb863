"""One program of a gateway while it runs: its engine, its ends, and who listens in on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from tidelog.connectors.dead_letters import DeadLetterWriter
from tidelog.connectors.formatting import TimeFormatter
from tidelog.connectors.messages import Message, write_recorded
from tidelog.gateway.building import Unit
from tidelog.gateway.settings import GatewaySettings
from tidelog.gateway.taps import Taps
from tidelog.runtime.engine import GRACE, Engine
from tidelog.runtime.supervision import RestartPolicy
from tidelog.runtime.violations import Violation

logger = logging.getLogger("tidelog")

PATIENCE = RestartPolicy(attempts=1_000_000_000, delay=0.5, longest=60.0)
"""A gateway tries for ever: what it is connected to may be away for days."""


class Running:
    """Runs one program until it is stopped, or its sources have ended."""

    def __init__(self, unit: Unit, settings: GatewaySettings, folder: Path, letters: DeadLetterWriter, taps: Taps) -> None:
        self.unit, self._settings, self._folder, self._taps = unit, settings, folder, taps
        self._times = TimeFormatter(unit.plan.timeline, settings.iso and unit.plan.timeline.unit is not None)
        self._ended = anyio.Event()
        for name, source in unit.sources.items():
            if hasattr(source, "on_messages"):
                source.on_messages = partial(self._pass_on, name)
        self.engine = self._make(letters)

    def _make(self, letters: DeadLetterWriter) -> Engine:
        program = self.unit.settings
        return Engine(
            self.unit.plan,
            list(self.unit.sources.values()),
            list(self.unit.sinks.values()),
            emit=program.emit,
            lateness=program.lateness,
            clock=program.clock,
            max_ahead=program.max_ahead,
            idle_after=program.idle_after,
            max_state=self._settings.limits.rows,
            dead_letters=letters,
            on_violation=self._violated,
            restarts=PATIENCE,
        )

    @property
    def tapped(self) -> list[str]:
        """What there is to listen to."""
        return [*self.unit.sources, *self.unit.sinks]

    @property
    def is_storing(self) -> bool:
        """Whether something is being stored, so that nobody should interrupt."""
        return self.engine.is_storing

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run; says that it has started once the engine is at work. Raises what the engine raises."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._started, task_status)
                await self.engine.run()
        finally:
            self._ended.set()

    async def _started(self, task_status: TaskStatus[None]) -> None:
        await anyio.lowlevel.checkpoint()
        task_status.started()

    def stop(self, grace: float) -> None:
        """Take nothing more, and tell what is in flight."""
        self.engine.stop(grace)

    async def end(self) -> None:
        """Stop, and wait until that is done."""
        self.stop(GRACE)
        await self._ended.wait()

    def show(self, show: Callable[[Any], None]) -> None:
        """Show what has been done."""
        show(self.engine)

    def _pass_on(self, name: str, messages: Sequence[Message]) -> None:
        self._taps.pass_on(name, lambda: b"".join(map(write_recorded, messages)))

    def _violated(self, violation: Violation) -> None:
        logger.warning("%s", violation.told(self._times.at(violation.lo, violation.hi)))

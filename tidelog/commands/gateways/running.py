"""The gateway while it runs: an engine for each program, and beside them signals, systemd, and those who listen in."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio

from tidelog.commands.outcome import BAD, DONE
from tidelog.commands.signals import GRACE, GentleStopping, gently_stopped
from tidelog.commands.streams.statistics import show_statistics
from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.sinks.dead_letters import DeadLetterWriter
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.gateway.backgrounds import fetch_all, keep_fresh
from tidelog.gateway.building import Unit, build, filled_with_changes, http_settings, make_unit
from tidelog.gateway.engines import Running
from tidelog.gateway.file.reading import read_settings
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.listening.taps import Taps, TapServer, tap_path
from tidelog.gateway.logs import letter_line, letter_logged, set_up
from tidelog.gateway.outboxes import open_outboxes
from tidelog.gateway.states import open_state
from tidelog.gateway.surroundings import check_surroundings
from tidelog.gateway.systemd import Notifier
from tidelog.plans.diagnostics.errors import SpecError, TidelogError
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.ports.collecting import collect_steadily
from tidelog.runtime.ports.interfaces import Rejected

if TYPE_CHECKING:
    from tidelog.gateway.listening.telemetry.sending import Telemetry

logger = logging.getLogger("tidelog")

NO_OUTBOXES: Mapping[str, Outbox] = MappingProxyType({})


def run(settings: GatewaySettings, file: Path) -> int:
    """Run the gateway until it is stopped; returns the exit code. Raises what a program or its ends raise for good."""
    notifier = Notifier()
    set_up(settings.log, under_systemd=notifier.is_heard)
    fetch_all(settings.background, file.parent)
    units = build(settings, file.parent)
    check_surroundings(settings, file.parent)
    collect_steadily()
    with gently_stopped() as stopping:
        kind = Gateway if settings.standby is None else _paired()
        gateway = kind(settings, file, units, stopping, notifier)
        try:
            return anyio.run(gateway.main, backend="trio")
        except BaseExceptionGroup as group:
            cause = first_cause(group)
        raise cause


def _paired() -> type[Gateway]:
    from tidelog.commands.gateways.paired import PairedGateway  # noqa: PLC0415 - it is made of this module's

    return PairedGateway


class Gateway:
    """All that runs of one file."""

    def __init__(
        self, settings: GatewaySettings, file: Path, units: list[Unit], stopping: GentleStopping, notifier: Notifier
    ) -> None:
        self._settings, self._file, self._stopping, self._notifier = settings, file, stopping, notifier
        self._units = units
        self._taps = Taps()
        self._running: dict[str, Running] = {}
        self._letters: DeadLetterWriter
        self._server: over_http.HttpServer | None = None
        self._watches: dict[str, Watch] = {}
        self._telemetry: Telemetry | None = None
        self._reloading = anyio.Lock()

    async def main(self) -> int:
        """Run everything until a signal asks to stop, or all sources have ended; returns the exit code."""
        self._stopping.is_storing = lambda: any(running.is_storing for running in self._running.values())
        async with AsyncExitStack() as stack:
            self._letters = await stack.enter_async_context(self._dead_letters())
            await self._listen_in(stack)
            await self._serve(stack)
            self._measure()
            async with anyio.create_task_group() as beside:
                if self._telemetry is not None:
                    beside.start_soon(self._telemetry.run)
                for work in (self._hear_stop, self._hear_others, self._ask_databases, self._notifier.keep_alive):
                    beside.start_soon(work)
                await self._run_programs()
                beside.cancel_scope.cancel()
        logger.info("stopped")
        if self._stopping.number is not None:
            return 128 + self._stopping.number
        return BAD if any(running.has_set_aside for running in self._running.values()) else DONE

    async def _run_programs(self) -> None:
        """Run all programs until they have ended."""
        async with anyio.create_task_group() as self._tasks:
            for unit in self._units:
                await self._start(unit)
            self._say_ready()
            await self._wait_ended()
            self._tasks.cancel_scope.cancel()

    def _dead_letters(self) -> DeadLetterWriter:
        path = self._settings.dead_letters
        return DeadLetterWriter(str(self._file.parent / path) if path else None, append=True, write=self._write_letter)

    def _write_letter(self, item: Rejected) -> str:
        if self._settings.dead_letters:
            return letter_line(item)
        as_json = self._settings.log.format == "json"
        return letter_logged(item, as_json=as_json, with_time=not self._notifier.is_heard)

    async def _listen_in(self, stack: AsyncExitStack) -> None:
        """Serve `--tap`, where that can be."""
        path, programs = tap_path(self._settings, self._file), self._settings.programs
        prefix = f"{programs[0].name}:" if len(programs) == 1 else ""
        try:
            await stack.enter_async_context(TapServer(path, self._taps, self._tapped, prefix))
        except (OSError, TidelogError) as error:
            logger.warning("nobody can listen in: `%s`: %s", path, getattr(error, "strerror", None) or error)

    async def _serve(self, stack: AsyncExitStack) -> None:
        """Serve the page, the metrics and the rest, if the file says where."""
        if self._settings.http is None:
            return
        settings = http_settings(self._settings.http, self._file.parent)
        self._server = over_http.HttpServer([], settings)
        self._server.actions["reload"] = self.reload
        await stack.enter_async_context(self._server)
        logger.info("serving %s", self._server.url)

    def _measure(self) -> None:
        """Tell a collector the figures, if the file says to which: those of `/metrics`, whether that is served or not."""
        if self._server is not None:
            self._watches = self._server.watches
        told = self._settings.telemetry
        if told is not None:
            from tidelog.connectors.http.metrics import Metrics  # noqa: PLC0415 - it loads what only those need who measure
            from tidelog.gateway.listening.telemetry.sending import Telemetry  # noqa: PLC0415 - likewise

            metrics = self._server.metrics if self._server is not None else Metrics(self._watches, lambda: 0, lambda: 0)
            self._telemetry = Telemetry(told, self._settings.name, self._file.parent, metrics.registry)

    def _watch(self, unit: Unit) -> Watch | None:
        """What is seen of a program, if anybody looks: what was seen of an earlier one of this name stays."""
        if self._server is None and self._telemetry is None:
            return None
        plan, name, iso = unit.plan, unit.settings.name, self._settings.iso
        if name in self._watches:
            self._watches[name].replace(plan, iso=iso)
        else:
            folder = self._state_of(unit)
            history = None if folder is None else folder / over_http.HISTORY
            self._watches[name] = Watch(plan, name=name, iso=iso, history=history)
        return self._watches[name]

    def _store(self, unit: Unit) -> StateDirectory | None:
        """Where a program's state is kept, opened."""
        path = self._state_of(unit)
        if path is None:
            return None
        return open_state(str(path), unit.plan, when_changed=self._settings.when_program_changes)

    def _state_of(self, unit: Unit) -> Path | None:
        """The directory of a program's state, if there is one."""
        return self._file.parent / self._settings.state / unit.settings.name if self._settings.state else None

    def _tapped(self) -> list[str]:
        """What there is to listen to."""
        return [name for running in self._running.values() for name in running.tapped]

    # --- programs --------------------------------------------------------------------------------------------------------

    async def _start(self, unit: Unit) -> None:
        for line in filled_with_changes(unit):
            logger.warning("%s", line)
        store = self._store(unit)
        try:
            outboxes = open_outboxes(unit.outboxes, unit.plan, holds_changes=unit.settings.emit == "changes")
        except BaseException:
            if store is not None:
                store.close()
            raise
        await self._run(self._make(unit, store, outboxes))
        self._show_outboxes()

    def _make(self, unit: Unit, store: StateDirectory | None, outboxes: Mapping[str, Outbox] = NO_OUTBOXES) -> Running:
        """What runs a program."""
        watch = self._watch(unit)
        tracing = None if self._telemetry is None else self._telemetry.tracing(unit.settings.name)
        return Running(
            unit, self._settings, self._letters, self._taps, watch=watch, store=store, outboxes=outboxes, tracing=tracing
        )

    async def _run(self, running: Running) -> None:
        self._running[running.unit.settings.name] = running
        await self._tasks.start(running.run)

    def _show_outboxes(self) -> None:
        """Serve the outboxes of what runs, by the names of their sinks."""
        if self._server is not None:
            self._server.outboxes.clear()
            for running in self._running.values():
                self._server.outboxes |= {name: spec.path for name, spec in running.unit.outboxes.items()}

    async def _wait_ended(self) -> None:
        """Until every program has ended, and none is being put into its place."""
        while True:
            for running in [*self._running.values()]:
                await running.wait_ended()
            async with self._reloading:
                if all(running.has_ended for running in self._running.values()):
                    return

    def _say_ready(self) -> None:
        names = ", ".join(self._running)
        logger.info("running %s from %s", names, self._file)
        self._notifier.ready(f"running {names}")

    async def reload(self) -> str:
        """Read the file and its programs again, and put what has changed into the place of what runs.

        Says what has changed. TidelogError or OSError where the file or a program is wrong: then all goes on as it was. The
        log has both.
        """
        async with self._reloading:
            try:
                return await self._replace(*self._read_again())
            except (TidelogError, OSError) as error:
                logger.error("%s is not taken, all goes on as it was: %s", self._file, error)
                raise

    def _read_again(self) -> tuple[GatewaySettings, list[Unit]]:
        self._notifier.reloading()
        try:
            settings = read_settings(self._file)
            units = build(settings, self._file.parent)
            check_surroundings(settings, self._file.parent)
        finally:
            self._notifier.ready("running")
        return settings, units

    async def _replace(self, settings: GatewaySettings, units: list[Unit]) -> str:
        set_up(settings.log, under_systemd=self._notifier.is_heard)
        before, self._settings = self._settings, settings
        wanted = {unit.settings.name: unit for unit in units}
        old = [name for name in self._running if name not in wanted]
        new = [name for name, unit in wanted.items() if not self._is_running(unit)]
        for name in old:
            await self._running.pop(name).end()
            self._watches.pop(name, None)
        self._show_outboxes()
        for name in new:
            await self._exchange(wanted[name], before)
        changed = sorted({*old, *new})
        told = f"changed {', '.join(changed)}" if changed else "nothing has changed"
        logger.info("reloaded %s: %s", self._file, told)
        return told

    async def _exchange(self, unit: Unit, before: GatewaySettings) -> None:
        """Put a program into the place of what runs under its name; where it cannot start, the old one goes on."""
        old = self._running.pop(unit.settings.name, None)
        if old is not None:
            await old.end()
        try:
            await self._start(unit)
        except (TidelogError, BaseExceptionGroup) as error:
            cause = first_cause(error) if isinstance(error, BaseExceptionGroup) else error
            if old is None or not isinstance(cause, TidelogError):
                raise
            self._settings = before
            await self._start(make_unit(old.unit.settings, old.unit.plan, before, self._file.parent))
            raise SpecError(str(cause)) from cause

    def _is_running(self, unit: Unit) -> bool:
        running = self._running.get(unit.settings.name)
        return running is not None and running.unit.origin == unit.origin

    async def _ask_databases(self) -> None:
        """Programs have the background that databases have."""
        await keep_fresh(lambda: self._settings.background, self._file.parent, self.reload)

    # --- signals ---------------------------------------------------------------------------------------------------------

    async def _hear_stop(self) -> None:
        """The first SIGINT or SIGTERM stops all cleanly."""
        await self._stopping.wait()
        self._notifier.stopping()
        for running in self._running.values():
            running.stop(GRACE)

    async def _hear_others(self) -> None:
        """SIGHUP reads the file again, SIGUSR1 says what has been done."""
        with anyio.open_signal_receiver(signal.SIGHUP, signal.SIGUSR1) as signals:
            async for number in signals:
                if number == signal.SIGUSR1:
                    for running in self._running.values():
                        running.show(show_statistics)
                    continue
                with suppress(TidelogError, OSError):  # it is in the log
                    await self.reload()

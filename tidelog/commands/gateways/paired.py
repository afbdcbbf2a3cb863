"""A gateway with another one beside it: it follows, or leads, by turns."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import anyio

from tidelog.commands.gateways.running import Gateway
from tidelog.commands.signals import GentleStopping
from tidelog.connectors.standby.leader import Leader
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.gateway.building import Unit, build
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.pair.following import Follower
from tidelog.gateway.pair.standby import Standby
from tidelog.gateway.systemd import Notifier
from tidelog.plans.diagnostics.errors import ConnectorError, FencedError, TidelogError
from tidelog.runtime.actors.causes import first_cause

logger = logging.getLogger("tidelog")

_TAKE_OVER_SECONDS = 30.0
"""How long whoever tells it to take over waits for that."""


class PairedGateway(Gateway):
    """All that runs of one file with `[standby]`."""

    def __init__(
        self, settings: GatewaySettings, file: Path, units: list[Unit], stopping: GentleStopping, notifier: Notifier
    ) -> None:
        super().__init__(settings, file, units, stopping, notifier)
        self._standby = Standby(settings, file.parent)
        self._following: anyio.CancelScope | None = None

    async def _serve(self, stack: AsyncExitStack) -> None:
        await super()._serve(stack)
        if self._server is not None:
            self._server.copying.partner, self._server.copying.report = self._standby.partner, self._standby.report
            self._server.actions["take-over"] = self._take_over
            self._server.actions["take-over-behind"] = partial(self._take_over, behind=True)

    async def _run_programs(self) -> None:
        """Follow until this gateway is to lead, lead until it may not any more, and so on, until a signal stops it."""
        self._standby.keeper.start()
        try:
            async with self._standby.leader() as leader:
                goes_on = True
                while goes_on and self._stopping.number is None:
                    if await self._follow(leader):
                        goes_on = await self._lead()
        finally:
            self._standby.keeper.stop()

    # --- following ------------------------------------------------------------------------------------------------------

    async def _follow(self, leader: Leader) -> bool:
        """Follow until this gateway may lead; returns whether it does, or has been stopped, or told another program."""
        followers = [self._follower(unit, leader) for unit in self._units]
        opened: list[Follower] = []
        leads = False
        try:
            for follower in followers:
                await follower.open()
                opened.append(follower)
                self._running[follower.name] = follower.running
            self._standby.follow(followers)
            self._say_follows()
            with anyio.CancelScope() as self._following:
                async with anyio.create_task_group() as tasks:
                    for follower in followers:
                        tasks.start_soon(follower.run)
                    await self._standby.wait_to_lead()
                    leads = True
                    tasks.cancel_scope.cancel()
        finally:
            self._following = None
            if not leads:
                self._running.clear()
                for follower in opened:
                    follower.running.discard()
        return leads

    def _follower(self, unit: Unit, leader: Leader) -> Follower:
        folder = self._state_of(unit)
        if folder is None:
            raise ConnectorError("a gateway without a state follows nobody")
        return Follower(
            unit.settings.name, folder, leader, partial(self._standby.open_state, folder), partial(self._make, unit)
        )

    def _say_follows(self) -> None:
        logger.info("following %s, ready to lead %s", self._standby.address, ", ".join(self._running))
        self._notifier.ready("following")

    # --- leading --------------------------------------------------------------------------------------------------------

    async def _lead(self) -> bool:
        """Lead until all has ended, or until this gateway may not any more: then it returns True."""
        standby = self._standby
        standby.lead()
        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(standby.watch)
                for follower in standby.followers:
                    await follower.make_ready()
                    await self._run(follower.running)
                self._say_ready()
                await self._wait_ended()
                self._tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            cause = first_cause(group)
            if not isinstance(cause, FencedError):
                raise
            logger.warning("this gateway leads no more, and follows: %s", cause)
        else:
            return False
        finally:
            for follower in standby.followers:
                if not follower.running.has_ended:
                    follower.running.discard()
            await standby.stop_leading()
        self._running.clear()
        self._units = build(self._settings, self._file.parent)
        return True

    def _store(self, unit: Unit) -> StateDirectory | None:
        """The state of a program that is put into the place of another one, while this gateway leads."""
        folder = self._state_of(unit)
        if folder is None:
            return None
        state = self._standby.open_state(folder)
        self._standby.partner.states[unit.settings.name] = state
        return state

    # --- what it is told ------------------------------------------------------------------------------------------------

    async def reload(self) -> str:
        """Read the file and its programs again, also while it follows."""
        if self._following is None:
            return await super().reload()
        async with self._reloading:
            try:
                self._settings, self._units = self._read_again()
            except (TidelogError, OSError) as error:
                logger.error("%s is not taken, all goes on as it was: %s", self._file, error)
                raise
            if self._following is not None:
                self._following.cancel()
        return "follows with the file as it is now"

    async def _hear_stop(self) -> None:
        await self._stopping.wait()
        if self._following is not None:
            self._following.cancel()
        await super()._hear_stop()

    async def _take_over(self, *, behind: bool = False) -> str:
        """Lead as soon as the other gateway has stopped."""
        self._standby.take_over(behind=behind)
        with anyio.move_on_after(_TAKE_OVER_SECONDS):
            await self._standby.wait_leads()
            return str(self._standby.report())
        raise ConnectorError(f"this gateway does not lead after {_TAKE_OVER_SECONDS:g} s: {self._standby.report()}")

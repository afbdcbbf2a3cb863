"""Alarms of a gateway's program for SCADA: a server beside the engine shows what is open, and takes what people do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from tidelog.connectors.field.opcua.server import AlarmServer
from tidelog.connectors.http.desk.acting import Refusal, act
from tidelog.connectors.http.settings import UserSettings
from tidelog.connectors.http.watching.state import moment_of
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.connectors.transport.loop import CallSoon, LoopThread, call_soon
from tidelog.plans.alarms.desk import alarm_id
from tidelog.plans.data.actions import Action
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import AnyAnswer

LOOK_SECONDS: Final = 0.2
"""How often it is seen whether alarms have changed."""
MOST_WAITING: Final = 64
"""How many actions wait for the engine."""
_Wanted = tuple[Action, "asyncio.Future[Refusal | None]"]


class AlarmSink:
    """Serves the open alarms of the program whose `Watch` it is given by `show_of`. It is told no answers: what is open the
    engine knows, also after a restart, so nothing waits for this sink.

    SpecError as for `AlarmServer`.
    """

    promise: Literal["best effort"] = "best effort"

    def __init__(
        self,
        name: str,
        address: str,
        users: Sequence[UserSettings],
        *,
        certificate: str = "",
        key: str = "",
        clients: str = "",
    ) -> None:
        self.name = name
        self._server = AlarmServer(address, users, self._act, certificate=certificate, key=key, clients=clients)
        self._link = Link()
        self._watch: Watch
        self._thread: LoopThread
        self._engine: CallSoon
        self._tasks: anyio.abc.TaskGroup
        self._wanted: MemoryObjectSendStream[_Wanted]

    def show_of(self, watch: Watch) -> None:
        """The alarms are those of this program."""
        self._watch = watch

    @property
    def is_connected(self) -> bool:
        """Whether it serves."""
        return self._link.is_up

    def link(self) -> LinkStatistics:
        """How it stands: requests are what people did, and errors what of that was refused."""
        return self._link.statistics()

    async def __aenter__(self) -> AlarmSink:
        self._engine, self._thread = call_soon(), LoopThread(f"opcua {self.name}")
        self._thread.start()
        try:
            await self._thread.run(self._server.__aenter__())
        except BaseException:
            await self._end()
            raise
        self._link.up()
        self._wanted, wanted = anyio.create_memory_object_stream[_Wanted](MOST_WAITING)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._show)
        self._tasks.start_soon(self._take, wanted)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._link.down()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        self._wanted.close()
        with anyio.CancelScope(shield=True):
            await self._thread.run(self._server.__aexit__())
            await self._end()

    async def _end(self) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._thread.stop)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Nothing is told to it."""

    async def _show(self) -> None:
        """Show the open alarms, whenever they have changed."""
        watch, shown = self._watch, ""
        while True:
            present = moment_of(watch)
            tag = watch.desk.tag(present)
            if tag != shown:
                shown = tag
                await self._thread.run(self._server.show([*watch.desk.open_alarms(present)]))
            await anyio.sleep(LOOK_SECONDS)

    # --- what people do -------------------------------------------------------------------------------------------------

    async def _act(self, action: Action) -> None:
        """In the server's thread: let the engine do it, and wait; DataError where it is not done."""
        done: asyncio.Future[Refusal | None] = asyncio.get_running_loop().create_future()
        self._engine(partial(self._offer, (action, done)))
        refusal = await done
        if refusal is not None:
            raise DataError(refusal.reason)

    def _offer(self, wanted: _Wanted) -> None:
        try:
            self._wanted.send_nowait(wanted)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._answer(wanted, Refusal(429, "too many actions wait; nothing was done; try again"))

    def _answer(self, wanted: _Wanted, refusal: Refusal | None) -> None:
        self._link.requests += 1
        self._link.errors += refusal is not None
        _, done = wanted
        self._thread.loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(refusal))

    async def _take(self, wanted: MemoryObjectReceiveStream[_Wanted]) -> None:
        async with wanted:
            async for each in wanted:
                action, watch = each[0], self._watch
                found = watch.desk.find(alarm_id(action.alarm, [*action.args]), moment_of(watch))
                refusal = Refusal(404, "no such alarm is open") if found is None else await act(watch, found, action)
                self._answer(each, refusal)

"""What people do with alarms, whatever way they take: it becomes a fact that the engine takes, and stores."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol, runtime_checkable

import anyio

from tidelog.connectors.http.watching.ingest import Posted, Ticket
from tidelog.connectors.http.watching.state import moment_of
from tidelog.connectors.http.watching.watch import Watch
from tidelog.plans.alarms.desk import Key
from tidelog.plans.data.actions import Action, action_record
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError

_SECONDS: Final = 60.0
"""How long an action waits to be taken, and stored."""
_REFUSED: Final = 409
_TRIES: Final = 5
"""How often an action is handed over that comes too late, as the stream went on meanwhile."""


class Refusal(NamedTuple):
    """Why something is not done: as a status of HTTP, and in words; `again` where it is worth trying soon."""

    status: int
    reason: str
    again: bool = False


@runtime_checkable
class ShowsAlarms(Protocol):
    """A sink that shows the open alarms of a program, and takes what people do with them."""

    def show_of(self, watch: Watch) -> None:
        """These are the alarms. Called before it is entered."""
        ...


async def act(watch: Watch, key: Key, action: Action) -> Refusal | None:
    """Do what somebody wants with the alarm of this key; returns once it is taken, and stored where the run is durable.

    Where it is not done, it returns why:
    400 for what cannot be, 409 for what the engine refuses, 429 and 503 where it is too busy, or does not run.
    """
    desk = watch.desk
    refusal: Refusal | None = None
    for _ in range(_TRIES):
        try:
            at = desk.next_time(key, action.name, moment_of(watch))
            record = action_record(desk.plan.schema, TimeReader(desk.plan.timeline), action, at)
        except DataError as error:
            return Refusal(400, error.reason)
        refusal = await _hand_over(watch, record)
        if refusal is None or refusal.status != _REFUSED:
            break
    return refusal


async def _hand_over(watch: Watch, record: Record) -> Refusal | None:
    """Let the engine take an action. What it refuses may have come too late: the stream went on meanwhile."""
    actions, ticket = watch.desk.actions, Ticket()
    if not actions.offer(Posted([record], watermark=NEG, ticket=ticket, count=1)):
        if not actions.is_open:
            return Refusal(503, "the program does not run", again=True)
        return Refusal(429, "too many actions wait; nothing was done; try again", again=True)
    with watch.awaited(ticket), anyio.move_on_after(_SECONDS) as waited:
        await ticket.taken.wait()
        if watch.is_durable and not ticket.refused:
            await ticket.stored.wait()
    if ticket.is_lost:
        return Refusal(503, "the program has ended before this was stored; do it again", again=True)
    if waited.cancelled_caught:
        return Refusal(503, "the engine is busy; look whether it was done")
    return Refusal(_REFUSED, ticket.refused[0].reason) if ticket.refused else None

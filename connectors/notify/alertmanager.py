"""A sink to Prometheus Alertmanager: alerts from when they begin, again and again while they hold, to their end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, Self

import anyio
import anyio.to_thread
import httpx
import msgspec

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.http.posting import Endpoint, Poster
from tidelog.connectors.http.webhook import AGENT, JSON
from tidelog.connectors.notify.alerts import Alert, AlertWriter, rfc3339
from tidelog.connectors.notify.holding import HoldingStore, Key
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.explaining import Explaining
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.links import LinkStatistics
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Schema
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.tree.declared.storms import COUNT
from tidelog.runtime.ports.durability import Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog")

AT_ONCE: Final = 500
"""How many alerts one request has at most."""
_LASTS: Final = 5
"""An alert that is not repeated counts as resolved after so many times the pause between repeats."""
_encode = msgspec.json.Encoder().encode
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Alert).decode


@dataclass(frozen=True, slots=True)
class Repeating:
    """How many seconds lie between two repeats of what holds, and the folder in which it is kept; None: in memory alone."""

    every: float = 60.0
    folder: str | None = None


class _Posted(NamedTuple):
    """An alert as it is posted, the answer that it tells, and the key under which it holds."""

    data: bytes
    answer: AnyAnswer | None
    key: Key | None


class AlertmanagerSink(Explaining, GivingUp):
    """Posts alerts to `/api/v2/alerts`. `send` returns once Alertmanager has them, or they are given up.

    Alertmanager forgets an alert that is not repeated: what holds is posted again and again (`repeating`), with an end that
    lies five times as far ahead, so that it resolves by itself where no gateway is there any more. What has ended is posted
    with its end. Alertmanager knows an alert by its labels, so what is posted twice is the same.

    Where it has a folder, what holds is kept there, so that a later run of the gateway repeats it and tells its end. What
    another run told to hold (`going_on`), and what is labelled otherwise now, is resolved. A list that Alertmanager refuses
    is halved, until those that it refuses are alone: they are dead letters, and the others are posted.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        schema: Schema,
        writer: AlertWriter,
        *,
        repeating: Repeating | None = None,
        choice: Choice | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name, self._writer = name, writer
        repeating = repeating or Repeating()
        self._repeat, self._folder = repeating.every, repeating.folder
        self.asks_why = writer.asks_why
        self._poster = Poster(name, endpoint, transport=transport)
        self._headers = {"user-agent": AGENT, **endpoint.headers, "content-type": JSON}
        self._lines_of: Encoder = JsonEncoder(schema)
        self._choice = Choice() if choice is None else choice
        self._run = ""
        self._holding: dict[Key, Alert] = {}
        self._changes: dict[Key, bytes | None] = {}
        self._store: HoldingStore | None = None
        self._stack: AsyncExitStack
        self._turn: anyio.Lock

    def going_on(self, run: str) -> None:
        """The answers that come are those of this run. To be called before the sink is entered."""
        self._run = run

    @property
    def is_connected(self) -> bool:
        """Whether Alertmanager has taken, or refused for good, what it was sent last."""
        return self._poster.is_connected

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._poster.link.statistics()

    @property
    def holding(self) -> int:
        """How many alerts hold."""
        return len(self._holding)

    async def __aenter__(self) -> Self:
        self._turn = anyio.Lock()
        async with AsyncExitStack() as stack:
            stale = await self._load(stack)
            await stack.enter_async_context(self._poster)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(self._keep_told, stale)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._stack.__aexit__(*exc)

    async def _load(self, stack: AsyncExitStack) -> dict[Key, Alert]:
        """Take what is stored; returns what is to be resolved, since nobody will tell its end."""
        if self._folder is None:
            return {}
        self._store = await anyio.to_thread.run_sync(HoldingStore, self._folder)
        stack.callback(self._store.close)
        stored = await anyio.to_thread.run_sync(self._store.load)
        found = {key: _unpack(data) for key, data in stored.found.items()}
        self._holding = {key: alert for key, alert in found.items() if stored.run == self._run and self._is_known(key)}
        stale = {key: alert for key, alert in found.items() if key not in self._holding}
        for (predicate, row, lo), alert in self._holding.items():
            now = self._writer.labels((predicate, row, lo, lo))
            if now != alert.labels:
                stale[predicate, row, lo] = alert
                self._hold((predicate, row, lo), msgspec.structs.replace(alert, labels=now))
        return stale

    def _is_known(self, key: Key) -> bool:
        predicate, row, lo = key
        try:
            self._writer.labels((predicate, row, lo, lo))
        except ENCODING_ERRORS:  # it is not told of any more
            return False
        return True

    # --- what is told ----------------------------------------------------------------------------------------------------

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Returns once Alertmanager has all of these, or has refused them for good."""
        async with self._turn:
            for begin in range(0, len(answers), AT_ONCE):
                posted = [found for given in answers[begin : begin + AT_ONCE] if (found := await self._take(given))]
                await self._write()
                await self._post(posted)
                await self._write()  # what was refused holds no more

    async def _take(self, given: AnyAnswer) -> _Posted | None:
        """Note an answer, and what is to be posted of it."""
        answer = self._choice(given)
        if isinstance(answer, HypotheticalAnswer):
            await self._give_up(answer, "an answer to a question does not hold from one time to another")
            return None
        if answer is None or answer[0] == COUNT:  # Alertmanager counts by itself, and knows an alert by its labels
            return None
        predicate, row, lo, hi = answer
        key: Key = (predicate, row, lo)
        ends = not isinstance(answer, ChangeRecord) or answer.has_ended is not isinstance(answer, RetractedChange)
        try:
            known = self._holding.get(key)
            alert = self._writer.alert(answer, await self._reason(answer)) if known is None else known
            end = (
                self._writer.moment(min(hi, lo) if isinstance(answer, RetractedChange) else hi)
                if ends
                else self._later(alert)
            )
            data = _data(alert, end)
        except ENCODING_ERRORS as error:
            await self._give_up(answer, unencodable(error))
            return None
        if not ends:
            self._hold(key, alert)
            return _Posted(data, answer, key)
        if known is not None:
            self._hold(key, None)
        return _Posted(data, answer, None)

    def _hold(self, key: Key, alert: Alert | None) -> None:
        if alert is None:
            self._holding.pop(key, None)
        else:
            self._holding[key] = alert
        if self._store is not None:
            self._changes[key] = None if alert is None else _pack(alert)

    async def _write(self) -> None:
        if self._store is not None and self._changes:
            changes, self._changes = self._changes, {}
            await anyio.to_thread.run_sync(self._store.write, self._run, changes)

    def _later(self, alert: Alert) -> str:
        """When an alert ends that is not repeated; behind its begin, also where that lies ahead of the machine's clock."""
        begin = datetime.fromisoformat(alert.starts_at)
        return rfc3339(max(datetime.now(UTC), begin) + timedelta(seconds=self._repeat * _LASTS))

    # --- what is repeated -------------------------------------------------------------------------------------------------

    async def _keep_told(self, stale: dict[Key, Alert]) -> None:
        """Resolve what is stale, and tell what holds, at once and then again and again."""
        async with self._turn:
            now = rfc3339(datetime.now(UTC))
            await self._post_all([_Posted(_data(alert, max(now, alert.starts_at)), None, None) for alert in stale.values()])
            for key in stale:
                if key not in self._holding and self._store is not None:
                    self._changes[key] = None
            await self._write()
        while True:
            async with self._turn:
                held = list(self._holding.items())
                await self._post_all([_Posted(_data(alert, self._later(alert)), None, key) for key, alert in held])
                await self._write()
            await anyio.sleep(self._repeat)

    async def _post_all(self, posted: Sequence[_Posted]) -> None:
        for begin in range(0, len(posted), AT_ONCE):
            await self._post(posted[begin : begin + AT_ONCE])

    async def _post(self, posted: Sequence[_Posted]) -> None:
        """Post these, in order; what is refused is given up, and the others are posted without it."""
        if not posted:
            return
        body = b"[%b]" % b",".join([item.data for item in posted])
        refused = await self._poster.deliver(body, lambda: self._headers)
        if refused is None:
            return
        if len(posted) > 1:
            half = len(posted) // 2
            await self._post(posted[:half])
            await self._post(posted[half:])
            return
        only = posted[0]
        if only.key is not None:
            self._hold(only.key, None)
        if only.answer is None:
            logger.warning("%s: an alert that was taken before is refused now: %s", self.name, refused)
        else:
            await self._give_up(only.answer, refused, self._lines_of)


def _data(alert: Alert, end: str) -> bytes:
    """An alert as JSON, with its end. Raises what an encoder raises for one that cannot be written."""
    return b'%b,"endsAt":"%b"}' % (_encode(alert)[:-1], end.encode())

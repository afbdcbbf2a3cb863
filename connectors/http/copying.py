"""`/standby`: what a gateway that leads has committed, for the one that follows it.

Whoever asks for what is behind a commit has all up to it: the next question is the receipt of the last answer. A question
whose answer was lost is asked again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import anyio
import anyio.to_thread
import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tidelog.connectors.http.requests.reading import read_body
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.streams import wait_for_end
from tidelog.connectors.standby.partner import Partner
from tidelog.connectors.standby.report import Report
from tidelog.connectors.standby.shared_state import SharedState
from tidelog.connectors.standby.wire import MAX_ASKED, MEDIA_TYPE, Reply, encode, read_ask
from tidelog.plans.diagnostics.errors import TidelogError

_CHUNK = 1 << 20
_GAUGES: dict[str, tuple[str, Callable[[Report], float]]] = {
    "leads": ("Whether this gateway leads", lambda report: float(report.role == "leads")),
    "epoch": ("The epoch of the lease under which a gateway leads", lambda report: report.epoch),
    "since_timestamp_seconds": ("Since when this gateway leads, or follows", lambda report: report.since),
    "alone": (
        "Whether no other gateway has all; of one that follows, whether it lacks something",
        lambda r: float(r.is_alone),
    ),
    "lag_commits": ("How many commits the gateway that follows lacks", lambda report: report.lag),
    "lag_seconds": ("For how long it has lacked some, or heard nothing", lambda report: report.lag_seconds),
}


class Copying:
    """Answers the other gateway, as long as this one leads: 409 where it does not, 410 where a whole copy is to be taken."""

    def __init__(self, settings: HttpSettings) -> None:
        self.partner: Partner | None = None
        self.report: Callable[[], Report] | None = None
        """Tells how the two gateways stand, where there are two."""
        self._settings = settings

    async def behind(self, request: Request) -> Response:
        """`POST /standby/NAME`: the commits behind a position; waits for one as long as is asked for."""
        try:
            body, _ = await read_body(request, MAX_ASKED, self._settings.body_seconds)
            ask = read_ask(body)
        except (msgspec.MsgspecError, ClientDisconnect) as error:
            return JSONResponse({"error": f"this is no question of a gateway that follows: {error}"}, 400)
        found = self._state(request)
        if isinstance(found, Response):
            return found
        partner, state = found
        entries = state.behind(ask.position)
        if entries is None:
            return JSONResponse({"error": "the log does not go on from there: take a copy"}, 410)
        partner.taken(ask.node, state, ask.position.commit)
        if not entries and ask.wait:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait_for_end, request.receive, tasks)
                await state.wait_for_news(ask.wait)
                tasks.cancel_scope.cancel()
            entries = state.behind(ask.position) or []
        if not state.is_leading:
            return _follows()
        return Response(encode(Reply(state.epoch, state.commits, entries)), media_type=MEDIA_TYPE)

    async def copy(self, request: Request) -> Response:
        """`POST /standby/NAME/copy`: the whole file of a state, as of its last commit."""
        found = self._state(request)
        if isinstance(found, Response):
            return found
        try:
            descriptor = await anyio.to_thread.run_sync(_copied, found[1])
        except (TidelogError, OSError) as error:
            return JSONResponse({"error": str(error)}, 500)
        size = os.fstat(descriptor).st_size
        return StreamingResponse(_pieces(descriptor), headers={"content-length": str(size)}, media_type=MEDIA_TYPE)

    def _state(self, request: Request) -> tuple[Partner, SharedState] | Response:
        if self.partner is None:
            return JSONResponse({"error": "this gateway has no `[standby]`"}, 404)
        name = request.path_params["name"]
        state = self.partner.states.get(name)
        if state is None or not state.is_leading:
            return _follows() if state is not None or not self.partner.states else _unknown(name, self.partner)
        return self.partner, state


class StandbyMetrics(Collector):
    """How two gateways stand, for `/metrics`; nothing where there is one."""

    def __init__(self, copying: Copying) -> None:
        self._copying = copying

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        if self._copying.report is None:
            return
        report = self._copying.report()
        for name, (meaning, read) in _GAUGES.items():
            yield GaugeMetricFamily(f"tidelog_standby_{name}", meaning, value=read(report))
        yield CounterMetricFamily(
            "tidelog_standby_went_alone", "How often this gateway went on without the other one", value=report.alone_count
        )


def _follows() -> Response:
    return JSONResponse({"error": "this gateway does not lead"}, 409)


def _unknown(name: str, partner: Partner) -> Response:
    return JSONResponse({"error": f"there is no program `{name}`", "programs": list(partner.states)}, 404)


def _copied(state: SharedState) -> int:
    """A copy of a state's file, which has no name any more."""
    folder = tempfile.mkdtemp(dir=state.name, prefix=".copy-")
    path = os.path.join(folder, "state.sqlite")
    try:
        state.copy_to(path)
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    finally:
        if os.path.exists(path):
            os.unlink(path)
        os.rmdir(folder)


async def _pieces(descriptor: int) -> AsyncIterator[bytes]:
    at = 0
    try:
        while data := await anyio.to_thread.run_sync(os.pread, descriptor, _CHUNK, at):
            yield data
            at += len(data)
    finally:
        os.close(descriptor)

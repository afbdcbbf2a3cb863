"""A server of points does not take an answer between good ones: that one is a dead letter, and the others arrive."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import httpx
import pytest
from poison import GOOD, UNENCODABLE, check_owed, check_poison, hot

import tidelog
from tidelog.connectors.databases.influx.encoder import PointEncoder
from tidelog.connectors.http.points import PointsSink, write_url
from tidelog.connectors.http.posting import Endpoint, Retries
from tidelog.plans.data.facts import Record

PLAN = tidelog.compile(
    "timeline integer, unit 1 s, round down. input temp(machine: text, celsius: number). hot(M, C) :- temp(M, C)."
)
BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
pytestmark = pytest.mark.anyio


def points(answer: Callable[[bytes], int], taken: list[str]) -> PointsSink:
    """A sink whose server answers with a status, and takes all points of a request or none."""

    def handle(request: httpx.Request) -> httpx.Response:
        body = gzip.decompress(request.content)
        status = answer(body)
        if status < 300:
            taken.extend(line for line in body.decode().splitlines() if "active=true" in line)
        return httpx.Response(status)

    retries = Retries(first=0.001, longest=0.01)
    url = write_url("https://points.example", bucket="b")
    encoder = PointEncoder(PLAN.schema, outputs=["hot"])
    return PointsSink("points", Endpoint(url, retries=retries), encoder, transport=httpx.MockTransport(handle))


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("poison", "status", "reason"),
    [
        (hot(f"poison{UNENCODABLE}"), 204, "cannot be encoded"),
        (hot("poison" + "x" * 70_000), 413, "status 413"),
        (hot("poison"), 422, "status 422"),
    ],
    ids=["not encodable", "too long", "refused for good"],
)
async def test_points_go_on_behind_what_the_server_does_not_take(poison: Record, status: int, reason: str) -> None:
    """The halves of a request that is refused are sent again, until it is known which point it is."""
    taken: list[str] = []
    await check_poison(points(lambda body: status if b"poison" in body else 204, taken), poison, lambda: taken, reason)


@BOTH_LOOPS
@pytest.mark.parametrize("status", [401, 404, 429, 503])
async def test_points_are_sent_again_where_the_server_does_not_take_them_now(status: int) -> None:
    """A bucket that is not there yet, and a server that is busy, cost no point."""
    taken: list[str] = []
    left = [3]

    def answer(body: bytes) -> int:
        left[0] -= b"poison" in body
        return status if b"poison" in body and left[0] >= 0 else 204

    await check_owed(points(answer, taken), [GOOD[0], hot("poison"), *GOOD[1:]], lambda: taken)

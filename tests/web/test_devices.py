"""Devices that post their own JSON: maps make facts of it, and what stands behind the path is the topic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio
import httpx
import pytest

import tidelog
from tidelog.connectors.http import Devices, HttpSettings, app
from tidelog.connectors.http.requests import guard
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.plans.diagnostics.errors import SpecError
from web.serving import PROGRAM, Serving, serving, until

PAGE, OWN = "the-token-of-the-page", "the-token-of-devices"
MAPS = [
    MapSettings("temp", topic="{machine}/state", fields={"celsius": "t.c"}),
    MapSettings("temp", topic="batch", each="readings", fields={"machine": "id", "celsius": "v"}),
]


def devices(path: str = "/plant", token: str | None = None, maps: Sequence[MapSettings] = MAPS) -> Devices:
    return Devices("floor", path, MapMapper("floor", tidelog.compile(PROGRAM).schema, maps), token=token, now=lambda: 5.0)


@asynccontextmanager
async def posted_to(*sources: Devices, **options: object) -> AsyncIterator[Serving]:
    """A run that these sources belong to."""
    async with serving(sources=sources, **options) as run:  # type: ignore[arg-type]  # as they come
        run.watch.devices = list(sources)
        await until(lambda: all(source.is_open for source in sources))
        yield run


async def post(run: Serving, path: str, body: str, token: str = "", **query: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return await run.client.post(path, content=body, headers=headers, params=query)


@pytest.mark.anyio
async def test_what_devices_post_becomes_facts() -> None:
    """A body is one message; of an array each element is a fact, and who posts is answered when they are taken."""
    source = devices()
    heard: list[Message] = []
    source.on_messages = heard.extend
    async with posted_to(source) as run:
        one = await post(run, "/plant/press/state", '{"t":{"c":90},"battery":3}')
        many = await post(run, "/plant/batch", '{"readings":[{"id":"a","v":95},{"id":"b","v":1}]}')
        assert [answer.status_code for answer in (one, many)] == [202, 202]
        assert one.json() == {"accepted": 1, "rejected": 0, "reached": "taken"}
        assert many.json()["accepted"] == 2
        await until(lambda: len(run.sink.answers) >= 2)
    assert run.sink.answers == [("hot", ("press",), 5, 5), ("hot", ("a",), 5, 5)]
    assert [message.topic for message in heard] == ["press/state", "batch"]


@pytest.mark.anyio
async def test_what_cannot_be_used_is_told_and_is_a_dead_letter() -> None:
    """400 with the reason; of ten readings in a body nine still count."""
    async with posted_to(devices()) as run:
        wrong = await post(run, "/plant/press/state", '{"t":{}}')
        assert (wrong.status_code, wrong.json()["accepted"], wrong.json()["rejected"]) == (400, 0, 1)
        assert wrong.json()["errors"][0]["reason"] == "field `celsius`: there is nothing, and no default"
        part = await post(run, "/plant/batch", '{"readings":[{"id":"a","v":95},{"id":"b"}]}')
        assert (part.status_code, part.json()["accepted"], part.json()["rejected"]) == (400, 1, 1)
        nothing = await post(run, "/plant/press/state", "no json")
        assert "the payload is no JSON" in nothing.json()["errors"][0]["reason"]
        assert (await post(run, "/plant/other", "{}")).json()["errors"][0]["reason"] == "no map takes messages of this topic"
        assert run.engine.rejected == 4
        assert {letter.place for _, _, _, letter in run.watch.letters} == {
            "floor:press/state",
            "floor:batch",
            "floor:other",
        }


@pytest.mark.anyio
async def test_addresses_that_nothing_takes() -> None:
    """404 beside a path, and for a path that only begins alike; the longest path of several takes a request."""
    inner = devices("/plant/inner", maps=[MapSettings("temp", topic="floor", fields={"machine": "m", "celsius": "c"})])
    async with posted_to(devices(), inner) as run:
        for path in ("/plants", "/plants/press/state", "/else", "/"):
            assert (await post(run, path, "{}")).status_code in (404, 405)
        assert (await post(run, "/plant/inner", '{"m":"a","c":90}')).json()["accepted"] == 1
        assert run.engine.statistics().intake.accepted == 1


@pytest.mark.anyio
async def test_a_source_has_a_token_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices tell it, and the page's token does not open it, nor theirs the page; without, the page's is asked for."""
    monkeypatch.setattr(app, "_PAUSE", 0.01)
    monkeypatch.setattr(guard, "_REFUSAL_PAUSE", 0.01)
    sources = devices("/own", OWN), devices("/plain")
    async with posted_to(*sources, settings=partial(HttpSettings, token=PAGE)) as run:
        body = '{"readings":[{"id":"a","v":95}]}'
        assert (await post(run, "/own/batch", body, OWN)).status_code == 202
        assert (await post(run, "/own/batch", body, PAGE)).status_code == 401
        assert (await post(run, "/own/batch", body)).status_code == 401
        assert (await post(run, "/plain/batch", body, PAGE)).status_code == 202
        assert (await post(run, "/plain/batch", body, OWN)).status_code == 401
        assert (await post(run, "/ingest", "{}", OWN)).status_code == 401
        assert run.engine.statistics().intake.accepted == 2


@pytest.mark.anyio
async def test_a_device_waits_for_the_commit() -> None:
    """Where a state is kept, the answer comes behind the commit; a device may ask for less."""
    async with posted_to(devices(), is_durable=True) as run:
        assert (await post(run, "/plant/press/state", '{"t":{"c":1}}', wait="taken")).json()["reached"] == "taken"
        answers: list[httpx.Response] = []

        async def wait() -> None:
            answers.append(await post(run, "/plant/press/state", '{"t":{"c":90}}'))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await until(lambda: len(run.watch._tickets) == 2)
            assert not answers
            run.watch.committing(0)
            run.watch.committed(0.0)
        assert answers[0].json() == {"accepted": 1, "rejected": 0, "reached": "commit"}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("plant", "no path of an address"),
        ("/plant/", "without a `/` at its end"),
        ("/a//b", "no path"),
        ("/a?b", "no path"),
        ("/", "no path"),
        ("/ingest", "the server's own"),
        ("/outbox/x", "the server's own"),
    ],
)
def test_a_path_that_cannot_be(path: str, message: str) -> None:
    """What is no path, or an address of the server's own."""
    with pytest.raises(SpecError, match=message):
        devices(path)

"""Points that clients of InfluxDB write: its addresses, its answers, its ways to tell a token."""

from __future__ import annotations

import base64
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import httpx
import pytest

import tidelog
from tidelog.connectors.databases.influx.points import Points
from tidelog.connectors.http import HttpSettings, Writes
from tidelog.connectors.http.requests import writing
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.settings import MapSettings, TimeSettings
from web.serving import PROGRAM, Serving, serving, until

pytestmark = pytest.mark.anyio
MAPS = [MapSettings("temp", topic="room/{machine}", time=TimeSettings(path="time", format="ns"))]
SECOND = 10**9
PAGE, SECRET = "the-token-of-the-page", "the-token-of-clients"


def writes(*, token: str | None = None, path: str = "", others: Literal["refuse", "ignore"] = "refuse") -> Writes:
    mapper = MapMapper("points", tidelog.compile(PROGRAM).schema, MAPS)
    points = Points("points", mapper, MAPS, others=others, now=lambda: 5.0)
    return Writes("points", path, points, token=token, max_line=1000)


@asynccontextmanager
async def written_to(source: Writes, **options: object) -> AsyncIterator[Serving]:
    """A run that this source belongs to."""
    async with serving(sources=[source], **options) as run:  # type: ignore[arg-type]  # as they come
        run.watch.devices = [source]
        await until(lambda: source.is_open)
        yield run


async def test_points_become_facts_by_both_interfaces() -> None:
    """204; times in the precision that is told, or of arrival; comments and empty lines count as lines, and are nothing."""
    source = writes()
    heard: list[Message] = []
    source.on_messages = heard.extend
    async with written_to(source) as run:
        old = await run.client.post(
            "/write?db=x&precision=s", content="# hi\n\nroom/a,site=n celsius=90 1\r\n room/b celsius=91i 2"
        )
        new = await run.client.post("/api/v2/write?bucket=b&org=o", content=f"room/c celsius=92 {3 * SECOND}\n")
        none = await run.client.post("/api/v2/write?bucket=b", content="\n# nothing\n")
        now = await run.client.post("/write?db=x", content="room/d celsius=93")
        assert [(answer.status_code, answer.text) for answer in (old, new, none, now)] == [(204, "")] * 4
        await until(lambda: len(run.sink.answers) >= 4)
    assert run.sink.answers == [("hot", (name,), at, at) for name, at in (("a", 1), ("b", 2), ("c", 3), ("d", 5))]
    assert heard[0] == Message("room/a", b'{"site":"n","celsius":90.0,"time":1000000000}', 5.0, place="points:3")


async def test_bad_lines_cost_nothing_else_and_are_told_as_influxdb_does() -> None:
    """A partial write; what is wrong stands in the answer, and as a dead letter, with its line."""
    body = 'room/a celsius=90 1\nroom/b celsius=\nroom/c celsius="x" 2\nother v=1\nroom/d celsius=95 3\n'
    async with written_to(writes()) as run:
        old = await run.client.post("/write?db=x&precision=s", content=body)
        assert (old.status_code, old.headers["x-influxdb-error"]) == (400, old.json()["error"].partition("\n")[0])
        lines = old.json()["error"].splitlines()
        assert lines[0] == "partial write: unable to parse 'room/b celsius=': field `celsius`: missing value"
        assert lines[2].endswith("other: no map takes messages of this topic dropped=3")
        assert [(one["line_number"], one["original_line"]) for one in old.json()["data"]] == [
            (2, "room/b celsius="),
            (3, 'room/c celsius="x" 2'),
            (4, "other v=1"),
        ]
        await until(lambda: len(run.sink.answers) >= 2)
        assert {letter.place for _, _, _, letter in run.watch.letters} == {"points:2", "points:3", "points:4"}
        new = (await run.client.post("/api/v2/write?precision=s", content="# c\nroom/b\nroom/a celsius=90 9")).json()
        assert (new["code"], new["line"]) == ("invalid", 2)
        assert new["message"] == "partial write: unable to parse 'room/b': missing fields dropped=1"
        none = await run.client.post("/write?db=x", content="nonsense")
        assert none.json()["error"] == "unable to parse 'nonsense': missing fields"
        late = await run.client.post("/write?db=x&precision=s", content="room/z celsius=90 1")
        assert late.status_code == 400 and "late" in late.json()["error"]
    assert [row[0] for _, row, _, _ in run.sink.answers] == ["a", "d", "a"]


async def test_what_no_map_takes_may_be_passed_over() -> None:
    """Where the file says so."""
    async with written_to(writes(others="ignore")) as run:
        assert (await run.client.post("/write", content="other v=1\nroom/a celsius=90")).status_code == 204
        await until(lambda: len(run.sink.answers) >= 1)
        assert (await run.client.post("/write", content="other v=")).status_code == 400


async def test_packed_bodies() -> None:
    """By gzip, up to the same length; anything else is refused, and nothing of it taken."""
    good = gzip.compress(b"room/a celsius=90")
    async with written_to(writes(), settings=lambda address: HttpSettings(address, max_body=1000)) as run:

        async def post(body: bytes, coding: str = "gzip") -> int:
            return (await run.client.post("/write", content=body, headers={"content-encoding": coding})).status_code

        assert await post(good) == 204
        assert await post(gzip.compress(b"#" * 1001)) == 413
        assert [await post(good[:-3]), await post(good + b"x"), await post(b"room/a celsius=1")] == [400] * 3
        assert await post(good, "br") == 415
        assert await post(b"room/b celsius=99", "identity") == 204
        wrong = await run.client.post("/api/v2/write?precision=min", content="room/a celsius=1")
        assert wrong.json() == {"code": "invalid", "message": "invalid precision `min`: expected one of ns, us, ms, s"}


async def test_a_token_in_any_way_of_influxdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Token`, `Bearer`, a password, or `p`; without it nothing is taken. The path may stand below another one."""
    monkeypatch.setattr(writing, "_PAUSE", 0)
    basic = base64.b64encode(f"anybody:{SECRET}".encode()).decode()
    async with written_to(writes(token=SECRET, path="/influx"), settings=lambda at: HttpSettings(at, token=PAGE)) as run:
        for headers, query, status in [
            ({"authorization": f"Token {SECRET}"}, "", 204),
            ({"authorization": f"Bearer {SECRET}"}, "", 204),
            ({"authorization": f"Basic {basic}"}, "", 204),
            ({}, f"?u=anybody&p={SECRET}", 204),
            ({"authorization": f"Token {PAGE}"}, "", 401),
            ({"authorization": "Basic %"}, "", 401),
            ({}, "", 401),
        ]:
            found = await run.client.post(f"/influx/write{query}", content="room/a celsius=1", headers=headers)
            assert found.status_code == status, (headers, query)
        assert (await run.client.post("/write", content="room/a celsius=1")).status_code == 401
        assert (await run.client.post("/influx/api/v2/write", content="")).json()["code"] == "unauthorized"


async def test_who_writes_is_answered_once_it_is_stored_or_told_to_come_again() -> None:
    """Where the program stores, after the commit; where the engine is away or busy, with 503 and 429."""
    source = writes()
    async with written_to(source, is_durable=True) as run:
        answers: list[int] = []

        async def write() -> None:
            answers.append((await run.client.post("/write", content="room/a celsius=90")).status_code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await until(lambda: len(run.watch._tickets) == 1)
            assert answers == []
            run.watch.committing(1)
            run.watch.committed(0.0)
        assert answers == [204]
        await source.__aexit__(None, None, None)
        away = await run.client.post("/api/v2/write", content="room/a celsius=90")
        assert (away.status_code, away.headers["retry-after"], away.json()["code"]) == (503, "1", "unavailable")


async def test_what_a_failed_engine_had_not_stored_is_written_again() -> None:
    """503 in place of 204: the engine that took the points has failed, and another one does not have them."""
    async with written_to(writes(), is_durable=True) as run:
        answers: list[httpx.Response] = []

        async def write() -> None:
            answers.append(await run.client.post("/api/v2/write", content="room/a celsius=90"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await until(lambda: len(run.watch._tickets) == 1)
            run.watch.failed()
    assert [(answer.status_code, answer.headers["retry-after"], answer.json()["code"]) for answer in answers] == [
        (503, "1", "unavailable")
    ]
    assert answers[0].json()["message"].startswith("the program has ended before the points were stored")

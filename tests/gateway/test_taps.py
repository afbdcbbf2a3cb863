"""Those who listen in to a gateway: they come and go, and the gateway goes on."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import msgspec
import pytest

import tidelog
from children import WAIT
from tidelog import Session
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.gateway.listening.step_taps import StepTaps
from tidelog.gateway.listening.taps import MAX_PIECE, MAX_WAITING, Taps, TapServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


def connect(path: Path, said: bytes) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(WAIT)
    client.connect(str(path))
    client.sendall(said)
    return client


def lines(items: Sequence[str]) -> bytes:
    return "".join(f"{item}\n" for item in items).encode()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so; the test's own bound ends it otherwise."""
    while not is_so():  # noqa: ASYNC110 - what is waited for is seen from outside
        await anyio.sleep(0.001)


async def test_a_client_that_goes_costs_nobody_else_anything(tmp_path: Path) -> None:
    """It goes before it has said a name, as one does that only sees whether somebody listens, or while it is told much."""
    path, taps = tmp_path / "tap", Taps()
    with anyio.fail_after(WAIT):
        async with TapServer(str(path), taps, lambda: ["floor"], "plant:"):
            connect(path, b"").close()
            connect(path, b"flo").close()
            leaving = connect(path, b"plant:floor\n")
            await until(lambda: taps.is_tapped("floor"))
            for _ in range(100):
                taps.pass_on("floor", ["x" * 10_000], lines)
            await anyio.sleep(0.01)
            leaving.close()
            await until(lambda: not taps.is_tapped("floor"))
            with connect(path, b"flor\n") as asking:
                answer = await anyio.to_thread.run_sync(asking.recv, 1000)
    assert msgspec.json.decode(answer) == {"error": "there is no `flor` to listen to; did you mean `floor`?"}


async def test_a_slow_client_misses_lines_and_is_told_how_many(tmp_path: Path) -> None:
    """What waits is bounded in bytes, and a batch in lines; the count of what is missed stands where it is missing."""
    taps = Taps()
    with taps.listener("floor") as tap:
        taps.pass_on("floor", [str(number) for number in range(MAX_PIECE + 5)], lines)
        taps.pass_on("floor", ["next"], lines)
        assert (await tap.next()).count(b"\n") == MAX_PIECE
        assert await tap.next() == b'{"missed":5}\n'
        assert await tap.next() == b"next\n"
        large = "x" * (MAX_WAITING // 4)
        for _ in range(10):
            taps.pass_on("floor", [large], lines)
        assert [len(await tap.next()) for _ in range(4)] == [len(large) + 1] * 4
        assert await tap.next() == b'{"missed":6}\n'
        with anyio.move_on_after(0.01):
            await tap.next()
            raise AssertionError("there is nothing more")
    taps.pass_on("floor", ["nobody"], lambda _: pytest.fail("nobody listens in"))


STEPS = """timeline integer, unit 1 s. input temp(room, celsius). input note(text). output calm, loud.
warm(R) :- temp(R, C), C > 5.
calm(R) :- warm(R), not boxminus[0,2] warm(R).
loud(X) :- note(X). loud(X) :- diamondminus[1,1] loud(X), note(X)."""


@pytest.mark.parametrize("is_eager", [False, True])
async def test_what_a_step_takes_and_sends_is_shown(tmp_path: Path, is_eager: bool) -> None:
    """From when somebody listens in until nobody does: facts with their times, also those that only time decides."""
    session, taps = Session(tidelog.compile(STEPS)), Taps()
    session._network.eager = is_eager
    steps = StepTaps(
        session.plan, taps, session.listen, TimeFormatter(session.plan.timeline, iso=True), taken=["loud"], prefix=""
    )
    steps.start(session.plan)
    session.push("temp", ["north", 9], time=0)
    with taps.listener("warm") as warm, taps.listener("calm") as calm, taps.listener("step:loud") as loud:
        session.push("temp", ["south", 9], time=1)
        session.push("temp", ["south", 1], time=2)
        session.push("note", ["x"], time=3)
        told = [[msgspec.json.decode(line) for line in (await tap.next()).splitlines()] for tap in (warm, warm)]
        assert told == [
            [{"takes": "temp", "args": ["south", 9], "time": "1970-01-01T00:00:01Z"}],
            [{"sends": "warm", "args": ["south"], "time": "1970-01-01T00:00:01Z"}],
        ]
        shown = b""
        while b'"sends":"calm"' not in shown:
            shown += await calm.next()
        assert b'"takes":"warm"' in shown
        assert b'"x"' in await loud.next()
    session.push("temp", ["south", 9], time=5)
    assert not taps.is_tapped("warm") and session._network.graph.hearing == {}
    plain = Session(session.plan)
    for fact in (("temp", ["north", 9], 0), ("temp", ["south", 9], 1), ("temp", ["south", 1], 2), ("note", ["x"], 3)):
        plain.push(fact[0], fact[1], time=fact[2])
    plain.push("temp", ["south", 9], time=5)
    session.finish(), plain.finish()
    assert sorted(map(str, session.pull())) == sorted(map(str, plain.pull()))
    steps.stop()
    assert not taps.switches

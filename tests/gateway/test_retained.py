"""What a broker retains while something holds: it is there as long as that holds, and never for ever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_brokers import NOT_AUTHORIZED, QUOTA_EXCEEDED, TAKEN, OddBroker, Published
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

import tidelog
from brokers import Broker, broker
from children import WAIT
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.retained.board import Board, TopicPresenter
from tidelog.connectors.brokers.mqtt.retained.sink import RetainingSink
from tidelog.connectors.brokers.mqtt.retained.store import Stored, decode_row
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.timeline import POS
from tidelog.runtime.ports.durability import Heading
from waiting import eventually

PLAN = tidelog.compile(
    """timeline integer, unit 1 s.
input set(machine: text, mode: text).
output mode(machine: text, mode: text).
mode(M, X) :- set(M, X)."""
)
KEEPING = ["persistence true"]
FORGETTING = ["listener {port} 127.0.0.1", "allow_anonymous true"]


def presenter(text: str = "mode/{machine}", told: Sequence[str] = ("mode",)) -> TopicPresenter:
    """Each machine has a topic, with its mode."""
    topic = TopicTemplate(text, PLAN.schema, iso=False, outputs=["mode"])
    return TopicPresenter(topic, Template(PLAN.schema, "{mode}", iso=False, outputs=["mode"]), told)


def began(machine: str, mode: str, lo: int) -> ChangeRecord:
    return ChangeRecord("mode", (machine, mode), lo, POS)


def ended(machine: str, mode: str, lo: int, hi: int) -> ChangeRecord:
    return ChangeRecord("mode", (machine, mode), lo, hi)


def after(board: Board, changes: Sequence[ChangeRecord], first: int = 1) -> dict[str, str]:
    """What a broker retains that has been told of all of these."""
    retained: dict[str, str] = {}
    for number, change in enumerate(changes, first):
        for topic, payload in board.take(change, number):
            retained[topic] = payload.decode()
    return {topic: payload for topic, payload in retained.items() if payload}


OLD, NEW, OVER = began("m", "auto", 0), began("m", "hand", 10), ended("m", "auto", 0, 9)


@pytest.mark.parametrize(
    ("changes", "retained"),
    [
        ([OLD], {"mode/m": "auto"}),
        ([OLD, OVER], {}),
        ([OLD, NEW, OVER], {"mode/m": "hand"}),
        ([OLD, OVER, NEW], {"mode/m": "hand"}),
        ([NEW, OLD], {"mode/m": "hand"}),
        ([NEW, OLD, ended("m", "hand", 10, 12)], {"mode/m": "auto"}),
        ([OLD, ended("m", "other", 0, 3)], {"mode/m": "auto"}),
        ([ended("m", "other", 0, 3)], {}),
        ([OLD, OVER, RetractedChange(*OVER)], {"mode/m": "auto"}),
        ([OLD, RetractedChange(*OLD)], {}),
        ([OLD, NEW, RetractedChange(*NEW)], {"mode/m": "auto"}),
        ([OLD, began("n", "auto", 3), OVER], {"mode/n": "auto"}),
        ([OLD, OLD], {"mode/m": "auto"}),
        ([OLD, OVER, OVER, OLD, OVER], {}),
        ([OLD, began("m", "auto", 20), OVER], {"mode/m": "auto"}),
    ],
)
def test_a_topic_has_what_began_last_of_what_holds(changes: list[ChangeRecord], retained: dict[str, str]) -> None:
    """Whichever order ends and begins come in, what holds in the end is there in the end, and nothing else."""
    assert after(Board(presenter(), Stored("", {}, []), "r"), changes) == retained


@st.composite
def histories(draw: st.DrawFn) -> list[ChangeRecord]:
    """Intervals of some modes of two machines, each with its begin and perhaps an end, in any order that keeps these two."""
    changes: list[tuple[int, ChangeRecord]] = []
    for machine in "mn":
        for mode in "abc":
            at = 0
            for _ in range(draw(st.integers(0, 2))):
                lo = at + draw(st.integers(1, 5))
                at = hi = lo + draw(st.integers(0, 5))
                place = draw(st.integers(0, 100))
                changes.append((place, began(machine, mode, lo)))
                if draw(st.booleans()):
                    changes.append((draw(st.integers(place, 100)), ended(machine, mode, lo, hi)))
                at += 1
    return [change for _, change in sorted(changes, key=lambda item: item[0])]


@given(histories(), st.data())
def test_any_order_and_any_restart_lead_to_what_holds(changes: list[ChangeRecord], data: st.DataObject) -> None:
    """Over a restart what was not taken comes again; in the end a machine shows the last of its open modes."""
    store = Stored("r", {}, [])
    board, retained = Board(presenter(), store, "r"), dict[str, bytes]()
    number = 0
    restarts = data.draw(st.lists(st.integers(0, len(changes)), max_size=2).map(sorted))
    while number < len(changes):
        retained.update(board.take(changes[number], number + 1))
        write(store, board)
        number += 1
        if restarts and number >= restarts[0]:
            number = max(0, number - data.draw(st.integers(0, 3)))
            restarts.pop(0)
            board = Board(presenter(), store, "r")
            for topic in board.stale():
                retained[topic] = b""
            for place in board.places:
                found = board.all_of(place)
                retained.update(() if found is None else found[1])
            board.published()
            write(store, board)
    holding = {change[:3]: i for i, change in enumerate(changes) if not change.has_ended}
    for change in changes:
        if change.has_ended:
            holding.pop(change[:3], None)
    best: dict[str, tuple[int, int, str]] = {}
    for (_, row, lo), told in holding.items():
        topic = f"mode/{row[0]}"
        best[topic] = max(best.get(topic, (-1, -1, "")), (lo, told, str(row[1])))
    assert {topic: payload.decode() for topic, payload in retained.items() if payload} == {
        topic: mode for topic, (_, _, mode) in best.items()
    }


@pytest.mark.parametrize(
    ("then", "run", "retained"),
    [
        (presenter(), "r", {"mode/m": "hand", "mode/n": "auto"}),
        (presenter("plant/{machine}/mode"), "r", {"plant/m/mode": "hand", "plant/n/mode": "auto"}),
        (presenter("mode/{mode}"), "r", {"mode/hand": "hand", "mode/auto": "auto"}),
        (presenter(told=["other"]), "r", {}),
        (presenter(), "another", {}),
    ],
    ids=["the same", "another topic", "other places", "told no more", "another run"],
)
def test_a_restart_takes_away_what_does_not_belong_there(then: TopicPresenter, run: str, retained: dict[str, str]) -> None:
    """Where another topic, another choice, or another run comes: what holds moves, and the rest goes; twice, as once."""
    store, at_broker = Stored("r", {}, []), dict[str, bytes]()
    board = Board(presenter(), store, "r")
    for number, change in enumerate([OLD, NEW, OVER, began("n", "auto", 3), began("q", "x", 1), ended("q", "x", 1, 2)], 1):
        at_broker.update(board.take(change, number))
    write(store, board)
    for _ in range(2):
        board = Board(then, store, run)
        at_broker.update(dict.fromkeys(board.stale(), b""))
        for place in board.places:
            found = board.all_of(place)
            at_broker.update(() if found is None else found[1])
        board.published()
        write(store, board)
        store.run = run
        assert {topic: payload.decode() for topic, payload in at_broker.items() if payload} == retained
    assert {place for place, _ in store.holding} == set(store.places) == set(retained)


def write(store: Stored, board: Board) -> None:
    """What the file would hold."""
    changes = board.take_changes()
    for name, place in changes.places.items():
        if place is None:
            store.places.pop(name, None)
        else:
            store.places[name] = place
    for key, row in changes.rows.items():
        store.holding[:] = [item for item in store.holding if item[1].key != key]
        if row is not None:
            store.holding.append(decode_row(row))


# --- with a broker ------------------------------------------------------------------------------------------------------


def sink_of(running: Broker | OddBroker, folder: Path, run: str = "r", **options: Any) -> RetainingSink:
    """A sink of modes."""
    client = MqttClient(BrokerSettings(url=running.url, retry_longest=0.2), "modes", ".")
    lines = Template(PLAN.schema, None, iso=False, outputs=["mode"]).lines
    sink = RetainingSink("modes", client, presenter(), lines, folder=str(folder / "retained"), **options)
    sink.going_on(run)
    return sink


class Telling:
    """Numbers what a sink is told."""

    def __init__(self, sink: RetainingSink, run: str = "r", first: int = 1) -> None:
        self._sink, self._run, self._next = sink, run, first

    async def __call__(self, *changes: ChangeRecord) -> None:
        self._sink.number(Heading(self._run, self._next, 0))
        self._next += len(changes)
        with anyio.fail_after(WAIT):
            await self._sink.send(changes)


class Looker:
    """Somebody who comes later, and looks what there is, and what comes then."""

    def __init__(self, port: int, topics: str = "#") -> None:
        self.retained: dict[str, bytes] = {}
        self.heard: list[tuple[str, bytes]] = []
        self._is_there = False
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._hear
        self._client.on_subscribe = self._subscribed
        self._client.connect("127.0.0.1", port)
        self._client.subscribe(topics, 1)
        self._client.loop_start()
        eventually(lambda: self._is_there)

    def _subscribed(self, *_: object) -> None:
        self._is_there = True

    def _hear(self, _client: Client, _data: object, message: Any) -> None:
        self.heard.append((message.topic, message.payload))
        if message.payload:
            self.retained[message.topic] = message.payload
        else:
            self.retained.pop(message.topic, None)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def looking(running: Broker, topics: str = "#") -> Iterator[Looker]:
    """Somebody who looks for the length of a `with` block."""
    looker = Looker(running.port, topics)
    try:
        yield looker
    finally:
        looker.close()


def retained_at(running: Broker, marker: str = "marker") -> dict[str, str]:
    """All that a broker retains: what comes before a message that is published afterwards."""
    with looking(running) as looker:
        looker._client.publish(marker, b"!", 1)
        eventually(lambda: (marker, b"!") in looker.heard)
        return {topic: payload.decode() for topic, payload in looker.retained.items() if topic != marker}


async def seen(running: Broker) -> dict[str, str]:
    return await anyio.to_thread.run_sync(retained_at, running)


async def test_what_has_ended_is_taken_away(tmp_path: Path, anyio_backend: str) -> None:
    """Who comes later sees what holds, and nothing once it has ended; over a restart as well, with another run, and with
    another topic."""
    with broker(tmp_path / "broker") as running:
        async with sink_of(running, tmp_path) as sink:
            tell = Telling(sink)
            await tell(OLD, began("n", "auto", 3))
            assert await seen(running) == {"mode/m": "auto", "mode/n": "auto"}
            await tell(OVER, NEW)
            assert await seen(running) == {"mode/m": "hand", "mode/n": "auto"}
        async with sink_of(running, tmp_path) as sink:
            tell = Telling(sink, first=5)
            await tell(ended("n", "auto", 3, 20))
            assert await seen(running) == {"mode/m": "hand"}
        async with sink_of(running, tmp_path, "another"):
            await until_retained(running, {})


@pytest.mark.parametrize("reason", [QUOTA_EXCEEDED, NOT_AUTHORIZED])
async def test_an_end_never_overtakes_its_begin(tmp_path: Path, reason: int, anyio_backend: str) -> None:
    """A broker that refuses a begin, for now or for good, is told the end behind it, and nothing after that."""
    left = [2]

    def answer(message: Published) -> int:
        if message.topic != b"mode/m" or not message.payload or not left[0]:
            return TAKEN
        left[0] -= 1
        return reason

    with OddBroker(answer=answer) as running:
        async with sink_of(running, tmp_path) as sink:
            await Telling(sink)(OLD, OVER, began("n", "auto", 3))
        sent = [(message.topic, message.payload) for message in running.taken]
    begun = [(b"mode/m", b"auto")] if reason == QUOTA_EXCEEDED else []
    assert [message for message in sent if message[0] == b"mode/m"] == [*begun, (b"mode/m", b"")]
    assert (b"mode/n", b"auto") in sent


async def until_retained(running: Broker, expected: dict[str, str]) -> None:
    """Until the broker retains this."""
    with anyio.fail_after(WAIT):
        while await seen(running) != expected:  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.05)


@pytest.mark.slow
async def test_a_broker_that_lost_all_is_told_anew(tmp_path: Path, anyio_backend: str) -> None:
    """Without a store a broker forgets sessions and what it retains; one that keeps them is not told again."""
    with broker(tmp_path / "broker", *FORGETTING, keeps=False) as running:
        async with sink_of(running, tmp_path) as sink:
            tell = Telling(sink)
            await tell(OLD, began("n", "auto", 3))
            running.kill()
            running.start()
            await until_retained(running, {"mode/m": "auto", "mode/n": "auto"})
            await tell(OVER)
            assert await seen(running) == {"mode/n": "auto"}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


pytestmark = pytest.mark.anyio

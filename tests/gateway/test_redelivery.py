"""What a broker sends once more, and how it is known again."""

from __future__ import annotations

import anyio
import msgspec
import pytest

import tidelog
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.packets import Incoming
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.brokers.mqtt.source import MAX_BATCH, MqttSource
from tidelog.connectors.brokers.mqtt.taken import MOST_TAKEN, Taken
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.runtime.ports.interfaces import Batch

FORGET_AFTER = 50.0


def digest(number: int) -> bytes:
    return b"%08d" % number


def took(taken: Taken, numbers: range) -> None:
    """These come, and are handed over."""
    for number in numbers:
        taken.add(number % 0x10000, digest(number))
        taken.hand_over(number % 0x10000)


def known_later(taken: Taken, numbers: range, now: float = 0.0) -> list[int]:
    """What a later run knows again."""
    later = Taken(FORGET_AFTER)
    later.load(taken.dump(now), now)
    return [number for number in numbers if later.has(number, digest(number), now)]


def test_what_is_known_again_is_of_late_and_the_same() -> None:
    """A number that another message had is not known again, nor one from long ago."""
    taken = Taken(FORGET_AFTER)
    took(taken, range(1, 101))
    for number in range(1, 101):
        taken.acknowledge_next(number, float(number))
    assert all(taken.has(number, digest(number), 50.0) for number in range(1, 101))
    assert not taken.has(7, b"another!", 50.0)
    assert [number for number in range(1, 101) if taken.has(number, digest(number), 101.0)] == list(range(51, 101))
    took(taken, range(101, 101 + MOST_TAKEN))
    assert not taken.has(100, digest(100), 101.0)


def test_what_waits_for_the_engine_comes_again_in_a_later_run() -> None:
    """A position has what was handed over, and not what has only arrived: that is in no commit yet."""
    taken = Taken(FORGET_AFTER)
    took(taken, range(1, 4))
    for number in range(4, 7):
        taken.add(number, digest(number))
    assert known_later(taken, range(1, 7)) == [1, 2, 3]


def test_what_has_surely_been_acknowledged_is_stored_no_more() -> None:
    """A broker's answer covers what was acknowledged before it was asked, and nothing else."""
    taken = Taken(FORGET_AFTER)
    took(taken, range(1, 7))
    for number in (1, 2, 3):
        taken.acknowledge_next(number, 0.0)
    assert taken.has_unsure
    taken.ask()
    assert not taken.has_unsure
    taken.acknowledge_next(4, 0.0)
    assert known_later(taken, range(1, 7)) == [1, 2, 3, 4, 5, 6]
    taken.confirm()
    assert known_later(taken, range(1, 7)) == [4, 5, 6]
    assert taken.has(1, digest(1), 0.0)


def test_what_a_lost_connection_leaves_open_is_stored_until_it_has_come_again() -> None:
    """Nobody knows which acknowledgements have arrived on it; an answer on the next connection does not tell."""
    taken = Taken(FORGET_AFTER)
    took(taken, range(1, 5))
    for number in (1, 2):
        taken.acknowledge_next(number, 0.0)
    taken.ask()
    taken.lose(10.0)
    taken.acknowledge_next(3, 20.0)
    taken.ask()
    taken.confirm()
    assert known_later(taken, range(1, 5), 20.0) == [1, 2, 4]
    assert known_later(taken, range(1, 5), 10.0 + FORGET_AFTER + 1) == [4]


def test_what_is_kept_of_messages_does_not_grow() -> None:
    """However many come without an acknowledgement, or are acknowledged without an answer."""
    taken = Taken(FORGET_AFTER)
    took(taken, range(3 * MOST_TAKEN))
    assert len(taken.dump(0.0)) == 10 * MOST_TAKEN
    for number in range(3 * MOST_TAKEN):
        taken.acknowledge_next(number % 0x10000, 0.0)
    for _ in range(3):
        taken.lose(1.0)
        assert len(taken.dump(1.0)) == 10 * MOST_TAKEN


def source() -> MqttSource:
    schema = tidelog.compile("timeline integer, unit 1 s, round down. input temp(n: integer). p(N) :- temp(N).").schema
    client = MqttClient(BrokerSettings(url="mqtt://localhost"), "gateway", ".")
    return MqttSource("floor", client, MapMapper("floor", schema, [MapSettings("temp")]), ["#"], now=lambda: 0.0)


def message(number: int, *, is_repeated: bool) -> Incoming:
    return Incoming(b"plant", msgspec.json.encode({"n": number}), 1, number, is_repeated)


@pytest.mark.anyio
async def test_more_messages_than_a_batch_has_survive_a_kill() -> None:
    """The position of a batch lets those be taken that the broker has sent behind it, once it sends them again."""
    first, later = source(), source()
    for number in range(1, 2 * MAX_BATCH):
        first._on_message(message(number, is_repeated=False))
    batch = await first.receive()
    assert batch is not None and batch.position is not None
    later.resume(batch.position)
    for number in range(1, 2 * MAX_BATCH):
        later._on_message(message(number, is_repeated=True))
    again = await later.receive()
    assert again is not None
    assert [row[0] for _, row, _, _ in again.records] == list(range(MAX_BATCH + 1, 2 * MAX_BATCH))


@pytest.mark.anyio
async def test_what_is_read_is_passed_on_in_that_turn() -> None:
    """While `receive` waits: what is not taken then is received, before what comes behind it, and nothing twice."""
    found, taken, received = source(), list[int](), list[int]()
    takes = True

    def take(batch: Batch) -> Batch | None:
        if takes:
            taken.extend(numbers(batch))
        return None if takes else batch

    async def receive() -> None:
        while True:
            received.extend(numbers(await found.receive()))

    def read(*given: int) -> None:
        for number in given:
            found._on_message(message(number, is_repeated=False))
        found._on_read()

    found.pass_at_once(take)
    read(1)
    assert not taken
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        await anyio.wait_all_tasks_blocked()
        assert received == [1]
        read(2, 3)
        assert taken == [2, 3]
        takes = False
        read(4)
        takes = True
        read(5)
        assert taken == [2, 3]
        await anyio.wait_all_tasks_blocked()
        read(6)
        tasks.cancel_scope.cancel()
    assert (taken, received) == ([2, 3, 6], [1, 4, 5])


def numbers(batch: Batch | None) -> list[int]:
    """What a batch has told."""
    assert batch is not None
    return [int(row[0]) for _, row, _, _ in batch.records]


def test_a_position_does_not_grow_with_each_restart() -> None:
    """Runs that end soon, one after the other, store as many messages as one of them would know again."""
    data = b""
    for now in range(3):
        taken = Taken(180.0)
        taken.load(data, now)
        for number in range(MOST_TAKEN):
            taken.add(number + 1, number.to_bytes(8))
            taken.hand_over(number + 1)
        data = taken.dump(now)
        assert len(data) == 10 * MOST_TAKEN
    later = Taken(180.0)
    later.load(data, 3)
    assert later.has(MOST_TAKEN, (MOST_TAKEN - 1).to_bytes(8), 3)

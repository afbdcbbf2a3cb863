"""MQTT against a real broker, which is killed and started again in the middle."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec
import pytest
from odd_brokers import SILENT, TAKEN, OddBroker, packet, publish

import tidelog
from brokers import Broker, broker
from children import WAIT
from tidelog.connectors.brokers.mqtt import client as client_module
from tidelog.connectors.brokers.mqtt import source as source_module
from tidelog.connectors.brokers.mqtt import trials
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings, WillSettings
from tidelog.connectors.brokers.mqtt.sink import MqttSink
from tidelog.connectors.brokers.mqtt.source import MqttSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.transport.secret import Secret
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import Rejected

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

PLAN = tidelog.compile(
    """timeline integer, unit 1 s, round down.
input temp(machine: text, celsius: number).
hot(M, C) :- temp(M, C), C >= 80."""
)
TOPIC = "plant/{machine}/temp"


def source_of(running: Broker, version: Any = "5", keep_alive: int = 30, **options: Any) -> MqttSource:
    """A source of the plant's temperatures."""
    return source_to(running.url, version, keep_alive, **options)


def source_to(url: str, version: Any = "5", keep_alive: int = 30, **options: Any) -> MqttSource:
    """The same by the address of a broker."""
    settings = BrokerSettings(url=url, version=version, keep_alive=keep_alive, retry_longest=0.5)
    mapper = MapMapper("floor", PLAN.schema, [MapSettings("temp", topic=TOPIC)])
    return MqttSource("floor", MqttClient(settings, "gateway", "."), mapper, ["plant/+/temp"], **options)


def sink_of(running: Broker, **options: Any) -> MqttSink:
    """A sink that publishes temperatures in the form in which the source reads them."""
    return sink_to(MqttClient(BrokerSettings(url=running.url, retry_longest=0.5), "plant", "."), **options)


def sink_to(client: MqttClient, **options: Any) -> MqttSink:
    """The same by a given client."""
    topic = TopicTemplate("plant/{arg1}/temp", PLAN.schema, iso=False, outputs=["hot"])
    template = Template(PLAN.schema, {"celsius": "{arg2}"}, iso=False, outputs=["hot"])
    return MqttSink("alarms", client, topic, template, **options)


def letters_of(sink: MqttSink) -> list[Rejected]:
    """What a sink gives up from now on."""
    letters: list[Rejected] = []

    async def keep(found: Sequence[Rejected]) -> None:
        letters.extend(found)

    sink.give_up_to(keep)
    return letters


def readings(first: int, last: int) -> list[Record]:
    """Answers that tell one number each."""
    return [("hot", ("press", number), 0, 0) for number in range(first, last)]


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(WAIT):
        while not is_so():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.01)


async def take(source: MqttSource, count: int) -> list[float]:
    """So many temperatures, in order of arrival."""
    found: list[float] = []
    with anyio.fail_after(WAIT):
        while len(found) < count:
            batch = await source.receive()
            assert batch is not None and not batch.rejected
            found += [row[1] for _, row, _, _ in batch.records]  # type: ignore[misc]
    return found


async def subscribed(source: MqttSource) -> None:
    """Wait until the broker has let the source in, and knows what it wants."""
    await until(lambda: source.connection().is_connected)
    await anyio.sleep(0.1)


@pytest.mark.parametrize("version", ["3.1.1", "5"])
async def test_messages_become_facts(tmp_path: Path, version: str) -> None:
    """What one publishes the other reads, with both versions of the protocol."""
    with broker(tmp_path) as running:
        async with source_of(running, version) as source, sink_of(running) as sink:
            await subscribed(source)
            await sink.send(readings(0, 20))
            assert await take(source, 20) == list(range(20))


async def test_what_has_piled_up_at_the_broker_is_not_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that nobody takes stay at the broker, however many there are; once they are taken, the rest comes."""
    monkeypatch.setattr(source_module, "MAX_WAITING", 100)
    with broker(tmp_path) as running:
        async with source_of(running) as source, sink_of(running) as sink:
            await subscribed(source)
            source.client.pause()
            await sink.send(readings(0, 1000))
            source.client.resume()
            await until(lambda: len(source._waiting) >= 100)
            await anyio.sleep(0.2)
            assert len(source._waiting) == 100
            assert await take(source, 1000) == list(range(1000))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.1.1", "5"])
async def test_a_broker_that_is_killed_costs_nothing(tmp_path: Path, version: str) -> None:
    """Both ends connect again, subscriptions are there, and what was sent meanwhile arrives, all of it, in order."""
    with broker(tmp_path) as running:
        async with source_of(running, version) as source, sink_of(running) as sink:
            await subscribed(source)
            await sink.send(readings(0, 10))
            assert await take(source, 10) == list(range(10))
            running.stop()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(sink.send, readings(10, 30))
                await until(lambda: not source.connection().is_connected)
                running.start()
                assert await take(source, 20) == list(range(10, 30))
            assert source.connection().connections >= 2
            running.kill()  # now without a moment to store anything: what it has forgotten it may send again
            running.start()
            await until(lambda: source.connection().connections >= 3)
            await until(lambda: sink.connection().connections >= 3)
            await sink.send(readings(30, 40))
            found = await take(source, 10)
            while found[-1] != 39:
                found += await take(source, 1)
            assert [number for number in found if number >= 30] == list(range(30, 40))


async def test_what_comes_at_short_intervals_is_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is read at once, and what comes soon behind it every so many seconds, in order."""
    monkeypatch.setattr(client_module, "REST", 0.1)
    with broker(tmp_path) as running:
        async with source_of(running, qos=0) as source, sink_of(running, qos=0) as sink, anyio.create_task_group() as tasks:
            await subscribed(source)

            async def publish_all() -> None:
                for number in range(60):
                    await sink.send(readings(number, number + 1))
                    await anyio.sleep(0.005)

            tasks.start_soon(publish_all)
            found: list[list[float]] = []
            while sum(map(len, found)) < 60:
                found.append(await take(source, 1))
    assert [number for batch in found for number in batch] == list(range(60))
    assert len(found) < 30


async def test_what_is_not_acknowledged_comes_again(tmp_path: Path) -> None:
    """A source that is left before its messages are acknowledged gets them once more; one that has acknowledged does not."""
    with broker(tmp_path) as running:
        async with sink_of(running) as sink:
            async with source_of(running) as source:
                await subscribed(source)
                await sink.send(readings(0, 5))
                assert await take(source, 5) == list(range(5))
            async with source_of(running) as source:
                batch = await take(source, 5)
                assert batch == list(range(5))
                source.acknowledge({"number": 10})
                await anyio.sleep(0.2)
            async with source_of(running) as source:
                await sink.send(readings(7, 8))
                assert await take(source, 1) == [7]


async def test_what_was_taken_is_not_taken_again(tmp_path: Path) -> None:
    """A position tells a later run which messages were stored already, though the broker has not heard so."""
    with broker(tmp_path) as running:
        async with sink_of(running) as sink:
            async with source_of(running) as source:
                await subscribed(source)
                await sink.send(readings(0, 5))
                with anyio.fail_after(WAIT):
                    batch = await source.receive()
                assert batch is not None and batch.position is not None
                seen = len(batch.records)
            after = source_of(running)
            after.resume(batch.position)
            async with after:
                await sink.send(readings(50, 51))
                rest = await take(after, 6 - seen)
                assert rest == [*range(seen, 5), 50]
                assert after.repeated == seen


async def test_a_topic_that_is_not_utf8_is_a_dead_letter() -> None:
    """A broker that lets such a topic pass costs that message alone: it is acknowledged, and those behind it are read."""
    good = [publish(b"plant/press/temp", b'{"celsius": %d}' % i, i) for i in (1, 3)]
    bad = publish(b"plant/\xff\xfe/temp", b'{"celsius": 2}', 2)
    with OddBroker(sends=[good[0], bad, good[1]]) as running:
        async with source_to(running.url) as source:
            records: list[Record] = []
            rejected: list[Rejected] = []
            with anyio.fail_after(WAIT):
                while len(records) < 2:
                    batch = await source.receive()
                    assert batch is not None and batch.position is not None
                    records += batch.records
                    rejected += batch.rejected
                    source.acknowledge(batch.position)
            await until(lambda: running.acknowledged == [1, 2, 3])
    assert [row[1] for _, row, _, _ in records] == [1, 3]
    (letter,) = rejected
    assert letter.reason == r"the topic `plant/\xff\xfe/temp` is not UTF-8"
    assert letter.raw == b'{"celsius": 2}'


@pytest.mark.parametrize(
    "broken",
    [
        packet(3, b"\x00\x20plant/press/temp", flags=2),
        packet(3, b"\x00\x01a\x00\x05\x02\x7e\x00x", flags=2),
        packet(4, b"\x00\x01\x42\x00"),
    ],
    ids=["a topic that is cut off", "a property that there is not", "a reason that there is not"],
)
async def test_a_broker_that_does_not_speak_mqtt_is_left_and_tried_again(
    broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """What the library cannot read ends the connection, not the run."""
    good = publish(b"plant/press/temp", b'{"celsius": 1}', 1)
    with OddBroker(sends=[broken]) as running:
        async with source_to(running.url) as source:
            await until(lambda: "connection lost: protocol error" in caplog.text)
            running.sends[:] = [good]
            assert await take(source, 1) == [1]


async def test_a_smaller_maximum_after_an_outage_costs_what_is_too_large_alone() -> None:
    """Messages that wait while the broker is away are looked at again when it lets the gateway in."""
    with OddBroker(answer=lambda message: SILENT) as running:
        sink = sink_to(MqttClient(BrokerSettings(url=running.url, retry_longest=0.1), "plant", "."))
        letters = letters_of(sink)
        async with sink, anyio.create_task_group() as tasks:
            large: Record = ("hot", ("x" * 500, 2), 0, 0)
            tasks.start_soon(sink.send, [*readings(0, 2), large, *readings(3, 5)])
            await until(lambda: len(running.refused) == 5)
            running.largest, running.answer = 300, lambda message: TAKEN
            running.drop_all()
        assert [message.payload for message in running.taken] == [b'{"celsius":%d}' % i for i in (0, 1, 3, 4)]
        assert running.broken == []
    (letter,) = letters
    assert "the broker takes 300 at most" in letter.reason


async def test_a_broker_that_ends_connections_without_a_word_holds_up_no_other_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer on which it does so each time is a dead letter, found by sending it alone; the others are taken."""
    monkeypatch.setattr(trials, "STEADY", 0.1)
    with OddBroker(largest=300, tells=False) as running:
        sink = sink_to(MqttClient(BrokerSettings(url=running.url, retry_longest=0.05), "plant", "."))
        letters = letters_of(sink)
        async with sink:
            with anyio.fail_after(WAIT):
                await sink.send([*readings(0, 2), ("hot", ("x" * 500, 2), 0, 0), *readings(3, 5)])
                assert {message.payload for message in running.taken} == {b'{"celsius":%d}' % i for i in (0, 1, 3, 4)}
                await sink.send(readings(5, 9))
        assert running.taken[-1].payload == b'{"celsius":8}'
    (letter,) = letters
    assert "the broker ends the connection each time this is sent" in letter.reason


@pytest.mark.long
async def test_a_broker_that_is_not_well_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where connections are lost whatever is sent, nothing is given up: all is taken when the broker is well again."""
    monkeypatch.setattr(trials, "STEADY", 5.0)
    with OddBroker(answer=lambda message: SILENT) as running:
        sink = sink_to(MqttClient(BrokerSettings(url=running.url, retry_longest=0.05), "plant", "."))
        letters = letters_of(sink)
        async with sink, anyio.create_task_group() as tasks:
            tasks.start_soon(sink.send, readings(0, 5))
            for _ in range(12):
                await until(lambda: sink.is_connected)
                await anyio.sleep(0.05)
                running.drop_all()
                await until(lambda: not sink.is_connected)
            monkeypatch.setattr(trials, "STEADY", 0.1)
            running.answer = lambda message: TAKEN
            await until(lambda: sink.is_connected)
            running.drop_all()
        assert {message.payload for message in running.taken} == {b'{"celsius":%d}' % i for i in range(5)}
    assert letters == []


async def test_a_real_broker_says_how_large_packets_may_be(tmp_path: Path) -> None:
    """Mosquitto with a limit: the answer that is beyond it is a dead letter, and the connection is never lost."""
    with broker(tmp_path, "listener {port} 127.0.0.1", "allow_anonymous true", "max_packet_size 2000") as running:
        async with source_of(running) as source, sink_of(running) as sink:
            letters = letters_of(sink)
            await subscribed(source)
            await until(lambda: sink.is_connected)  # what comes before the broker has told its limit is sent
            with anyio.fail_after(WAIT):
                await sink.send([*readings(0, 2), ("hot", ("x" * 2000, 2), 0, 0), *readings(3, 5)])
            assert await take(source, 4) == [0, 1, 3, 4]
            assert sink.connection().connections == 1
    assert [letter.record and letter.record[1][1] for letter in letters] == [2]


@pytest.mark.parametrize("qos", [1, 2])
async def test_a_real_broker_refuses_a_topic(tmp_path: Path, qos: Literal[1, 2]) -> None:
    """Mosquitto with a list of who may write where: what it does not authorize is a dead letter, the others arrive."""
    folder = tmp_path / "broker"
    folder.mkdir()
    (folder / "acl").write_text("topic readwrite plant/press/#\n")
    (folder / "acl").chmod(0o644)
    lines = ["listener {port} 127.0.0.1", "allow_anonymous true", f"acl_file {folder}/acl"]
    with broker(folder, *lines) as running:
        async with source_of(running) as source, sink_of(running, qos=qos) as sink:
            letters = letters_of(sink)
            await subscribed(source)
            with anyio.fail_after(WAIT):
                await sink.send([*readings(0, 2), ("hot", ("lathe", 2), 0, 0), *readings(3, 5)])
            assert await take(source, 4) == [0, 1, 3, 4]
    assert [(letter.record and letter.record[1][1], letter.reason) for letter in letters] == [
        (2, "the broker refuses it: not authorized")
    ]


@pytest.mark.parametrize("name", ["\x01", "\x7f", "\x9f", "\ufdd0", "\uffff", "\U0001fffe", "a/b", "+", "#"])
async def test_a_name_that_no_topic_can_have_is_written_otherwise(tmp_path: Path, name: str) -> None:
    """A real broker ends the connection on which a control character or a noncharacter comes in a topic."""
    with broker(tmp_path) as running:
        async with source_of(running) as source, sink_of(running) as sink:
            await subscribed(source)
            with anyio.fail_after(WAIT):
                await sink.send([*readings(0, 2), ("hot", (f"a{name}", 2), 0, 0), *readings(3, 5)])
            assert await take(source, 5) == [0, 1, 2, 3, 4]
            assert sink.connection().connections == 1


async def test_retained_messages_are_marked(tmp_path: Path) -> None:
    """What a broker has kept from before says so; a source can also pass it over."""
    with broker(tmp_path) as running:
        async with sink_of(running, retain=True) as sink:
            await sink.send(readings(3, 4))
            async with source_of(running) as source:
                seen = []
                source.on_messages = seen.extend
                assert await take(source, 1) == [3]
                assert [message.is_retained for message in seen] == [True]
            running.stop()
            running.start()
            async with source_of(running, takes_retained=False) as source:
                await subscribed(source)
                await sink.send(readings(4, 5))
                assert await take(source, 1) == [4]


async def test_last_will_and_birth(tmp_path: Path) -> None:
    """A gateway says that it is there when it connects, and the broker or itself that it is not when it goes."""
    seen: list[bytes] = []
    with broker(tmp_path) as running:
        listener = MqttClient(BrokerSettings(url=running.url), "listener", ".")
        listener.on_session = lambda is_present: listener.subscribe(["status"], 1)
        listener.on_message = lambda message: seen.append(message.payload)
        speaker = MqttClient(
            BrokerSettings(url=running.url, birth=WillSettings("status", "online"), will=WillSettings("status", "offline")),
            "speaker",
            ".",
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.run)
            await until(lambda: listener.statistics().is_connected)
            async with anyio.create_task_group() as inner:
                inner.start_soon(speaker.run)
                await until(lambda: seen[-1:] == [b"online"])
                inner.cancel_scope.cancel()
            await until(lambda: seen[-1:] == [b"offline"])
            tasks.cancel_scope.cancel()


def certificates(folder: Path) -> None:
    """A certificate authority, what it has signed for the broker and for the gateway, and the gateway's password."""
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    steps = [[*new, "/CN=plant CA", "-x509", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem"]]
    for name in ("broker", "gateway"):
        steps.append([*new, f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"])
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        steps.append(["openssl", "x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem"])
    passwords = shutil.which("mosquitto_passwd") or "/usr/bin/mosquitto_passwd"
    steps.append([passwords, "-b", "-c", "users", "gateway", "hunter2"])
    for step in steps:
        subprocess.run(step, cwd=folder, check=True, capture_output=True)
    (folder / "users").chmod(0o644)


@pytest.mark.slow
@pytest.mark.long
async def test_tls_with_a_user_and_a_certificate(tmp_path: Path, anyio_backend: str) -> None:
    """The broker asks for a certificate and a password; without either, and by another authority, nobody comes in."""
    folder = tmp_path / "broker"
    folder.mkdir()
    certificates(folder)
    (folder / "password").write_text("hunter2\n")
    lines = ["listener {port} 127.0.0.1", "allow_anonymous false", f"password_file {folder}/users"]
    lines += [f"cafile {folder}/ca.pem", f"certfile {folder}/broker.pem", f"keyfile {folder}/broker.key"]
    with broker(folder, *lines, "require_certificate true") as running:
        url = running.url.replace("mqtt:", "mqtts:")
        right = BrokerSettings(
            url=url,
            user="gateway",
            password=Secret(file="password"),
            ca="ca.pem",
            certificate="gateway.pem",
            key="gateway.key",
        )
        mapper = MapMapper("floor", PLAN.schema, [MapSettings("temp", topic=TOPIC)])
        source = MqttSource("floor", MqttClient(right, "gateway", str(folder)), mapper, ["plant/+/temp"])
        async with source, sink_to(MqttClient(right, "plant", str(folder))) as sink:
            await subscribed(source)
            await sink.send(readings(0, 500))
            assert await take(source, 500) == list(range(500))
        (folder / "wrong").write_text("hunter3")
        replace = msgspec.structs.replace
        for wrong in (
            replace(right, password=Secret(file="wrong")),
            replace(right, certificate="", key=""),
            replace(right, ca=""),
        ):
            with pytest.raises(OSError) as refused:
                await MqttClient(wrong, "other", str(folder), is_passing=True).try_once()
            assert "hunter" not in str(refused.value)

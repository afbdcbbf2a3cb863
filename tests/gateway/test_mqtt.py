"""MQTT against a real broker, which is killed and started again in the middle."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import tidelog
from brokers import Broker, broker
from children import WAIT
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.mqtt import source as source_module
from tidelog.connectors.mqtt.client import MqttClient
from tidelog.connectors.mqtt.settings import BrokerSettings, WillSettings
from tidelog.connectors.mqtt.sink import MqttSink
from tidelog.connectors.mqtt.source import MqttSource
from tidelog.connectors.secret import Secret
from tidelog.plans.facts import Record

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

PLAN = tidelog.compile(
    """timeline integer, unit 1 s, round down.
input temp(machine: text, celsius: number).
hot(M, C) :- temp(M, C), C >= 80."""
)
TOPIC = "plant/{machine}/temp"


def source_of(running: Broker, version: Any = "5", keep_alive: int = 30, **options: Any) -> MqttSource:
    """A source of the plant's temperatures."""
    settings = BrokerSettings(url=running.url, version=version, keep_alive=keep_alive, retry_longest=0.5)
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
                await source.acknowledge({"number": 10})
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

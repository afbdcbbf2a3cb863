"""Records: where they are read from, what becomes of them, and what is told of what cannot be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import pytest
from confluent_kafka import Producer
from poison import UNENCODABLE

from children import WAIT
from kafkas import Cluster, cluster
from tidelog.cli import main
from tidelog.connectors.brokers.kafka.settings import ClusterSettings, config_of
from tidelog.connectors.brokers.kafka.sink import KafkaSink
from tidelog.connectors.brokers.kafka.source import KafkaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.transport.links import LinkStatistics
from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import Batch, Rejected
from tidelog.testing.connectors import PLAN, alarm
from tidelog.testing.connectors.driving import promptly, until

pytestmark = pytest.mark.anyio
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture
def topic(kafka: Cluster) -> str:
    """A topic with four partitions."""
    name = f"topic{next(_numbers)}"
    kafka.make(name)
    return name


def source(kafka: Cluster, topic: str, *, start: str = "earliest", by: str = "", n: str = "n") -> KafkaSource:
    fields = {"n": FieldSettings(property="key", type="number")} if n == "key" else {}
    mapper = MapMapper("records", PLAN.schema, [MapSettings("reading", fields=fields)], by=by)
    config = {"bootstrap.servers": kafka.brokers, "group.id": topic, "log_level": 0}
    return KafkaSource("records", config, mapper, [topic], start=start, by=by)


def sink_to(kafka: Cluster, topic: str) -> KafkaSink:
    outputs = ["alarm"]
    return KafkaSink(
        "alarms",
        {"bootstrap.servers": kafka.brokers, "message.max.bytes": 2_000, "log_level": 0},
        TopicTemplate(topic, PLAN.schema, iso=False, outputs=outputs),
        Template(PLAN.schema, {"n": "{n}", "note": "{note}"}, iso=False, outputs=outputs),
        key=TopicTemplate("{n}", PLAN.schema, iso=False, outputs=outputs),
    )


def send(kafka: Cluster, topic: str, values: Sequence[bytes], *, partition: int = 0, **more: object) -> None:
    producer = Producer({"bootstrap.servers": kafka.brokers, "linger.ms": 0, "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)  # type: ignore[arg-type]  # as they come
    assert producer.flush(WAIT) == 0


async def take(from_: KafkaSource, count: int) -> Batch:
    """What it brings until there are so many facts and dead letters."""
    found = Batch(parts=[])
    with anyio.fail_after(WAIT):
        while len(found.records) + len(found.rejected) < count:
            batch = await from_.receive()
            assert batch is not None
            found.records += batch.records
            found.rejected += batch.rejected
            found.parts = [*(found.parts or ()), *(batch.parts or ())]
            found.position = batch.position
    return found


def numbers(batch: Batch) -> list[object]:
    return [row[0] for _, row, _, _ in batch.records]


async def test_each_partition_is_a_part_in_its_order(kafka: Cluster, topic: str) -> None:
    """With a watermark of its own; with `by` that is the device's."""
    for partition in (0, 2):
        send(kafka, topic, [b'{"n":%d}' % (10 * partition + n) for n in range(5)], partition=partition)
    async with source(kafka, topic) as reading:
        found = await take(reading, 10)
    told = sorted(zip(found.parts or (), numbers(found), strict=True), key=lambda pair: str(pair[0]))
    assert told == [(f"{topic}:0", n) for n in range(5)] + [(f"{topic}:2", 20 + n) for n in range(5)]
    async with source(kafka, topic, by="n") as reading:
        found = await take(reading, 10)
    assert list(found.parts or ()) == numbers(found)


async def test_a_later_run_goes_on_at_its_offsets(kafka: Cluster, topic: str) -> None:
    """Whatever the cluster has been told; a partition that was not known begins at its first record."""
    send(kafka, topic, [b'{"n":1}', b'{"n":2}'])
    async with source(kafka, topic) as reading:
        position = (await take(reading, 2)).position
        assert position is not None and position["offsets"][topic][0] == 2
        reading.acknowledge(position)
    send(kafka, topic, [b'{"n":3}'])
    send(kafka, topic, [b'{"n":4}'], partition=3)
    later = source(kafka, topic)
    later.resume({"offsets": {topic: {0: 1}}})
    async with later:
        assert sorted(map(str, numbers(await take(later, 3)))) == ["2", "3", "4"]


async def test_leaving_waits_for_no_cluster_that_is_away(
    kafka: Cluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where that was told how far is committed, and does not answer: the library waits for it as long as it may."""
    send(kafka, topic, [b'{"n":1}'])
    reading = source(kafka, topic)
    reading._config |= {"socket.timeout.ms": 120_000, "debug": "cgrp", "log_level": 7}
    caplog.set_level("DEBUG", "tidelog.kafka")
    try:
        with promptly():
            async with reading, anyio.create_task_group() as tasks:
                position = (await take(reading, 1)).position
                assert position is not None
                kafka.pause()
                reading.acknowledge(position)
                tasks.start_soon(reading.receive)
                await until(lambda: "Committing offsets" in caplog.text)
                tasks.cancel_scope.cancel()
    finally:
        kafka.go_on()


async def test_connections_are_counted(kafka: Cluster, topic: str) -> None:
    """Of a source from when the cluster has answered, of a sink once it is open; and what they ask."""
    reading, sink = source(kafka, topic), sink_to(kafka, topic)
    async with reading, sink:
        await sink.send([alarm(1), alarm(2)])
        await take(reading, 2)
        assert reading.link().is_connected and reading.link().connections == 1 and reading.link().requests > 2
        assert sink.link() == LinkStatistics(True, sink.link().since, 1, 2, 0)
    assert not reading.link().is_connected and not sink.link().is_connected


async def test_what_waited_holds_up_the_clock(kafka: Cluster, topic: str) -> None:
    """It is behind until all is returned that waited, also after nobody has listened for a while."""
    send(kafka, topic, [b'{"n":1}'])
    reading = source(kafka, topic)
    assert reading.is_behind
    async with reading:
        assert reading.is_behind
        await take(reading, 1)
        assert not reading.is_behind
        reading.listen_again()
        assert reading.is_behind
        send(kafka, topic, [b'{"n":2}', b'{"n":3}'])
        await take(reading, 2)
        assert not reading.is_behind


async def test_latest_begins_with_what_comes(kafka: Cluster, topic: str) -> None:
    """What was there before is not read."""
    send(kafka, topic, [b'{"n":1}'])
    async with source(kafka, topic, start="latest") as reading:
        send(kafka, topic, [b'{"n":2}'])
        assert numbers(await take(reading, 1)) == [2]


async def test_an_offset_that_is_not_there_is_told(kafka: Cluster, topic: str) -> None:
    """As where a topic was made anew: it goes on, and a dead letter says what is missing."""
    send(kafka, topic, [b'{"n":1}'])
    reading = source(kafka, topic)
    reading.resume({"offsets": {topic: {0: 50}}})
    async with reading:
        letter = (await take(reading, 1)).rejected[0]
        assert letter.place == f"records:{topic}:0" and "it ends before record 50" in letter.reason
        send(kafka, topic, [b'{"n":2}'])
        assert numbers(await take(reading, 1)) == [2]


async def test_poison_key_headers_and_time(kafka: Cluster, topic: str) -> None:
    """A key is the property `key`, a time that of the record; what is no text is a dead letter with its offset."""
    send(kafka, topic, [b"{}"], key=b"17", timestamp=5_000, headers=[("id", b"a")])
    send(kafka, topic, [b'{"n":1}'], key=b"\xff")
    async with source(kafka, topic, n="key") as reading:
        found = await take(reading, 2)
    assert found.records == [("reading", (17,), 5, 5)]
    assert found.rejected == [Rejected(f"records:{topic}:0:1", "its key, or a header, is not UTF-8", b'{"n":1}')]


async def test_a_topic_that_is_not_there_is_no_end(kafka: Cluster) -> None:
    """A topic without partitions is an error that is tried again, and not read as an empty one for ever."""
    with pytest.raises(OSError, match="nowhere"):
        async with source(kafka, "nowhere"):
            pass


@pytest.mark.parametrize(("text", "reason"), [("x" * 3_000, "large"), (UNENCODABLE, "cannot be encoded")])
async def test_what_cannot_be_sent_is_a_dead_letter(kafka: Cluster, topic: str, text: str, reason: str) -> None:
    """The others go on, under their ids, those of one key in one partition."""
    letters: list[Rejected] = []

    async def note(given: Sequence[Rejected]) -> None:
        await anyio.lowlevel.checkpoint()
        letters.extend(given)

    sink = sink_to(kafka, topic)
    sink.give_up_to(note)
    async with sink:
        sink.number(Heading("run", 1, 0))
        await sink.send([alarm(1), alarm(2, text), alarm(3)])
    assert [letter.record for letter in letters] == [alarm(2, text)] and reason in letters[0].reason.lower()
    async with source(kafka, topic) as reading:
        assert sorted(map(str, numbers(await take(reading, 2)))) == ["1", "3"]


def test_what_the_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SASL and TLS; what does not belong together is refused."""
    monkeypatch.setenv("PASS", "word")
    (tmp_path / "ca.pem").touch()
    given = ClusterSettings(
        brokers="a:1", tls=True, ca="ca.pem", user="u", password=Secret(env="PASS"), mechanism="SCRAM-SHA-512"
    )
    assert config_of(given, "me", tmp_path) == {
        "bootstrap.servers": "a:1",
        "client.id": "me",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u",
        "sasl.password": "word",
        "ssl.ca.location": str(tmp_path / "ca.pem"),
    }
    assert config_of(ClusterSettings(brokers="a:1"), "me", tmp_path)["security.protocol"] == "plaintext"
    for wrong, reason in [
        (ClusterSettings(brokers="a:1", user="u"), "`user` and `password` belong together"),
        (ClusterSettings(brokers="a:1", ca="ca.pem"), "belong to `tls = true`"),
        (ClusterSettings(brokers="a:1", tls=True, certificate="c.pem"), "`certificate` and `certificate_key`"),
        (ClusterSettings(brokers="a:1", tls=True, ca="no.pem"), "there is no file `no.pem`"),
    ]:
        with pytest.raises(SpecError, match=reason):
            config_of(wrong, "me", tmp_path)


FILE = """program = "plant.tide"
[[source]]
name = "floor"
type = "kafka"
brokers = "{brokers}"
topics = ["temps"]
[[source.map]]
predicate = "temp"
[[sink]]
name = "alarms"
type = "kafka"
brokers = "{brokers}"
topic = "alarms"
key = "{{room}}"
"""


def test_a_check_asks_the_cluster(kafka: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With `--connect`; a topic that Kafka cannot have is refused before."""
    (tmp_path / "plant.tide").write_text(
        "timeline integer, unit 1 s, round down.\ninput temp(room: text).\noutput hot(room).\nhot(R) :- temp(R).\n"
    )
    file = tmp_path / "plant.toml"
    file.write_text(FILE.format(brokers=kafka.brokers))
    assert main(["gateway", str(file), "--check", "--connect"]) == 0
    assert f"floor: the cluster at {kafka.brokers} lets it in, with 1 broker" in capfd.readouterr().out
    file.write_text(FILE.format(brokers="x:1").replace('topics = ["temps"]', ""))
    assert main(["gateway", str(file), "--check"]) == 1
    assert "source `floor`: `#` is no topic of Kafka's: say which `topics` are read" in capfd.readouterr().err

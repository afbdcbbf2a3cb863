"""Every sink has a poison answer between good ones: that one is a dead letter with its reason, and the others arrive.

`CASES` names what is tested, `CANNOT` the kinds of poison that a sink cannot meet, each with its reason; together they
are every kind for every sink that there is.
"""

from __future__ import annotations

import ast
import os
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pyarrow.parquet as pq
import pytest
from odd_brokers import NOT_AUTHORIZED, QUOTA_EXCEEDED, TAKEN, UNSPECIFIED, OddBroker, Published
from poison import GOOD, KINDS, UNENCODABLE, Kind, check_owed, check_poison, deliver, hot, name_of

import tidelog
from children import WAIT
from tidelog.connectors import FileSink, JsonEncoder, ListenerSink, SocketSink, TextEncoder, UnixAddress
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.retained.board import TopicPresenter
from tidelog.connectors.brokers.mqtt.retained.sink import RetainingSink
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.brokers.mqtt.sink import MqttSink
from tidelog.connectors.databases.sql.database import database
from tidelog.connectors.databases.sql.sink import SqlSink
from tidelog.connectors.databases.sql.tables import tables_of
from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.http.posting import Endpoint, Retries
from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader
from tidelog.connectors.outbox.sink import OutboxSink
from tidelog.connectors.sinks.parquet_sink import ParquetSink
from tidelog.connectors.sinks.stdout_sink import StdoutSink
from tidelog.plans.data.facts import Record

pytestmark = pytest.mark.anyio
ONE_LOOP = pytest.mark.parametrize("anyio_backend", ["asyncio"])
BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
"""For sinks that wait: the loops do so in different ways."""

PLAN = tidelog.compile("timeline integer. input temp(machine: text, celsius: number). hot(M, C) :- temp(M, C).")
ODD = hot(f"poison{UNENCODABLE}")
LONG = hot("poison" + "x" * 70_000)

CASES = {
    ("FileSink", "not encodable"),
    ("ListenerSink", "not encodable"),
    ("KafkaSink", "not encodable"),  # in tests/kafka/test_kafka_records.py
    ("KafkaSink", "too long"),  # likewise
    *(("PointsSink", kind) for kind in KINDS),  # in tests/influx/test_influx_poison.py
    *(("AlertmanagerSink", kind) for kind in KINDS),  # in tests/notify/test_alertmanager.py
    *(("MailSink", kind) for kind in KINDS),  # in tests/notify/test_mail.py
    ("MqttSink", "not encodable"),
    ("MqttSink", "refused for good"),
    ("MqttSink", "refused for now"),
    ("MqttSink", "too long"),
    ("NatsSink", "not encodable"),  # in tests/jetstream/test_nats_messages.py
    ("NatsSink", "too long"),  # likewise
    ("OutboxSink", "not encodable"),
    ("ParquetSink", "not encodable"),
    ("ParquetSink", "refused for good"),
    ("SocketSink", "not encodable"),
    ("RetainingSink", "not encodable"),
    ("RetainingSink", "refused for good"),
    ("RetainingSink", "refused for now"),
    ("RetainingSink", "too long"),
    ("SqlSink", "not encodable"),
    ("SqlSink", "refused for good"),
    ("SqlSink", "too long"),
    ("StdoutSink", "not encodable"),
    ("WebhookSink", "not encodable"),
    ("WebhookSink", "refused for good"),
    ("WebhookSink", "refused for now"),
    ("WebhookSink", "too long"),
}
_LINES = "who reads a stream of bytes takes all of it or none: it has no word about one answer"
_TOLD_NOTHING = "it is told no answers: it shows what is open"
_SHORT = "lines may have any length"
CANNOT = {
    ("FileSink", "too long"): _SHORT,
    ("FileSink", "refused for good"): _LINES,
    ("FileSink", "refused for now"): _LINES,
    ("StdoutSink", "too long"): _SHORT,
    ("StdoutSink", "refused for good"): _LINES,
    ("StdoutSink", "refused for now"): _LINES,
    ("SocketSink", "too long"): _SHORT,
    ("SocketSink", "refused for good"): _LINES,
    ("SocketSink", "refused for now"): _LINES,
    ("ListenerSink", "too long"): _SHORT,
    ("ListenerSink", "refused for good"): _LINES,
    ("ListenerSink", "refused for now"): _LINES,
    ("ParquetSink", "too long"): "a table holds texts of any length that a source can bring",
    ("ParquetSink", "refused for now"): "what does not fit the columns never will",
    ("OutboxSink", "too long"): "SQLite holds texts of a billion bytes, and no source brings one so long",
    ("OutboxSink", "refused for good"): "it has one column for all arguments, as JSON",
    ("OutboxSink", "refused for now"): "while it is full, no answer is taken, whatever it is (tests/outbox)",
    ("AlarmSink", "too long"): _TOLD_NOTHING,
    ("AlarmSink", "not encodable"): _TOLD_NOTHING,
    ("AlarmSink", "refused for good"): _TOLD_NOTHING,
    ("AlarmSink", "refused for now"): _TOLD_NOTHING,
    ("KafkaSink", "refused for good"): "a cluster has no word about one record, but that it is too large",
    ("KafkaSink", "refused for now"): "what a cluster does not take now, it takes of nobody",
    ("NatsSink", "refused for good"): "a server has no word about one message, but that it is too large",
    ("NatsSink", "refused for now"): "what a stream does not take now, it takes of nobody",
    ("SqlSink", "refused for now"): "a database that is busy is busy for every row",
    ("MemorySink", "too long"): "it keeps answers as they are",
    ("MemorySink", "not encodable"): "it encodes nothing",
    ("MemorySink", "refused for good"): "it takes all that it is given",
    ("MemorySink", "refused for now"): "it takes all that it is given",
}


def test_every_sink_has_every_kind_of_poison(anyio_backend: str) -> None:
    """A sink that is added without a test of its poison, or a word why there is none, fails here."""
    folder = Path(tidelog.connectors.__file__).parent
    paths = [path for path in folder.rglob("*.py") if "spark" not in path.parts]  # Spark writes by itself
    trees = [ast.parse(path.read_text("utf-8")) for path in paths]
    classes = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    sinks = {name for name in classes if name.endswith("Sink")} - {"OutgoingSink"}  # which several are made of
    assert sinks == {name for name, _ in CASES} | {name for name, _ in CANNOT}
    assert CASES.isdisjoint(CANNOT)
    assert CASES | set(CANNOT) == {(name, kind) for name in sinks for kind in KINDS}


# --- streams of bytes ---------------------------------------------------------------------------------------------------

ENCODERS = pytest.mark.parametrize("encoder", [JsonEncoder(PLAN.schema), TextEncoder(PLAN.schema)], ids=["json", "text"])


@ONE_LOOP
@ENCODERS
async def test_a_file_goes_on_behind_what_it_cannot_hold(tmp_path: Path, encoder: Encoder) -> None:
    """A line that cannot be written is left out, also where the file stands exactly behind it in a run with a state."""
    path = tmp_path / "out"
    sink = FileSink(str(path), encoder)
    sink.resume("run1", 0, None)
    await check_poison(sink, ODD, lambda: path.read_text().splitlines(), "cannot be encoded: .*surrogates")
    assert sink.confirmed() == 8
    assert sink.standing() == {"length": path.stat().st_size}


@ONE_LOOP
@ENCODERS
async def test_standard_output_goes_on_behind_what_it_cannot_write(encoder: Encoder) -> None:
    """A pipe that follows standard output gets the good lines."""
    reader, writer = os.pipe()
    with ExitStack() as stack:
        stack.callback(os.close, reader)
        stack.callback(os.close, writer)

        def got() -> list[str]:
            return os.read(reader, 1 << 16).decode().splitlines()

        await check_poison(StdoutSink(encoder, fd=writer), ODD, got, "cannot be encoded")


@BOTH_LOOPS
@ENCODERS
async def test_a_socket_goes_on_behind_what_it_cannot_send(tmp_path: Path, encoder: Encoder) -> None:
    """The ids of the answers that follow are their numbers, as if nothing were missing."""
    path, received = str(tmp_path / "socket"), b""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        done = threading.Event()

        def serve() -> None:
            nonlocal received
            peer, _ = listener.accept()
            with peer:
                while data := peer.recv(1 << 16):
                    received += data
            done.set()

        threading.Thread(target=serve, daemon=True).start()

        def lines() -> list[str]:
            assert done.wait(WAIT)
            return received.decode().splitlines()

        await check_poison(SocketSink(UnixAddress(path), encoder), ODD, lines, "cannot be encoded")
    ids = [line.replace('"', "").replace(",", " ").rstrip("]}").split()[-1] for line in lines()]
    assert ids == ["1", "2", "4", "5", "7", "8"]


@BOTH_LOOPS
@ENCODERS
async def test_those_who_listen_get_what_can_be_sent(tmp_path: Path, encoder: Encoder) -> None:
    """A listening sink gives the good answers to whoever has connected."""
    path = str(tmp_path / "socket")
    sink = ListenerSink(UnixAddress(path), encoder)
    received: list[str] = []

    def read() -> None:
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(WAIT)
            one.connect(path)
            data = b""
            while piece := one.recv(1 << 16):
                data += piece
        received.extend(data.decode().splitlines())

    async def connect() -> None:
        while True:  # what is waited for has no event: the path is there before anyone accepts connections
            try:
                return await anyio.to_thread.run_sync(read)
            except (FileNotFoundError, ConnectionRefusedError):
                await anyio.sleep(0.01)

    async def check() -> None:
        await check_poison(sink, ODD, lambda: GOOD_NAMES, "cannot be encoded")  # what has arrived is seen below

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connect)
            tasks.start_soon(check)
    assert [name_of(line) for line in received] == GOOD_NAMES


GOOD_NAMES = [str(row[0]) for _, row, _, _ in GOOD]


# --- tables and outboxes ------------------------------------------------------------------------------------------------


@ONE_LOOP
@pytest.mark.parametrize(
    ("poison", "reason"),
    [(ODD, "cannot be encoded"), (("hot", ("poison", "warm"), 3, 3), 'field `celsius` is declared as number, got "warm"')],
)
async def test_a_table_leaves_out_what_does_not_fit_it(tmp_path: Path, poison: Record, reason: str) -> None:
    """What cannot be written, and what is not as the program declares it, costs no other row of the table."""
    plan = tidelog.compile("timeline integer. input t(m: text, c: number). input hot(machine: text, celsius: number).")
    folder = tmp_path / "tables"

    def rows() -> list[str]:
        table = pq.read_table(folder / "hot" / "part-00000000.parquet", partitioning=None)
        return [row["machine"] for row in table.column("arguments").to_pylist()]

    await check_poison(ParquetSink(str(folder), plan.schema, ["hot"]), poison, rows, reason)


@ONE_LOOP
async def test_an_outbox_leaves_out_what_it_cannot_hold(tmp_path: Path) -> None:
    """Its numbers have no gap, and the next run goes on behind all that was told."""
    path = str(tmp_path / "box")

    def rows() -> list[str]:
        with OutboxReader(path) as reader:
            found = reader.read(0)
        assert [row.seq for row in found] == [1, 2, 3, 4, 5, 6]
        return [row.arguments for row in found]

    with Outbox(path, PLAN, node="here") as outbox:
        sink = OutboxSink(outbox)
        sink.resume("run1", 0, None)
        await check_poison(sink, ODD, rows, "cannot be encoded")
        assert sink.confirmed() == 8


# --- databases ----------------------------------------------------------------------------------------------------------


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        (ODD, "`machine` cannot be encoded: surrogates not allowed"),
        (("hot", ("poison", "warm"), 3, 3), "`celsius` is a column of numbers of double precision, got 'warm'"),
        (("hot", ("poison" + "x" * 4_000, 1), 3, 3), "the database refuses it: .*too big"),
    ],
    ids=["not encodable", "refused for good", "too long"],
)
async def test_a_table_of_a_database_leaves_out_what_it_does_not_take(tmp_path: Path, poison: Record, reason: str) -> None:
    """Found out before it is sent, or by the database, which then takes all others."""
    plan = tidelog.compile("timeline integer. input t(m: text, c: number). input hot(machine: text, celsius: number).")
    there = database("sqlite:answers.db", folder=tmp_path)
    there.connect = partial(limited, there.connect)  # type: ignore[method-assign]
    tables = tables_of(plan.schema, ["hot"], there)
    sink = SqlSink(there, tables, JsonEncoder(plan.schema), name="history", key="history")
    sink.resume("run1", 0, None)

    def rows() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "answers.db")) as connection:
            return [name for (name,) in connection.execute("SELECT machine FROM hot ORDER BY rowid")]

    await check_poison(sink, poison, rows, reason)
    assert sink.confirmed() == 8


def limited(connect: Callable[[], Any]) -> Any:
    """A connection to a database that takes rows of a few thousand bytes."""
    connection = connect()
    connection._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 3_000)
    return connection


# --- MQTT ---------------------------------------------------------------------------------------------------------------


def mqtt_sink(url: str, qos: int, version: str = "5") -> MqttSink:
    """A sink that publishes to a topic with the answer's name in it."""
    settings = BrokerSettings(url=url, retry_longest=0.05, version="5" if version == "5" else "3.1.1")
    topic = TopicTemplate("plant/{arg1}/hot", PLAN.schema, iso=False, outputs=["hot"])
    template = Template(PLAN.schema, {"celsius": "{arg2}"}, iso=False, outputs=["hot"])
    return MqttSink("alarms", MqttClient(settings, "gateway", "."), topic, template, qos=1 if qos == 1 else 2 if qos else 0)


@contextmanager
def odd(**options: Any) -> Iterator[tuple[OddBroker, Callable[[], list[str]]]]:
    """A broker, and the topics that it has taken."""
    with OddBroker(**options) as running:
        yield running, lambda: [message.topic.decode() for message in running.taken]


def retaining_sink(url: str, qos: int, folder: Path) -> RetainingSink:
    """One that lets the broker retain what holds; what has no end is told to have ended."""
    settings = BrokerSettings(url=url, retry_longest=0.05)
    topic = TopicTemplate("plant/{arg1}/hot", PLAN.schema, iso=False, outputs=["hot"])
    template = Template(PLAN.schema, {"celsius": "{arg2}"}, iso=False, outputs=["hot"])
    client = MqttClient(settings, "gateway", ".")
    presenter = TopicPresenter(topic, template, ["hot"])
    return RetainingSink("alarms", client, presenter, template.lines, folder=str(folder), qos=1 if qos == 1 else 2)


@BOTH_LOOPS
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_retained_goes_on_behind_poison(kind: Kind, tmp_path: Path) -> None:
    """As with messages that are not retained."""
    left = [2]

    def answer(message: Published) -> int:
        if b"poison" not in message.topic or not left[0]:
            return TAKEN
        left[0] -= kind == "refused for now"
        return QUOTA_EXCEEDED if kind == "refused for now" else NOT_AUTHORIZED

    poison = {"too long": LONG, "not encodable": ODD}.get(kind, hot("poison"))
    reason = {"too long": "MQTT has 65535 at most", "not encodable": "cannot be encoded"}.get(kind, "not authorized")
    with odd(answer=answer) as (running, taken):
        sink = retaining_sink(running.url, 1, tmp_path)
        if kind == "refused for now":
            await check_owed(sink, [GOOD[0], hot("poison"), *GOOD[1:]], taken)
        else:
            await check_poison(sink, poison, taken, reason)


QOS = pytest.mark.parametrize("qos", [1, 2])


@BOTH_LOOPS
@QOS
async def test_a_topic_that_is_too_long_for_mqtt_is_a_dead_letter(qos: int) -> None:
    """One value of 70 kB in a topic costs that answer, and no other: the gateway goes on."""
    with odd() as (running, taken):
        await check_poison(mqtt_sink(running.url, qos), LONG, taken, r"its topic has \d+ bytes, and MQTT has 65535 at most")


@ONE_LOOP
@QOS
async def test_a_topic_that_cannot_be_encoded_is_a_dead_letter(qos: int) -> None:
    """A topic is UTF-8, or there is none."""
    with odd() as (running, taken):
        await check_poison(mqtt_sink(running.url, qos), ODD, taken, "cannot be encoded")


@ONE_LOOP
async def test_an_answer_whose_topic_is_empty_is_a_dead_letter() -> None:
    """A broker ends the connection on which such a message comes, each time anew."""
    with odd() as (running, taken):
        sink = mqtt_sink(running.url, 1)
        sink._topic = TopicTemplate("{arg1}", PLAN.schema, iso=False, outputs=["hot"])
        await check_poison(sink, hot(""), taken, "its topic is empty")


@BOTH_LOOPS
@QOS
async def test_a_packet_beyond_the_maximum_of_the_broker_is_a_dead_letter(qos: int) -> None:
    """CONNACK says how large packets may be: what is larger is not sent, and the connection stays."""
    with odd(largest=200) as (running, taken):
        sink = mqtt_sink(running.url, qos)
        await check_poison(
            sink, hot("poison" + "x" * 200), taken, r"its packet has \d+ bytes, and the broker takes 200 at most"
        )
        assert running.broken == []


@ONE_LOOP
async def test_a_packet_may_be_as_large_as_the_broker_says(anyio_backend: str) -> None:
    """The limit counts every byte of the packet: one more is too much."""
    with odd() as (running, taken):
        await check_owed(mqtt_sink(running.url, 1), GOOD, taken)
        sizes = [message.size for message in running.taken]
    with odd(largest=max(sizes)) as (running, taken):
        await check_owed(mqtt_sink(running.url, 1), GOOD, taken)
    with odd(largest=max(sizes) - 1) as (running, taken):
        assert (await deliver(mqtt_sink(running.url, 1), [GOOD])).statistics.undelivered == len(GOOD)
        assert running.taken == []
        assert running.broken == []


@BOTH_LOOPS
@QOS
async def test_what_the_broker_refuses_for_good_is_a_dead_letter(qos: int) -> None:
    """PUBACK and PUBREC with a reason are no receipt: what is not authorized stays so."""

    def answer(message: Published) -> int:
        return NOT_AUTHORIZED if b"poison" in message.topic else TAKEN

    with odd(answer=answer) as (running, taken):
        await check_poison(mqtt_sink(running.url, qos), hot("poison"), taken, "the broker refuses it: not authorized")


@BOTH_LOOPS
@QOS
@pytest.mark.parametrize("reason", [QUOTA_EXCEEDED, UNSPECIFIED])
async def test_what_the_broker_refuses_for_now_is_sent_again(qos: int, reason: int) -> None:
    """A broker that has no room for an answer is asked again, until it has; the others do not wait for that."""
    left = [3]

    def answer(message: Published) -> int:
        if b"poison" not in message.topic or not left[0]:
            return TAKEN
        left[0] -= 1
        return reason

    with odd(answer=answer) as (running, taken):
        await check_owed(mqtt_sink(running.url, qos), [GOOD[0], hot("poison"), *GOOD[1:]], taken)
        assert taken()[:2] == ["plant/good0/hot", "plant/good1/hot"]
        assert len(running.refused) == 3


# --- webhooks -----------------------------------------------------------------------------------------------------------


def webhook(answer: Callable[[bytes], int], taken: list[str]) -> WebhookSink:
    """A sink whose receiver answers with a status."""

    def handle(request: httpx.Request) -> httpx.Response:
        status = answer(request.content)
        if status < 300:
            taken.append(request.content.decode())
        return httpx.Response(status)

    endpoint = Endpoint("https://receiver.example/hook", retries=Retries(first=0.001, longest=0.01))
    return WebhookSink(endpoint, PLAN.schema, transport=httpx.MockTransport(handle))


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("poison", "status", "reason"),
    [(ODD, 204, "cannot be encoded"), (LONG, 413, "status 413"), (hot("poison"), 422, "status 422")],
    ids=["not encodable", "too long", "refused for good"],
)
async def test_a_webhook_goes_on_behind_what_its_receiver_does_not_take(poison: Record, status: int, reason: str) -> None:
    """An answer that the receiver refuses for itself is a dead letter."""
    taken: list[str] = []
    sink = webhook(lambda body: status if b"poison" in body else 204, taken)
    await check_poison(sink, poison, lambda: taken, reason)


@BOTH_LOOPS
@pytest.mark.parametrize("status", [302, 401, 403, 404, 429, 503])
async def test_a_webhook_sends_again_what_its_receiver_does_not_take_now(status: int) -> None:
    """An address that is wrong for a while, and a receiver that is busy, cost no alarm."""
    taken: list[str] = []
    left = [3]

    def answer(body: bytes) -> int:
        left[0] -= b"poison" in body
        return status if b"poison" in body and left[0] >= 0 else 204

    await check_owed(webhook(answer, taken), [GOOD[0], hot("poison"), *GOOD[1:]], lambda: taken)

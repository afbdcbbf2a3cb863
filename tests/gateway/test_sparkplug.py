"""Sparkplug B: births, deaths, aliases, missing numbers, and rebirth; against a broker, by a simulated edge node."""

from __future__ import annotations

import json
import signal
import struct
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from edge_nodes import BOOLEAN, DOUBLE, FLOAT, INT32, INT64, STRING, UINT64, EdgeNode, block, metric, number, payload, varint
from hypothesis import given
from hypothesis import strategies as st
from test_retained import looking

import tidelog
from brokers import Broker, broker
from children import WAIT, child
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.field.sparkplug.nodes import Nodes, rebirth
from tidelog.connectors.field.sparkplug.payload import decode
from tidelog.connectors.field.sparkplug.source import SparkplugSource
from tidelog.connectors.field.sparkplug.values import TYPES, value_of
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.settings import MapSettings, TimeSettings
from tidelog.gateway.building import build
from tidelog.gateway.file.reading import read_settings
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Rejected
from waiting import eventually

NOW = 1_700_000_000.0
MS = 1_700_000_000_000


class Hearing:
    """Hears messages of edge nodes, and notes whom it asks for a birth."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.nodes = Nodes(lambda topic: True, lambda group, edge: self.asked.append(f"{group}/{edge}"))
        self.at = NOW

    def __call__(self, topic: str, data: bytes) -> list[Any]:
        """What a message becomes: topic and value, or topic and whether it is alive; or the reason why it cannot be read."""
        found: list[Any] = []
        for item in self.nodes.take(Message(f"spBv1.0/{topic}", data, self.at)):
            if isinstance(item, Rejected):
                found.append(item.reason)
            else:
                told = json.loads(item.payload)
                found.append((item.topic, told["alive"] if "alive" in told else told["value"]))
        return found

    def born(self, *devices: str, bd_seq: int = 0) -> list[Any]:
        """An edge node with its devices, each with a temperature, of the aliases 1, 2 …"""
        birth = [metric(UINT64, bd_seq, name="bdSeq"), metric(INT32, 7, name="load", alias=0)]
        found = self("g/NBIRTH/e", payload(birth, seq=0, at=MS))
        for seq, device in enumerate(devices, 1):
            told = [metric(DOUBLE, 20.5, name="temp", alias=seq)]
            found += self(f"g/DBIRTH/e/{device}", payload(told, seq=seq, at=MS))
        return found


def data(alias: int, given: Any, seq: int) -> bytes:
    """A temperature by its alias."""
    return payload([metric(DOUBLE, given, alias=alias)], seq=seq, at=MS + 1000)


def test_births_tell_all_values_and_aliases_the_later_ones() -> None:
    """An edge node and a device are alive, and have values; a value by an alias is that of its metric."""
    hear = Hearing()
    assert hear.born("d") == [
        ("alive/g/e", True),
        ("node/g/e/bdSeq", 0),
        ("node/g/e/load", 7),
        ("alive/g/e/d", True),
        ("device/g/e/d/temp", 20.5),
    ]
    assert hear("g/DDATA/e/d", data(1, 21.5, 2)) == [("device/g/e/d/temp", 21.5)]
    assert hear("g/NDATA/e", payload([metric(INT32, -3, name="load")], seq=3)) == [("node/g/e/load", -3)]
    assert hear.asked == []


def test_a_death_is_told_of_all_that_it_takes() -> None:
    """A device that dies is told; an edge node's death is told of its devices and itself; another session's is none."""
    hear = Hearing()
    hear.born("d", "f", bd_seq=4)
    assert hear("g/DDEATH/e/f", payload([], seq=3)) == [("alive/g/e/f", False)]
    assert hear("g/NDEATH/e", payload([metric(UINT64, 3, name="bdSeq")], seq=None)) == []
    dead = [("alive/g/e/d", False), ("alive/g/e", False)]
    assert hear("g/NDEATH/e", payload([metric(UINT64, 4, name="bdSeq")], seq=None)) == dead
    assert hear.nodes.known() == []


def test_a_death_is_told_when_it_comes() -> None:
    """The certificate of death was written when the session began: its own time says nothing."""
    hear = Hearing()
    hear.born()
    death = Message("spBv1.0/g/NDEATH/e", payload([metric(UINT64, 0, name="bdSeq")], seq=None, at=5), NOW)
    (told,) = hear.nodes.take(death)
    assert isinstance(told, Message) and json.loads(told.payload) == {"alive": False, "time": MS, "why": "death"}


def test_a_missing_message_asks_for_a_birth_once() -> None:
    """Numbers go from 255 to 0; where one is missing, the edge node is asked, once in five seconds; its values count."""
    hear = Hearing()
    hear.born("d")
    for seq in [*range(2, 256), 0, 1]:
        assert hear("g/DDATA/e/d", data(1, 22.5, seq)) == [("device/g/e/d/temp", 22.5)]
    assert hear.asked == []
    assert hear("g/DDATA/e/d", data(1, 23.5, 3)) == [("device/g/e/d/temp", 23.5)]
    assert hear("g/DDATA/e/d", data(1, 24.5, 7)) == [("device/g/e/d/temp", 24.5)]
    assert (hear.asked, hear.nodes.gaps) == (["g/e"], 2)
    hear.at += 5
    hear("g/DDATA/e/d", data(1, 25.5, 9))
    assert hear.asked == ["g/e", "g/e"]


def test_what_has_told_no_birth_is_asked_for_it() -> None:
    """What comes of an edge node before its birth is passed over; behind it, a device or metric without one is a letter."""
    hear = Hearing()
    assert hear("g/DDATA/e/d", data(1, 22.5, 9)) == []
    assert hear.asked == ["g/e"] and hear.nodes.unborn == 1
    hear.born()
    hear.at += 5
    assert "the device has told no birth" in hear("g/DDATA/e/d", data(1, 22.5, 1))[0]
    hear.at += 5
    (reason,) = hear("g/NDATA/e", payload([metric(DOUBLE, 1.5, alias=99)], seq=2))
    assert "alias 99" in reason and hear.asked == ["g/e"] * 3


def test_a_device_that_is_not_born_again_has_died() -> None:
    """After a birth of the edge node its devices are born, and then data come: who is missing by then is dead."""
    hear = Hearing()
    hear.born("d", "f")
    assert ("alive/g/e/d", False) not in hear.born("f")
    assert hear("g/DDATA/e/f", data(1, 22.5, 2)) == [("alive/g/e/d", False), ("device/g/e/f/temp", 22.5)]
    assert hear.nodes.known() == [("g", "e", ["f"])]


def test_a_later_run_knows_who_was_alive() -> None:
    """Whoever has died meanwhile is told, whatever the number of its session; whoever is alive is asked."""
    hear = Hearing()
    hear.nodes.load([("g", "e", ["d"]), ("g", "o", [])])
    hear.nodes.ask_all(NOW)
    assert hear.asked == ["g/e", "g/o"]
    dead = [("alive/g/e/d", False), ("alive/g/e", False)]
    assert hear("g/NDEATH/e", payload([metric(UINT64, 9, name="bdSeq")], seq=None)) == dead


def test_stored_values_say_so_and_have_their_own_times() -> None:
    """A value from an edge node's store is `historical`, and is of the time that it tells."""
    hear = Hearing()
    hear.born("d")
    stored = payload([metric(DOUBLE, 1.5, alias=1, at=MS - 60_000, historical=True)], seq=2)
    (told,) = hear.nodes.take(Message("spBv1.0/g/DDATA/e/d", stored, NOW))
    assert isinstance(told, Message)
    assert json.loads(told.payload) == {"value": 1.5, "type": "Double", "time": MS - 60_000, "historical": True}


@pytest.mark.parametrize(
    ("topic", "data", "reason"),
    [
        ("g/NBIRTH/e", b"\xff\xff", "none of Sparkplug B"),
        ("g/NDATA/e", b"{}", "none of Sparkplug B"),
        ("g/NBIRTH/e", payload([block(2, block(1, b"x") + number(4, 99) + number(10, 5))], seq=0, at=MS), "type 99"),
        (
            "g/NBIRTH/e",
            payload([block(2, block(1, b"x") + number(4, STRING) + number(10, 5))], seq=0, at=MS),
            "type is String",
        ),
    ],
)
def test_poison_is_a_dead_letter(topic: str, data: bytes, reason: str) -> None:
    """With its reason; what else the payload has counts, and so does the next one."""
    hear = Hearing()
    assert any(isinstance(item, str) and reason in item for item in hear(topic, data))
    assert hear.born("d")[-1] == ("device/g/e/d/temp", 20.5)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    """Whatever comes is read, or is a dead letter."""
    hear = Hearing()
    for topic in (
        "g/NBIRTH/e",
        "g/DBIRTH/e/d",
        "g/NDATA/e",
        "g/DDATA/e/d",
        "g/NDEATH/e",
        "g/NCMD/e",
        "STATE/host",
        "g/NBIRTH",
    ):
        hear(topic, data)


VALUES: list[tuple[str, bytes, object]] = [
    ("Int8", number(10, 0xFF), -1),
    ("Int8", number(10, 0xFFFFFFFF), -1),
    ("Int16", number(10, 0x8000), -32768),
    ("Int32", number(10, 0xFFFFFFFE), -2),
    ("Int64", number(11, 2**64 - 5), -5),
    ("UInt8", number(10, 255), 255),
    ("UInt32", number(10, 2**32 - 1), 2**32 - 1),
    ("UInt64", number(11, 2**64 - 1), 2**64 - 1),
    ("Float", varint(12 << 3 | 5) + struct.pack("<f", 1.5), 1.5),
    ("Double", varint(13 << 3 | 1) + struct.pack("<d", 0.1), 0.1),
    ("Boolean", number(14, 1), True),
    ("String", block(15, "höher".encode()), "höher"),
    ("DateTime", number(11, MS), MS),
    ("UUID", block(15, b"ab"), "ab"),
    ("Bytes", block(16, b"\x00\xff"), "AP8="),
    ("Int16Array", block(16, struct.pack("<2h", -2, 3)), [-2, 3]),
    ("FloatArray", block(16, struct.pack("<2f", 1.5, -2.5)), [1.5, -2.5]),
    ("BooleanArray", block(16, struct.pack("<I", 10) + b"\x80\x40"), [True, *[False] * 8, True]),
    ("StringArray", block(16, b"abc\0\0d\0"), ["abc", "", "d"]),
    ("DateTimeArray", block(16, struct.pack("<Q", MS)), [MS]),
    (
        "DataSet",
        block(17, number(1, 2) + block(2, b"a") + block(2, b"b") + number(3, INT64) + number(3, STRING)
              + block(4, block(1, number(2, 7)) + block(1, block(6, b"x")))),
        [{"a": 7, "b": "x"}],
    ),
    (
        "Template",
        block(18, block(2, block(1, b"on") + number(4, BOOLEAN) + number(14, 1)) + block(2, block(1, b"v") + number(4, FLOAT)
              + varint(12 << 3 | 5) + struct.pack("<f", 2.5))),
        {"on": True, "v": 2.5},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "expected"), VALUES, ids=[f"{i}-{kind}" for i, (kind, _, _) in enumerate(VALUES)])
def test_values_have_their_types(kind: str, data: bytes, expected: object) -> None:
    """Numbers with a sign are sent without one, arrays as packed bytes."""
    (found,) = decode(block(2, number(4, TYPES.index(kind)) + data)).metrics
    assert value_of(found, found.datatype) == expected


@pytest.mark.parametrize("data", [struct.pack("<I", 9) + b"\x80", b"\x01"], ids=["more told than there", "cut"])
def test_an_array_that_is_cut_is_told(data: bytes) -> None:
    """It is a dead letter, and not read beyond its end."""
    kind = "BooleanArray" if len(data) > 1 else "Int32Array"
    (found,) = decode(block(2, number(4, TYPES.index(kind)) + block(16, data))).metrics
    with pytest.raises(DataError):
        value_of(found, found.datatype)


def test_the_command_is_as_the_specification_has_it() -> None:
    """One metric, a truth value, by its name."""
    expected = number(1, MS) + block(
        2, block(1, b"Node Control/Rebirth") + number(3, MS) + number(4, BOOLEAN) + number(14, 1)
    )
    assert rebirth(NOW) == expected


# --- with a broker ------------------------------------------------------------------------------------------------------

PLAN = tidelog.compile(
    """timeline integer, unit 1 ms.
input temp(edge: text, device: text, celsius: number).
input alive(edge: text, device: text, is: text).
q(X) :- temp(X, _, _). r(X) :- alive(X, _, _)."""
)
TIME = TimeSettings(path="time", format="ms")
MAPS = [
    MapSettings("temp", topic="device/{group}/{edge}/{device}/temp", fields={"celsius": "value"}, time=TIME),
    MapSettings("alive", topic="alive/{group}/{edge}/{device}", fields={"is": "to_string(alive)"}, time=TIME),
]


def source_of(running: Broker, host: str = "", name: str = "plant") -> SparkplugSource:
    settings = BrokerSettings(url=running.url, retry_longest=0.2)
    mapper = MapMapper("plant", PLAN.schema, MAPS)
    topics = [one.topic for one in MAPS]
    return SparkplugSource("plant", MqttClient(settings, name, "."), mapper, topics, groups=["g"], host=host)


async def take(source: SparkplugSource, count: int) -> list[tuple[object, ...]]:
    """So many facts: predicate and arguments."""
    found: list[tuple[object, ...]] = []
    with anyio.fail_after(WAIT):
        while len(found) < count:
            batch = await source.receive()
            assert batch is not None and batch.position is not None
            found += [(predicate, *row) for predicate, row, _, _ in batch.records]
            source.acknowledge(batch.position)
    return found


async def apart(work: Any, *given: Any) -> None:
    """Let an edge node do something while the source goes on."""
    await anyio.to_thread.run_sync(work, *given)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", [pytest.param("asyncio", marks=pytest.mark.long), "trio"])
async def test_an_edge_node_lives_and_dies(tmp_path: Path, anyio_backend: str) -> None:
    """Whoever is there already is asked for a birth; a lost message is noticed; the death comes from the broker."""
    with broker(tmp_path) as running:
        node = EdgeNode(running.port, "g", "e", {"d": {"temp": (DOUBLE, 20.5)}, "": {"load": (INT32, 1)}})
        await apart(node.start)
        async with source_of(running) as source:
            with anyio.fail_after(WAIT):
                while source.is_behind:  # noqa: ASYNC110 - until the broker has answered behind the subscription
                    await anyio.sleep(0.01)
            await apart(node.tell, "d", {"temp": 21.5})
            assert await take(source, 2) == [("alive", "e", "d", "true"), ("temp", "e", "d", 21.5)]
            await apart(eventually, lambda: node.births == 2)
            await apart(node.tell, "d", {"temp": 22.5})
            assert await take(source, 1) == [("temp", "e", "d", 22.5)]
            node.lose()
            source._nodes._nodes["g", "e"].asked_at = 0.0
            await apart(node.tell, "d", {"temp": 23.5})
            again = [("alive", "e", "d", "true"), ("temp", "e", "d", 23.5)]
            assert await take(source, 3) == [("temp", "e", "d", 23.5), *again]
            await apart(eventually, lambda: node.births == 3)
            assert source.gaps == 1
            await apart(node.die)
            assert await take(source, 1) == [("alive", "e", "d", "false")]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_primary_host_says_that_it_is_there(tmp_path: Path, anyio_backend: str) -> None:
    """Online and its last will have one time; who says that it is away is contradicted; it leaves with a word."""
    with broker(tmp_path) as running, looking(running, "spBv1.0/STATE/#") as looker:
        topic = "spBv1.0/STATE/scada"

        def states() -> list[Any]:
            return [json.loads(data) for heard, data in looker.heard if heard == topic]

        async with source_of(running, "scada") as source, anyio.create_task_group() as tasks:
            tasks.start_soon(take, source, 1)
            await apart(eventually, states)
            looker._client.publish(topic, b'{"online":false,"timestamp":1}', 1, retain=True)
            await apart(eventually, lambda: len(states()) >= 3 and states()[-1]["online"])
            tasks.cancel_scope.cancel()
        await apart(eventually, lambda: not states()[-1]["online"])
        assert [state["online"] for state in states()] == [True, False, True, False]
        assert states()[0]["timestamp"] == states()[-1]["timestamp"] > MS


PROGRAM = """timeline integer, unit 1 ms.
input temp(edge: text, device: text, celsius: number).
input alive(edge: text, device: text, is: text).
output hot(edge: text, device: text, celsius: number), dead(device: text).
hot(E, D, C) :- temp(E, D, C), C >= 80.
dead(D) :- latest alive(_, D, X) by D in [1000000000], X = false.
"""
SETTINGS = """program = "plant.tide"
lateness = "0 ms"
[[source]]
name = "plant"
type = "sparkplug"
url = "mqtt://127.0.0.1:{port}"
groups = ["g"]
host = "scada"
[[source.map]]
topic = "device/{{group}}/{{edge}}/{{device}}/temp"
predicate = "temp"
fields.celsius = "value"
[[source.map]]
topic = "alive/{{group}}/{{edge}}/{{device}}"
predicate = "alive"
fields.is = {{ path = "alive", values = {{ true = "true", false = "false" }} }}
[[sink]]
name = "told"
type = "spec"
spec = "facts+file:told.txt"
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_hears_a_plant(tmp_path: Path) -> None:
    """By its file; an edge node that is there, and one that comes; a death is an answer; unknown names are told."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    with broker(tmp_path / "broker") as running:
        file = tmp_path / "plant.toml"
        file.write_text(SETTINGS.format(port=running.port))
        told = tmp_path / "told.txt"
        nodes = [EdgeNode(running.port, "g", edge, {f"d{edge}": {"temp": (DOUBLE, 20.5)}}) for edge in "ef"]
        nodes[0].start()
        command = [sys.executable, "-m", "tidelog", "gateway", str(file)]
        with child(command) as gateway:

            def is_told(text: str) -> bool:
                nodes[0].tell("de", {"temp": 85.5})
                return told.exists() and text in told.read_text()

            eventually(lambda: is_told("hot(e,de,85.5)"), process=gateway)
            nodes[1].start()
            nodes[1].die()
            eventually(lambda: is_told("dead(df)"), process=gateway)
            assert nodes[0].rebirths
            gateway.send_signal(signal.SIGTERM)
        nodes[0].stop()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('host = "scada"', 'host = "a/b"', "which no name has"),
        ('groups = ["g"]', 'groups = ["+"]', "which no name has"),
        ('host = "scada"', 'host = "scada"\nwill = {{ topic = "x" }}', "leave `will` and `birth` away"),
    ],
)
def test_settings_that_cannot_be_are_told(tmp_path: Path, old: str, new: str, reason: str) -> None:
    """Each with its reason."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "plant.toml").write_text(SETTINGS.replace(old, new).format(port=1))
    with pytest.raises(SpecError, match=reason):
        build(read_settings(tmp_path / "plant.toml"), tmp_path)

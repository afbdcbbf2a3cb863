"""Messages that pass the library by are those that it would read and write."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tidelog.connectors.brokers.mqtt.buffered import BufferedSocket
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.packets import Incoming, packet_size, publish_packet
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings

PINGRESP = b"\xd0\x00"


class Pieces:
    """In place of a socket: gives out these pieces, one each time, and then nothing more."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = list(pieces)

    def recv(self, size: int) -> bytes:
        if not self._pieces:
            raise BlockingIOError
        found, rest = self._pieces[0][:size], self._pieces[0][size:]
        self._pieces[:1] = [rest] if rest else []
        return found

    def close(self) -> None:
        """Nothing is open."""

    def __bool__(self) -> bool:
        return bool(self._pieces)


def length_of(rest: int) -> bytes:
    """A length as MQTT has it."""
    found = bytearray()
    while True:
        rest, byte = rest >> 7, rest & 0x7F
        found.append(byte | (0x80 if rest else 0))
        if not rest:
            return bytes(found)


@st.composite
def publishes(draw: st.DrawFn, is_v5: bool) -> bytes:
    """A PUBLISH as the definition has it: of QoS 0 or 1, some with properties, some longer than one byte of length tells."""
    topic = draw(st.one_of(st.text("ab/\u20ac", min_size=1, max_size=5).map(str.encode), st.binary(max_size=4)))
    payload = draw(st.binary(max_size=6)) * draw(st.sampled_from([1, 1, 1, 40, 4000]))
    qos, flags = draw(st.sampled_from([0, 1])), draw(st.sampled_from([0, 1, 8, 9]))
    number = struct.pack("!H", draw(st.integers(1, 0xFFFF))) if qos else b""
    told = draw(st.sampled_from([b"", b"", b"\x01\x01", b"\x26\x00\x01k\x00\x01v"])) if is_v5 else b""
    properties = length_of(len(told)) + told if is_v5 else b""
    rest = struct.pack("!H", len(topic)) + topic + number + properties + payload
    return bytes([0x30 | qos << 1 | flags]) + length_of(len(rest)) + rest


@st.composite
def streams(draw: st.DrawFn, is_v5: bool) -> list[bytes]:
    """What a broker sends, cut anywhere; now and then it is no MQTT at all."""
    packets = draw(
        st.lists(st.one_of(publishes(is_v5), publishes(is_v5), st.just(PINGRESP), st.binary(max_size=3)), max_size=6)
    )
    data = b"".join(packets)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    return [piece for piece in (data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)) if piece]


def read(pieces: Sequence[bytes], version: str, *, past_library: bool) -> tuple[list[Incoming], int]:
    """The messages that come, and the code with which reading ends."""
    client = MqttClient(BrokerSettings(url="mqtt://localhost", version=cast("Any", version)), "gateway", ".")
    found: list[Incoming] = []
    client.on_message = found.append
    given = Pieces(pieces)
    link = BufferedSocket(cast("Any", given))
    own = client._client
    own._sock = cast("Any", link)
    own.on_socket_close = None
    for _ in range(10 * len(b"".join(pieces)) + 10):
        message = own.next_message(link) if past_library else None
        if message is not None:
            found.append(message)
            continue
        code = own._packet_read()
        if code not in (MQTTErrorCode.MQTT_ERR_SUCCESS, MQTTErrorCode.MQTT_ERR_AGAIN):
            return found, code
        if not link.has_read and not given:
            break
    return found, 0


@pytest.mark.parametrize("version", ["3.1.1", "5"])
@given(data=st.data())
def test_messages_are_those_that_the_library_reads(version: str, data: st.DataObject) -> None:
    """However the stream is cut, and also where it is broken: the same messages, and the same end."""
    pieces = data.draw(streams(version == "5"))
    try:
        expected = read(pieces, version, past_library=False)
    except Exception as error:
        with pytest.raises(type(error)):
            read(pieces, version, past_library=True)
    else:
        assert read(pieces, version, past_library=True) == expected


def test_plain_messages_pass_the_library_by() -> None:
    """One after the other out of one piece; what is not all there waits in it."""
    packet = b"\x32\x08\x00\x01a\x00\x07\x0021"
    link = BufferedSocket(cast("Any", Pieces([packet * 2 + packet[:5]])))
    message = Incoming(b"a", b"21", 1, 7)
    assert [link.message(is_v5=True) for _ in range(3)] == [message, message, None]
    assert link.recv(100) == packet[:5]


class Link(BufferedSocket):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__(cast("Any", Pieces([])))

    @property
    def sent(self) -> bytes:
        return bytes(self._unsent)


@pytest.mark.parametrize("version", ["3.1.1", "5"])
@given(
    topic=st.text("ab/\u20ac", min_size=1, max_size=200),
    payload=st.builds(bytes.__mul__, st.binary(max_size=3), st.sampled_from([1, 60, 9000])),
    id=st.sampled_from(["", "run-17", "r" * 130]),
    retain=st.booleans(),
)
def test_a_message_is_written_as_the_library_writes_it(
    version: str, topic: str, payload: bytes, id: str, retain: bool
) -> None:
    """Of QoS 0, with an id or without; and so long as is said."""
    is_v5 = version == "5"
    own = MqttClient(BrokerSettings(url="mqtt://localhost", version=cast("Any", version)), "gateway", ".")._client
    link = Link()
    own._sock = cast("Any", link)
    properties = None
    if id and is_v5:
        properties = cast("Any", Properties)(PacketTypes.PUBLISH)
        properties.UserProperty = ("id", id)
    own.publish(topic, payload, 0, retain, properties)
    own.loop_write()
    assert publish_packet(topic, payload, id, retain=retain, is_v5=is_v5) == link.sent
    assert packet_size(topic, payload, 0, id, is_v5=is_v5) == len(link.sent)

"""Packets of MQTT: what lets be published, how many bytes that has, why a broker refuses it, and what a broker sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from paho.mqtt.client import MQTTMessage

from tidelog.connectors.mapping.messages import NO_PROPERTIES
from tidelog.plans.diagnostics.errors import TidelogError

MAX_TOPIC = 65_535
"""The longest topic, in bytes."""
MAX_PACKET = 1 + 4 + 268_435_455
"""The largest packet, in bytes."""
_NOT_AUTHORIZED, _TOPIC_INVALID, _TOO_LARGE, _FORMAT_INVALID = 0x87, 0x90, 0x95, 0x99
_FOR_GOOD = (_NOT_AUTHORIZED, _TOPIC_INVALID, _TOO_LARGE, _FORMAT_INVALID)
"""Reasons that lie in the message, and do not pass. The others lie in the broker, and may."""
_NOT_FOUND = 0x92
"""What a broker that has lost its session says, at the end, of a message that it has taken before (QoS 2)."""


class Unsendable(TidelogError):
    """A message that cannot be published, whatever one waits for."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a broker has not taken a message, and whether it never will."""

    reason: str
    is_final: bool

    @classmethod
    def of(cls, reason: Any) -> Refusal | None:
        """The refusal that a reason code of MQTT 5 stands for; None where the message is taken.

        >>> from paho.mqtt.packettypes import PacketTypes
        >>> from paho.mqtt.reasoncodes import ReasonCode
        >>> Refusal.of(ReasonCode(PacketTypes.PUBACK, "Quota exceeded"))
        Refusal(reason='the broker refuses it: quota exceeded', is_final=False)
        """
        if not reason.is_failure or reason.value == _NOT_FOUND:
            return None
        return cls(f"the broker refuses it: {str(reason).lower()}", reason.value in _FOR_GOOD)


def check_packet(topic: str, size: int) -> None:
    """Unsendable for a message that MQTT does not have; `size` is that of its packet, in bytes."""
    length = len(topic.encode())
    if not length:
        raise Unsendable("its topic is empty")
    if length > MAX_TOPIC:
        raise Unsendable(f"its topic has {length} bytes, and MQTT has {MAX_TOPIC} at most")
    if size > MAX_PACKET:
        raise Unsendable(f"its packet has {size} bytes, and MQTT has {MAX_PACKET} at most")


def publish_packet(topic: str, payload: bytes, id: str, *, retain: bool, is_v5: bool, epoch: str = "") -> bytes:
    r"""A PUBLISH of QoS 0, with `id`, and `epoch`, among its user properties (MQTT 5).

    >>> publish_packet("a/b", b"21.5", "", retain=False, is_v5=False)
    b'0\t\x00\x03a/b21.5'
    """
    name = topic.encode()
    properties = PackedNames(id, epoch).pack() if is_v5 else b""
    rest = b"".join((_text(name), properties, payload))
    return b"".join((_RETAINED_PUBLISH if retain else _PLAIN_PUBLISH, _length(len(rest)), rest))


class PackedNames:
    r"""The properties of a PUBLISH with `id`, and `epoch`, among its user properties, in place of the library's own, which
    take 40 µs.

    >>> PackedNames("").pack(), PackedNames("a").pack(), PackedNames("a", "2").pack()
    (b'\x00', b'\x08&\x00\x02id\x00\x01a', b'\x13&\x00\x02id\x00\x01a&\x00\x05epoch\x00\x012')
    """

    __slots__ = ("_packed",)

    def __init__(self, id: str, epoch: str = "") -> None:
        pairs = ((b"id", id), (b"epoch", epoch))
        told = b"".join(b"\x26" + _text(key) + _text(value.encode()) for key, value in pairs if value)
        self._packed = _length(len(told)) + told

    def pack(self) -> bytes:
        """As bytes, with their length."""
        return self._packed


def _text(data: bytes) -> bytes:
    return len(data).to_bytes(2) + data


def _length(rest: int) -> bytes:
    """A length: seven bits of it a byte, the least first; the others have a mark."""
    found = []
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def packet_size(topic: str, payload: bytes, qos: int, id: str, *, is_v5: bool, epoch: str = "") -> int:
    """How many bytes a PUBLISH has, with `id`, and `epoch`, among its user properties (MQTT 5).

    >>> packet_size("a/b", b"21.5", 1, "", is_v5=True)
    14
    """
    rest = 2 + len(topic.encode()) + (2 if qos else 0) + len(payload)
    if is_v5:
        properties = 1 + 2 + len(b"id") + 2 + len(id.encode()) if id else 0
        properties += 1 + 2 + len(b"epoch") + 2 + len(epoch.encode()) if epoch else 0
        rest += _length_bytes(properties) + properties
    return 1 + _length_bytes(rest) + rest


def _length_bytes(length: int) -> int:
    """How many bytes a length takes: seven bits of it a byte."""
    return max(1, -(-length.bit_length() // 7))


class Incoming(msgspec.Struct, frozen=True, gc=False):
    """A message as a broker sends it. `number` is that of its packet, 0 with QoS 0."""

    topic: bytes
    payload: bytes
    qos: int = 0
    number: int = 0
    is_repeated: bool = False
    is_retained: bool = False
    properties: Mapping[str, str] = NO_PROPERTIES

    @classmethod
    def of(cls, read: MQTTMessage) -> Incoming:
        """What the library has read."""
        told = getattr(read.properties, "UserProperty", None)
        properties = dict(told) if told else NO_PROPERTIES
        return cls(read._topic, bytes(read.payload), read.qos, read.mid, read.dup, read.retain, properties)


_PLAIN_PUBLISH, _RETAINED_PUBLISH = b"\x30", b"\x31"
_PUBLISH, _KIND, _QOS, _REPEATED, _RETAINED = 0x30, 0xF4, 0x02, 0x08, 0x01
"""How a PUBLISH of QoS 0 or 1 begins, in which bits that shows, and its flags."""


def read_message(data: bytes, at: int, *, is_v5: bool) -> tuple[Incoming, int] | None:
    r"""The message whose packet begins there, and where the packet ends, in one pass.

    None for what the library has to read: another packet, one that is not all there, has properties (MQTT 5), or is wrong.

    >>> message, end = read_message(b"\x30\x05\x00\x01a21", 0, is_v5=False)
    >>> message.topic, message.payload, end
    (b'a', b'21', 7)
    """
    first, begin, end = data[at], *_rest(data, at + 1)
    if first & _KIND != _PUBLISH or end > len(data) or end < begin + 2:
        return None
    qos = (first & _QOS) >> 1
    topic = begin + 2
    behind = topic + (data[begin] << 8 | data[begin + 1])
    payload = behind + 2 * qos + is_v5
    if payload > end or (is_v5 and data[payload - 1]) or (behind == topic and not is_v5):
        return None
    number = data[behind] << 8 | data[behind + 1] if qos else 0
    is_repeated, is_retained = first & _REPEATED > 0, first & _RETAINED > 0
    return Incoming(data[topic:behind], data[payload:end], qos, number, is_repeated, is_retained), end


def _rest(data: bytes, at: int) -> tuple[int, int]:
    """Where what a packet's length counts begins and ends; an end behind all data where it is not there, or wrong."""
    length = 0
    for i, byte in enumerate(data[at : at + 4]):
        length |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            begin = at + i + 1
            return begin, begin + length
    return at, len(data) + 1

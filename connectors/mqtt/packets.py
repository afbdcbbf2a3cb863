"""What MQTT lets be published, how many bytes that has, and why a broker refuses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


def packet_size(topic: str, payload: bytes, qos: int, id: str, *, is_v5: bool) -> int:
    """How many bytes a PUBLISH has, with `id` among its user properties (MQTT 5).

    >>> packet_size("a/b", b"21.5", 1, "", is_v5=True)
    14
    """
    rest = 2 + len(topic.encode()) + (2 if qos else 0) + len(payload)
    if is_v5:
        properties = 1 + 2 + len(b"id") + 2 + len(id.encode()) if id else 0
        rest += _length_bytes(properties) + properties
    return 1 + _length_bytes(rest) + rest


def _length_bytes(length: int) -> int:
    """How many bytes a length takes: seven bits of it a byte."""
    return max(1, -(-length.bit_length() // 7))

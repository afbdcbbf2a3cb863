"""An edge node of Sparkplug B, as the specification has it: session, births, deaths, aliases, numbers, and rebirth.

Payloads are written byte by byte here (protobuf's wire format), so that nothing is shared with what reads them.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from children import WAIT
from waiting import eventually

INT32, INT64, UINT64, FLOAT, DOUBLE, BOOLEAN, STRING = 3, 4, 8, 9, 10, 11, 12


def varint(number: int) -> bytes:
    """A number, seven bits a byte, the least first."""
    found = bytearray()
    while True:
        number, digit = number >> 7, number & 0x7F
        found.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(found)


def number(place: int, value: int) -> bytes:
    """A field that is a number or a truth value."""
    return varint(place << 3) + varint(value)


def block(place: int, data: bytes) -> bytes:
    """A field of so many bytes: text, bytes, or a message."""
    return varint(place << 3 | 2) + varint(len(data)) + data


def value(datatype: int, given: Any) -> bytes:
    """The field with the value of a metric."""
    if datatype in (INT64, UINT64):
        return number(11, given % (1 << 64))
    if datatype == FLOAT:
        return varint(12 << 3 | 5) + struct.pack("<f", given)
    if datatype == DOUBLE:
        return varint(13 << 3 | 1) + struct.pack("<d", given)
    if datatype == BOOLEAN:
        return number(14, int(given))
    return block(15, given.encode()) if datatype == STRING else number(10, given % (1 << 32))


def metric(
    datatype: int, given: Any, *, name: str = "", alias: int | None = None, at: int | None = None, historical: bool = False
) -> bytes:
    """A metric; None is null. The type is told with the name alone, as in births."""
    found = block(1, name.encode()) if name else b""
    found += number(2, alias) if alias is not None else b""
    found += number(3, at) if at is not None else b""
    found += number(4, datatype) if name else b""
    found += number(5, 1) if historical else b""
    return block(2, found + (number(7, 1) if given is None else value(datatype, given)))


def payload(metrics: Iterable[bytes], *, seq: int | None, at: int | None = None) -> bytes:
    """A payload."""
    sent = int(time.time() * 1000) if at is None else at
    return number(1, sent) + b"".join(metrics) + (number(3, seq) if seq is not None else b"")


@dataclass
class Tag:
    """A metric of the simulator: its type and its value, which is told by `alias`."""

    datatype: int
    value: Any
    alias: int


class EdgeNode:
    """Lives from `start` to `die`; `devices` have metrics by their names. It answers a command to be born again."""

    def __init__(self, port: int, group: str, edge: str, devices: Mapping[str, Mapping[str, tuple[int, Any]]]) -> None:
        self._port, self._group, self._edge = port, group, edge
        self._tags: dict[str, dict[str, Tag]] = {}
        aliases = iter(range(1, 1_000_000))
        for device, tags in devices.items():
            self._tags[device] = {name: Tag(*told, next(aliases)) for name, told in tags.items()}
        self._bd_seq, self._seq = -1, 0
        self._lock = threading.RLock()
        self.births = 0
        self.rebirths = 0
        self.skips = 0
        self._client: Client

    def _topic(self, kind: str, device: str = "") -> str:
        return f"spBv1.0/{self._group}/{kind}/{self._edge}" + (f"/{device}" if device else "")

    def _bd_metric(self) -> bytes:
        return metric(UINT64, self._bd_seq, name="bdSeq")

    def start(self) -> None:
        """Connect with the certificate of death as last will, subscribe to commands, and be born."""
        self._bd_seq += 1
        before = self.births
        self._client = Client(CallbackAPIVersion.VERSION2, client_id=f"{self._group}-{self._edge}")
        self._client.will_set(self._topic("NDEATH"), payload([self._bd_metric()], seq=None), 1, retain=False)
        self._client.on_message = self._command
        self._client.on_subscribe = lambda *_: self.be_born()
        self._client.on_connect = lambda client, *_: client.subscribe(self._topic("NCMD"), 1)
        self._client.connect("127.0.0.1", self._port)
        self._client.loop_start()
        eventually(lambda: self.births > before)

    def _command(self, _client: Client, _data: object, message: Any) -> None:
        if b"Node Control/Rebirth" in message.payload:
            self.be_born()
            self.rebirths += 1

    def be_born(self) -> None:
        """Tell all that there is: the edge node first, then its devices."""
        with self._lock:
            self._seq = -1
            control = metric(BOOLEAN, False, name="Node Control/Rebirth")
            self._publish("NBIRTH", "", [self._bd_metric(), control, *self._born("")])
            for device in self._tags:
                if device:
                    self._publish("DBIRTH", device, self._born(device))
            self.births += 1

    def _born(self, device: str) -> list[bytes]:
        tags = self._tags.get(device, {})
        return [metric(tag.datatype, tag.value, name=name, alias=tag.alias) for name, tag in tags.items()]

    def _publish(self, kind: str, device: str, metrics: Iterable[bytes], at: int | None = None) -> None:
        with self._lock:
            self._seq = (self._seq + 1) % 256
            self._client.publish(self._topic(kind, device), payload(metrics, seq=self._seq, at=at), 0)

    def tell(self, device: str, told: Mapping[str, Any], *, at: int | None = None, historical: bool = False) -> None:
        """Values that have changed, by their aliases."""
        found = []
        with self._lock:
            for name, given in told.items():
                tag = self._tags[device][name]
                tag.value = given
                found.append(metric(tag.datatype, given, alias=tag.alias, at=at, historical=historical))
            self._publish("DDATA" if device else "NDATA", device, found)

    def lose(self) -> None:
        """One of its messages does not arrive."""
        with self._lock:
            self._seq = (self._seq + 1) % 256

    def end_device(self, device: str, *, is_told: bool = True) -> None:
        """A device dies; without a word, it is missing at the next birth alone."""
        with self._lock:
            del self._tags[device]
            if is_told:
                self._publish("DDEATH", device, [])

    def add_device(self, device: str, tags: Mapping[str, tuple[int, Any]]) -> None:
        """A device is born."""
        with self._lock:
            first = 1 + max((tag.alias for tags in self._tags.values() for tag in tags.values()), default=0)
            self._tags[device] = {name: Tag(*told, alias) for alias, (name, told) in enumerate(tags.items(), first)}
            self._publish("DBIRTH", device, self._born(device))

    def die(self) -> None:
        """The connection breaks: the broker tells it."""
        link = self._client.socket()
        self._client.loop_stop()
        if link is not None:
            link.close()

    def stop(self) -> None:
        """Leave for good, without a word: what a test does at its end."""
        self._client.disconnect()
        self._client.loop_stop()


__all__ = ["WAIT", "EdgeNode", "metric", "payload"]

"""paho-mqtt's client, with what it does otherwise here.

What comes and goes by thousands, and changes nothing of the protocol's state, passes the library by, which takes 25 µs for a
message: plain messages that come, those of QoS 0 that go, and receipts.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import MessageType
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tidelog.connectors.brokers.mqtt.buffered import BufferedSocket
from tidelog.connectors.brokers.mqtt.packets import Incoming

CONNECT_SECONDS = 15.0
"""For how long a broker may take to let somebody in."""
PROPERTIES_OF: Callable[[int], Properties] = Properties
"""The library's class, with the type that it does not tell."""
_FIRST_FAILURE = 0x80
"""The least reason code of MQTT 5 that says that something was refused."""
_RECEIPT = struct.Struct("!BBH").pack
_NOBODY_HEARS = (b"\x10", b"\x10\x00")
"""What a receipt says more where the broker has the message, and nobody has subscribed to it."""
_PLAIN_RECEIPT, _TAKEN, _NOTHING = 2, ReasonCode(PacketTypes.PUBACK), PROPERTIES_OF(PacketTypes.PUBACK)
"""How many bytes a receipt without a reason has, and what it tells."""


class BufferingClient(Client):
    """Reads and writes in large pieces: four system calls a message become one for hundreds of them."""

    tls: ssl.SSLContext | None = None
    """With it the connection is encrypted, and the broker's certificate looked at."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.begin()
        self.on_answer: Callable[[int], None] = lambda number: None

    def begin(self) -> None:
        """A connection begins: what was asked on another one is not answered."""
        self._asked = self._answered = 0

    def ask(self) -> int:
        """Ask the broker for an answer (a ping), which `on_answer` tells with this number; 0 where it cannot be asked."""
        if not self.is_connected() or self._send_simple_command(MessageType.PINGREQ) != 0:
            return 0
        self._asked += 1
        return self._asked

    def next_message(self, link: BufferedSocket) -> Incoming | None:
        """The message that comes next, past the library; None where that has to read: it may be within a packet."""
        message = None if self._in_packet["command"] else link.message(is_v5=self._protocol == MQTTv5)
        if message is not None:
            self._last_bytes_received = time.monotonic()  # as the library does, which looks whether the broker is there
        return message

    def acknowledge(self, numbers: Sequence[int]) -> None:
        """Tell the broker that these messages of QoS 1 have been taken for good, all in one piece."""
        self.send(b"".join([_RECEIPT(MessageType.PUBACK, 2, mid) for mid in numbers]))

    def send(self, packets: bytes) -> None:
        """Let packets wait for `flush` that the library need not know. Without a connection they are lost, as with it."""
        link = self._sock
        if self.is_connected() and isinstance(link, BufferedSocket):
            link.add(packets)
            self._last_msg_out = time.monotonic()

    def _send_pingreq(self) -> Any:
        self._asked += 1
        return super()._send_pingreq()

    def _handle_pingresp(self) -> Any:
        code = super()._handle_pingresp()
        self._answered += 1
        self.on_answer(self._answered)
        return code

    def _handle_pubackcomp(self, cmd: Any) -> Any:
        """A receipt without a reason, as most are: the library makes more of it than it says."""
        packet = self._in_packet["packet"]
        if len(packet) != _PLAIN_RECEIPT and bytes(packet[_PLAIN_RECEIPT:]) not in _NOBODY_HEARS:
            return super()._handle_pubackcomp(cmd)
        mid = int.from_bytes(packet[:_PLAIN_RECEIPT])
        with self._out_message_mutex:
            return self._do_on_publish(mid, _TAKEN, _NOTHING) if mid in self._out_messages else 0

    def _handle_pubrec(self) -> Any:
        """The library passes over the reason; a message that is refused (QoS 2) has come to its end here."""
        packet = bytes(self._in_packet["packet"])
        if self._protocol != MQTTv5 or len(packet) < 3 or packet[2] < _FIRST_FAILURE:
            return super()._handle_pubrec()
        mid, reason = int.from_bytes(packet[:2]), ReasonCode(PacketTypes.PUBREC, identifier=packet[2])
        with self._out_message_mutex:
            return self._do_on_publish(mid, reason, PROPERTIES_OF(PacketTypes.PUBREC)) if mid in self._out_messages else 0

    def withdraw(self, mid: int) -> None:
        """Forget a message that waits, so that it is not sent again."""
        with self._out_message_mutex:
            self._out_messages.pop(mid, None)

    def _create_socket(self) -> Any:
        plain = cast("socket.socket", super()._create_socket())
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or the system holds back small ones for up to 40 ms
        if self.tls is None:
            return BufferedSocket(plain)
        secure = None
        try:
            secure = self.tls.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
            secure.settimeout(CONNECT_SECONDS)
            secure.do_handshake()
        except BaseException:
            (secure or plain).close()
            raise
        return BufferedSocket(secure)

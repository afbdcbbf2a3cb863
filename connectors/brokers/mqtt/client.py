"""A connection to a broker that is kept up for ever, on trio or asyncio.

paho-mqtt keeps the protocol's state, 3.1.1 and 5 alike, and is maintained by Eclipse with Mosquitto itself; its own loop and
threads are not used. It reads and writes where this module tells it to, in the event loop's task: so a message costs no
hand-over between threads, and waits where the engine does. Only connecting (names, TCP, TLS), which the library does not
offer otherwise, is done in a thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup
from paho.mqtt.client import MQTT_CLEAN_START_FIRST_ONLY, Client, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from tidelog.connectors.brokers.mqtt.buffered import BufferedSocket
from tidelog.connectors.brokers.mqtt.library import CONNECT_SECONDS, PROPERTIES_OF, BufferingClient
from tidelog.connectors.brokers.mqtt.packets import (
    Incoming,
    PackedNames,
    Refusal,
    Unsendable,
    check_packet,
    packet_size,
    publish_packet,
)
from tidelog.connectors.brokers.mqtt.settings import Broker, BrokerSettings, WillSettings, tls_context
from tidelog.connectors.transport.backoff import FIRST_PAUSE, pause_before
from tidelog.plans.diagnostics.errors import SpecError

logger = logging.getLogger("tidelog")

_LOOK_SECONDS = 5.0
"""How often, at the least, it is seen whether the broker is still there."""
REST = 0.002
"""How many seconds lie between two readings where messages come closer together: to be woken costs more than a message."""
_READ_AT_ONCE = 1024
"""After so many packets others have their turn."""


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """Whether the broker is there, how often it was found, and why it is not."""

    is_connected: bool = False
    connections: int = 0
    problem: str = ""


class MqttClient:
    """One client of a broker: connects, and goes on doing so with back-off and jitter, as long as `async with` or `run`.

    `on_session(is_present)` is called each time that the broker lets it in, and tells whether the broker has kept its
    session; `on_message` for each message; `on_read` when those that were there have been read, of which the next may wait a
    little where `may_rest()` says so; `on_published(mid, refusal)` once the broker has taken one, or refused it;
    `on_answer(number)` when it has answered what was asked by `ask`. `before_connecting` gives the settings, whose last will
    and birth may be others each time. What is published with QoS 0, and receipts, wait for
    `flush`. One that is only passing (`is_passing`) has `client_id` whatever the settings say, leaves no session behind, and
    has no will. SpecError for settings that cannot be used.
    """

    def __init__(self, settings: BrokerSettings, client_id: str, folder: str, *, is_passing: bool = False) -> None:
        if is_passing:
            settings = msgspec.structs.replace(settings, client_id=client_id, will=None, birth=None, session_expiry=0)
        self.settings = settings
        self.broker = Broker.parse(settings.url)
        self.name = f"mqtt://{self.broker}"
        self._folder = folder
        self.is_v5 = settings.version == "5"
        self.epoch = ""
        """Under which epoch of a lease messages are published, where there is one: it is among their user properties."""
        self.on_session: Callable[[bool], None] = lambda is_present: None
        self.on_message: Callable[[Incoming], None] = lambda message: None
        self.on_read: Callable[[], None] = lambda: None
        self.may_rest: Callable[[], bool] = lambda: False
        self.on_published: Callable[[int, Refusal | None], None] = lambda mid, refusal: None
        self.on_answer: Callable[[int], None] = lambda number: None
        self.before_connecting: Callable[[BrokerSettings], BrokerSettings] | None = None
        self._client = self._make(settings.client_id or client_id, is_passing)
        self._statistics = ClientStatistics()
        self._refusal = ""
        self._largest: int | None = None  # the largest packet that the broker takes, in bytes
        self._wanted = anyio.Event()
        self._resumed: anyio.Event | None = None
        self._is_looped = False
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> MqttClient:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self.run)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._tasks is not None:
            tasks, self._tasks = self._tasks, None
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)

    def _make(self, client_id: str, is_passing: bool) -> BufferingClient:
        client = BufferingClient(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            protocol=MQTTv5 if self.is_v5 else MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
            clean_session=None if self.is_v5 else is_passing,
        )
        client.connect_timeout = CONNECT_SECONDS
        client.max_inflight_messages_set(1000)
        client.on_connect = self._let_in
        client.on_message = lambda _client, _data, message: self.on_message(Incoming.of(message))
        client.on_publish = lambda _client, _data, mid, reason, _properties: self.on_published(mid, Refusal.of(reason))
        client.on_answer = self._tell_answer
        client.on_subscribe = self._subscribed
        client.on_disconnect = self._left
        client.on_socket_register_write = lambda _client, _data, _socket: self._want_write()
        client.on_socket_close = self._closing
        self._will_to(client)
        client.connect_async(
            self.broker.host,
            self.broker.port,
            self.settings.keep_alive,
            clean_start=False if self.is_v5 else MQTT_CLEAN_START_FIRST_ONLY,
            properties=self._properties() if self.is_v5 else None,
        )
        return client

    def _will_to(self, client: Client) -> None:
        will = self.settings.will
        if will is not None:
            client.will_set(will.topic, will.payload, will.qos, will.retain)

    def _properties(self) -> Properties:
        properties = PROPERTIES_OF(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = self.settings.session_expiry
        properties.ReceiveMaximum = self.settings.max_inflight
        return properties

    def statistics(self) -> ClientStatistics:
        """How it stands."""
        return self._statistics

    # --- what others ask for ---------------------------------------------------------------------------------------------

    def subscribe(self, filters: Sequence[str], qos: int) -> None:
        """Ask for messages. Those that the broker has retained come once, and not again while the session goes on."""
        if self.is_v5:
            options = [(text, SubscribeOptions(qos=qos, retainHandling=1)) for text in filters]
            self._client.subscribe(options)
        else:
            self._client.subscribe([(text, qos) for text in filters])

    def unsubscribe(self, filters: Sequence[str]) -> None:
        """Ask for no more of these."""
        self._client.unsubscribe(list(filters))

    def acknowledge(self, numbers: Sequence[int]) -> None:
        """Tell the broker that these messages of QoS 1 have been taken for good."""
        self._client.acknowledge(numbers)

    def ask(self) -> int:
        """Ask the broker for an answer: then it has had all that was sent before. 0 where there is no connection."""
        return self._client.ask()

    def publish(self, topic: str, payload: bytes, qos: int, *, retain: bool, id: str = "") -> int:
        """Hand over a message, with `id` among its user properties (MQTT 5); returns what `on_published` is told then, which
        is told nothing with QoS 0.

        Unsendable where MQTT has no such message, or the broker takes none that is so large.
        """
        size = self.packet_size(topic, payload, qos, id)
        check_packet(topic, size)
        self.check_size(size)
        if not qos:
            self._client.send(publish_packet(topic, payload, id, retain=retain, is_v5=self.is_v5, epoch=self.epoch))
            return 0
        properties = cast("Properties", PackedNames(id, self.epoch)) if self.is_v5 and (id or self.epoch) else None
        return self._client.publish(topic, payload, qos, retain, properties).mid

    def packet_size(self, topic: str, payload: bytes, qos: int, id: str) -> int:
        """How many bytes a message has as `publish` sends it."""
        return packet_size(topic, payload, qos, id, is_v5=self.is_v5, epoch=self.epoch)

    def flush(self) -> None:
        """Send what waits, as far as the system takes it now. The writer has the rest, and meets what goes wrong."""
        link = self._client.socket()
        if self._is_looped and isinstance(link, BufferedSocket):
            with suppress(OSError):
                link.flush()
            if not link.is_flushed:
                self._wanted.set()

    def check_size(self, size: int) -> None:
        """Unsendable where the broker takes no packet of so many bytes, as far as it has said."""
        if self._largest is not None and size > self._largest:
            raise Unsendable(f"its packet has {size} bytes, and the broker takes {self._largest} at most")

    def withdraw(self, mid: int) -> None:
        """Do not send a message again that was handed over and is not taken yet. To be called in `on_session`."""
        self._client.withdraw(mid)

    def pause(self) -> None:
        """Read nothing more until `resume`."""
        if self._resumed is None:
            self._resumed = anyio.Event()

    def resume(self) -> None:
        """Go on reading."""
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None

    # --- running ---------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Connect, and serve the connection; again and again, until cancelled. Then the broker is told good-bye."""
        failures = 0
        try:
            while True:
                before = self._statistics.connections
                problem = await self._once()
                failures = 1 if self._statistics.connections > before else failures + 1
                pause = pause_before(failures, FIRST_PAUSE, self.settings.retry_longest)
                self._statistics = ClientStatistics(False, self._statistics.connections, problem)
                logger.warning("%s: %s; trying again in %.1f s", self.name, problem, pause)
                await anyio.sleep(pause)
        finally:
            with anyio.CancelScope(shield=True):
                await self._say_goodbye()

    async def try_once(self) -> None:
        """Connect, and leave again: OSError where the broker does not let it in."""
        with anyio.fail_after(CONNECT_SECONDS):
            async with anyio.create_task_group() as tasks:
                let_in = anyio.Event()
                self.on_session = lambda is_present: let_in.set()
                problems: list[str] = []

                async def serve() -> None:
                    problems.append(await self._once())
                    let_in.set()

                tasks.start_soon(serve)
                await let_in.wait()
                tasks.cancel_scope.cancel()
        await self._say_goodbye()
        if problems:
            raise ConnectionError(problems[0])

    async def _once(self) -> str:
        """One connection, from its begin to its end; returns why it ended."""
        self._is_looped, self._refusal = False, ""
        self._client.begin()
        if self.before_connecting is not None:
            self.settings = self.before_connecting(self.settings)
            self._will_to(self._client)
        try:
            if self.settings.user:
                self._client.username_pw_set(self.settings.user, self._password())
            if self.broker.is_tls:
                self._client.tls = tls_context(self.settings, self._folder)
            await anyio.to_thread.run_sync(self._client.reconnect, abandon_on_cancel=True)
        except (OSError, ValueError, SpecError) as error:
            return _reason(error)
        return await self._serve()

    def _password(self) -> str | None:
        return None if self.settings.password is None else self.settings.password.reveal(self._folder)

    async def _serve(self) -> str:
        link = self._client.socket()
        if not isinstance(link, BufferedSocket):
            return "connection lost"
        self._is_looped, self._wanted = True, anyio.Event()
        lost: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def until_lost(work: Callable[[BufferedSocket], Any]) -> None:
                try:
                    await work(link)
                except (OSError, anyio.ClosedResourceError, anyio.BusyResourceError) as error:
                    lost.append(self._refusal or _reason(error))
                    tasks.cancel_scope.cancel()

            for work in (self._read, self._write, self._look):
                tasks.start_soon(until_lost, work)
        self._is_looped = False
        return lost[0]

    async def _read(self, link: BufferedSocket) -> None:
        """Read what comes: the first at once, and, while more comes soon, what has come every `REST` seconds."""
        before, has_rested = -inf, False
        while True:
            while self._resumed is not None:
                await self._resumed.wait()
            if not has_rested:
                await (anyio.lowlevel.checkpoint() if link.has_read else anyio.wait_readable(link.raw))
            now, count = anyio.current_time(), self._read_pieces(link)
            comes_soon = count > 1 or (count == 1 and now - before < REST)
            has_rested = comes_soon and link.is_drained and self.may_rest()
            self.on_read()
            if not link.is_flushed:
                self.flush()
            if has_rested:
                await anyio.sleep(REST)
            before = now

    def _read_pieces(self, link: BufferedSocket) -> int:
        """Read what there is, up to a bound; returns how many messages that were."""
        count = 0
        for _ in range(_READ_AT_ONCE):  # the library asks for more than there is, so this has no other end
            message = self._client.next_message(link)
            if message is not None:
                self.on_message(message)
                count += 1
            else:
                self._check(self._client.loop_read())
            if self._resumed is not None or not link.has_read:
                break
        return count

    async def _write(self, link: BufferedSocket) -> None:
        while True:
            self._wanted = anyio.Event()
            self._check(self._client.loop_write())
            link.flush()
            while not link.is_flushed:
                await anyio.wait_writable(link.raw)
                link.flush()
            if not self._client.want_write():
                await self._wanted.wait()

    async def _look(self, link: BufferedSocket) -> None:
        """Ping the broker in time, and see that it answers; at first, that it lets anybody in at all.

        While nothing is read, no answer is seen: then it is only pinged, or it would take the client for dead.
        """
        until = anyio.current_time() + CONNECT_SECONDS
        while True:
            await anyio.sleep(min(_LOOK_SECONDS, self.settings.keep_alive / 2 or _LOOK_SECONDS))
            if not self._statistics.is_connected and anyio.current_time() >= until:
                raise ConnectionError(self._refusal or f"no answer within {CONNECT_SECONDS:g} s")
            if not self._statistics.is_connected:
                continue
            if self._resumed is None:
                self._check(self._client.loop_misc())
            else:
                self.ask()

    def _check(self, code: int) -> None:
        if code != 0 or self._client.socket() is None:
            raise ConnectionError(self._refusal or "connection lost")

    async def _say_goodbye(self) -> None:
        """Leave in order: then the broker does not send the last will, so it is published here."""
        link = self._client.socket()
        if self._client.is_connected() and isinstance(link, BufferedSocket):
            if self.settings.will is not None:
                self._announce(self.settings.will)
            with suppress(OSError):
                self._client.disconnect()
                self._client.loop_write()
                link.flush()
        if isinstance(link, BufferedSocket):
            link.close()
        self._is_looped = False
        self._statistics = ClientStatistics(False, self._statistics.connections)

    def announce_birth(self) -> None:
        """Tell that one is there, as the settings say."""
        if self.settings.birth is not None and self._statistics.is_connected:
            self._announce(self.settings.birth)

    def _announce(self, message: WillSettings) -> None:
        try:
            self.publish(message.topic, message.payload.encode(), message.qos, retain=message.retain)
            self.flush()
        except Unsendable as error:
            logger.error("%s: `%s` cannot be told: %s", self.name, message.topic, error)

    # --- what the library tells -------------------------------------------------------------------------------------------

    def _let_in(self, _client: Client, _data: object, flags: Any, reason: Any, properties: object) -> None:
        if reason.is_failure:
            self._refusal = f"the broker does not let `{self._client_id}` in: {str(reason).lower()}"
            return
        self._statistics = ClientStatistics(True, self._statistics.connections + 1)
        self._largest = getattr(properties, "MaximumPacketSize", None)
        logger.info("%s: connected as `%s`", self.name, self._client_id)
        self.on_session(bool(flags.session_present))
        self.announce_birth()

    @property
    def _client_id(self) -> str:
        return bytes(self._client._client_id).decode()

    def _subscribed(self, _client: Client, _data: object, _mid: int, reasons: Sequence[Any], _properties: object) -> None:
        for reason in reasons:
            if reason.is_failure:
                logger.error("%s: the broker refuses a subscription: %s", self.name, str(reason).lower())

    def _tell_answer(self, number: int) -> None:
        self.on_answer(number)

    def _left(self, _client: Client, _data: object, _flags: object, reason: Any, _properties: object) -> None:
        self._statistics = ClientStatistics(False, self._statistics.connections)
        if reason is not None and reason.is_failure and not self._refusal:
            told = str(reason).lower()
            self._refusal = "connection lost" if told == "unspecified error" else f"connection lost: {told}"

    def _want_write(self) -> None:
        if self._is_looped:
            self._wanted.set()

    def _closing(self, _client: Client, _data: object, link: Any) -> None:
        if self._is_looped and isinstance(link, BufferedSocket):
            anyio.notify_closing(link.raw)


def _reason(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or "connection lost"
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]

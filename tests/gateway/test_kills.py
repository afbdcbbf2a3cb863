"""A gateway with a state, a broker and a receiver, each of which is killed, and a network that breaks: nothing is lost, and
nothing is told as something new."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from killed import Child
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from brokers import Broker, broker, free_port
from children import WAIT
from services import gateway_of
from waiting import eventually
from wires import Wire

PROGRAM = """timeline integer, unit 1 ms.
input temp(machine: text, celsius: number, n: integer).
output hot.
hot(M, N) :- temp(M, C, N), C >= 80.
"""

SETTINGS = """program = "plant.tide"
emit = "intervals"
lateness = "1 h"
state = "state"
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
retry_longest = 0.2
[[source.map]]
topic = "plant/{{machine}}/temp"
predicate = "temp"
[[sink]]
name = "alarms"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
topic = "alarms/{{arg1}}"
payload = {{ n = "{{arg2}}" }}
retry_longest = 0.2
"""


TIMED = SETTINGS.replace('predicate = "temp"', 'predicate = "temp"\ntime = {{ path = "t", format = "ms" }}')
TO_FILE = TIMED.partition("[[sink]]")[0] + '[[sink]]\nname = "alarms"\ntype = "spec"\nspec = "jsonl+file:alarms.jsonl"\n'
TO_WEBHOOK = (
    TIMED.partition("[[sink]]")[0]
    + """[[sink]]
name = "alarms"
type = "webhook"
url = "http://127.0.0.1:{hook}/"
payload = {{ n = "{{arg2}}" }}
retry_longest = 0.2
"""
)
IMPATIENT = SETTINGS.replace("retry_longest = 0.2", "retry_longest = 0.2\nkeep_alive = 2")
KILLS = int(os.environ.get("KILLS", "5"))

RECEIVER = """import json, os, sys
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

file = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def hear(client, data, message):
    name, number = dict(message.properties.UserProperty)["id"], json.loads(message.payload)["n"]
    os.write(file, f"{name} {number}\\n".encode())
    client.ack(message.mid, message.qos)

properties = Properties(PacketTypes.CONNECT)
properties.SessionExpiryInterval = 3600
client = Client(CallbackAPIVersion.VERSION2, client_id="listener", protocol=MQTTv5, manual_ack=True)
client.on_message = hear
client.on_connect = lambda client, *_: client.subscribe("alarms/#", 1)
client.connect("127.0.0.1", int(sys.argv[1]), clean_start=False, properties=properties)
client.loop_forever()
"""

WEBHOOK = """import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

file = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        number = json.loads(self.rfile.read(int(self.headers["content-length"])))["n"]
        os.write(file, f"{self.headers['webhook-id']} {number}\\n".encode())
        self.send_response(200)
        self.end_headers()

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def session(seconds: int = 3600) -> Properties:
    """A session that the broker keeps."""
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = seconds
    return properties


class Receiver:
    """Hears the alarms, and drops those whose id it has: so each answer counts once, however often it came."""

    def __init__(self, running: Broker) -> None:
        self.numbers: list[int] = []
        self._ids: set[str] = set()
        self.client = Client(CallbackAPIVersion.VERSION2, client_id="receiver", protocol=MQTTv5)
        self.client.on_message = self._hear
        self.client.on_connect = lambda client, *_: client.subscribe("alarms/#", 1)
        self.client.reconnect_delay_set(1, 1)
        self.client.connect("127.0.0.1", running.port, clean_start=False, properties=session())
        self.client.loop_start()

    def _hear(self, _client: Client, _data: object, message: Any) -> None:
        name = dict(message.properties.UserProperty)["id"]
        if name not in self._ids:
            self._ids.add(name)
            self.numbers.append(json.loads(message.payload)["n"])


def publish(client: Client, first: int, last: int) -> None:
    """Messages of which each is an alarm; all of them are at the broker when this returns."""
    told = [client.publish(f"plant/m{n % 5}/temp", json.dumps({"celsius": 85, "n": n}), 1) for n in range(first, last)]
    for one in told:
        one.wait_for_publish(WAIT)


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """Killed five times while messages come: every alarm is told, and none under two ids. It stops cleanly in the end."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    with broker(tmp_path / "broker") as running:
        (tmp_path / "plant.toml").write_text(SETTINGS.format(port=running.port))
        gateway, receiver = gateway_of(tmp_path / "plant.toml"), Receiver(running)
        sender = Client(CallbackAPIVersion.VERSION2, client_id="sender")
        sender.connect("127.0.0.1", running.port)
        sender.loop_start()
        gateway.start()
        try:
            begun, number = first_of(sender, lambda: receiver.numbers)
            random_time = chance()
            for _ in range(KILLS):
                publish(sender, number, number + 100)
                number += 100
                live(random_time, 0.3)
                assert gateway.end(signal.SIGKILL) == -signal.SIGKILL
                publish(sender, number, number + 50)
                number += 50
                gateway.start()
            expected = list(range(begun, number))
            eventually(lambda: set(expected) <= set(receiver.numbers))
            assert sorted(receiver.numbers) == expected
            assert gateway.end(signal.SIGTERM) == 128 + signal.SIGTERM
        finally:
            if gateway._process is not None:
                gateway._process.kill()
            for client in (sender, receiver.client):
                client.disconnect()
                client.loop_stop()


def chance() -> random.Random:
    return random.Random(int(os.environ.get("SEED", "1")))


@contextmanager
def sender_to(port: int) -> Iterator[Client]:
    """A device that publishes, and connects again by itself."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="sender", clean_session=False)
    client.reconnect_delay_set(1, 1)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def heard(file: Path) -> list[int]:
    """What a receiver that is killed has written, without what came again under an id that it has."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [int(line.split()[1]) for line in dict.fromkeys(lines)]


def first_of(sender: Client, told: Callable[[], list[int]]) -> tuple[int, int]:
    """Publish until something is told: the number of the first that was, and the next that was not published yet."""
    numbers = count()

    def is_heard() -> bool:  # what comes before the gateway has subscribed is lost
        publish(sender, number := next(numbers), number + 1)
        return bool(told())

    eventually(is_heard)
    return min(told()), next(numbers)


def live(draw: random.Random, most: float) -> None:
    """Let all go on until a drawn moment: what is killed is killed whatever it does just then."""
    time.sleep(draw.uniform(0, most))


def send_until_told(send: Callable[[Iterable[int]], None], told: Callable[[], list[int]], last: int) -> None:
    """Send what is not told yet again each second, as devices do that wait for an answer."""
    due = 0.0

    def is_told() -> bool:
        nonlocal due
        missing = set(range(last)) - set(told())
        if missing and time.monotonic() >= due:
            send(sorted(missing))
            due = time.monotonic() + 1
        return not missing

    eventually(is_told)


def check_told(told: Callable[[], list[int]], expected: range) -> None:
    """Each of these is told in the end, and once."""
    eventually(lambda: set(expected) <= set(told()))
    assert sorted(told()) == list(expected)


@pytest.mark.slow
@pytest.mark.long
def test_a_receiver_that_is_killed_is_told_all(tmp_path: Path) -> None:
    """Killed five times while alarms come: it has heard every alarm in the end, each under one id."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    file, random_time = tmp_path / "heard.txt", chance()
    with broker(tmp_path / "broker") as running, ExitStack() as stack:
        (tmp_path / "plant.toml").write_text(SETTINGS.format(port=running.port))
        receiver = stack.enter_context(Child("-c", RECEIVER, str(running.port), str(file)))
        stack.enter_context(gateway_of(tmp_path / "plant.toml"))
        sender = stack.enter_context(sender_to(running.port))
        begun, number = first_of(sender, lambda: heard(file))
        for _ in range(KILLS):
            publish(sender, number, number + 100)
            live(random_time, 0.2)
            receiver.end(signal.SIGKILL)
            publish(sender, number + 100, number + 150)
            number += 150
            receiver.start()
        check_told(lambda: heard(file), range(begun, number))


@pytest.mark.slow
@pytest.mark.long
def test_a_broker_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    """Killed five times: what devices send until it is told is told, and once, though the broker forgets and repeats.

    A broker may forget what it has acknowledged right before it was killed, so devices send it again, with the same time.
    """
    (tmp_path / "plant.tide").write_text(PROGRAM)
    file, random_time, began = tmp_path / "alarms.jsonl", chance(), time.time_ns() // 1_000_000

    def told() -> list[int]:
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [json.loads(line)["args"][1] for line in lines if line.endswith("\n")]

    with broker(tmp_path / "broker") as running, ExitStack() as stack:
        (tmp_path / "plant.toml").write_text(TO_FILE.format(port=running.port))
        stack.enter_context(gateway_of(tmp_path / "plant.toml"))
        sender = stack.enter_context(sender_to(running.port))

        def send(numbers: Iterable[int]) -> None:
            for n in numbers:
                sender.publish(f"plant/m{n % 5}/temp", json.dumps({"celsius": 85, "n": n, "t": began + n}), 1)

        send_until_told(send, told, 1)  # what comes before the gateway has subscribed is lost
        number = 1
        for _ in range(KILLS):
            send(range(number, number + 100))
            number += 100
            live(random_time, 0.3)
            running.kill()
            live(random_time, 0.3)
            running.start()
        send_until_told(send, told, number)
        check_told(told, range(number))


@pytest.mark.slow
@pytest.mark.long
def test_whoever_is_killed_each_alarm_is_told_once(tmp_path: Path) -> None:
    """Broker, gateway and receiver are killed at random, alone and together, while messages come.

    Devices send until an alarm is told, since a broker that is killed may forget what it has acknowledged.
    """
    (tmp_path / "plant.tide").write_text(PROGRAM)
    file, random_time, began = tmp_path / "heard.txt", chance(), time.time_ns() // 1_000_000
    with broker(tmp_path / "broker") as running, ExitStack() as stack:
        hook = free_port()
        (tmp_path / "plant.toml").write_text(TO_WEBHOOK.format(port=running.port, hook=hook))
        receiver = stack.enter_context(Child("-c", WEBHOOK, str(hook), str(file)))
        gateway = stack.enter_context(gateway_of(tmp_path / "plant.toml"))
        sender = stack.enter_context(sender_to(running.port))

        def send(numbers: Iterable[int]) -> None:
            for n in numbers:
                sender.publish(f"plant/m{n % 5}/temp", json.dumps({"celsius": 85, "n": n, "t": began + n}), 1)

        ends: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "broker": (running.kill, running.start),
            "gateway": (lambda: gateway.end(signal.SIGKILL), gateway.start),
            "receiver": (lambda: receiver.end(signal.SIGKILL), receiver.start),
        }
        number = 0
        for _ in range(KILLS):
            send(range(number, number + 100))
            number += 100
            live(random_time, 0.5)
            chosen = random_time.sample(sorted(ends), random_time.choice((1, 1, 2, 3)))
            for name in chosen:
                ends[name][0]()
            live(random_time, 0.2)
            for name in chosen:
                ends[name][1]()
        send_until_told(send, lambda: heard(file), number)
        check_told(lambda: heard(file), range(number))


@pytest.mark.slow
@pytest.mark.long
def test_a_network_that_breaks_costs_nothing(tmp_path: Path) -> None:
    """The wire to the broker is cut four times, and stands still three times, once for longer than `keep_alive`."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    random_time = chance()
    with broker(tmp_path / "broker") as running, Wire(running.port) as wire, ExitStack() as stack:
        (tmp_path / "plant.toml").write_text(IMPATIENT.format(port=wire.port))
        receiver = Receiver(running)
        stack.callback(receiver.client.loop_stop)
        stack.callback(receiver.client.disconnect)
        stack.enter_context(gateway_of(tmp_path / "plant.toml"))
        sender = stack.enter_context(sender_to(running.port))
        begun, number = first_of(sender, lambda: receiver.numbers)
        before = wire.connections
        for stalled in (0, 0.3, 0, 0.7, 6, 0, 0):
            publish(sender, number, number + 100)
            number += 100
            live(random_time, 0.2)
            if stalled:
                wire.stall()
                publish(sender, number, number + 50)
                number += 50
                time.sleep(stalled)  # the wire stands still for so long
                wire.flow()
            else:
                wire.cut()
                eventually(partial({*range(begun, number)}.issubset, receiver.numbers))
        check_told(lambda: receiver.numbers, range(begun, number))
        assert wire.connections >= before + 8

"""A gateway with a state and a broker, both of which are killed: nothing is lost, and nothing is told as something new."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from brokers import Broker, broker
from children import WAIT

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


class Gateway:
    """The process, which can be killed and started again."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tidelog", "gateway", str(self._file)], stderr=subprocess.DEVNULL
        )

    def end(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(WAIT)
        self._process = None
        return code


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def publish(client: Client, first: int, last: int) -> None:
    """Messages of which each is an alarm; all of them are at the broker when this returns."""
    told = [client.publish(f"plant/m{n % 5}/temp", json.dumps({"celsius": 85, "n": n}), 1) for n in range(first, last)]
    for one in told:
        one.wait_for_publish(WAIT)


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """Killed three times while messages come: every alarm is told, and none under two ids. It stops cleanly in the end."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    with broker(tmp_path / "broker") as running:
        (tmp_path / "plant.toml").write_text(SETTINGS.format(port=running.port))
        gateway, receiver = Gateway(tmp_path / "plant.toml"), Receiver(running)
        sender = Client(CallbackAPIVersion.VERSION2, client_id="sender")
        sender.connect("127.0.0.1", running.port)
        sender.loop_start()
        gateway.start()
        try:
            number = 0
            while not receiver.numbers:  # the first messages come before the gateway has subscribed
                publish(sender, number, number + 1)
                number += 1
                time.sleep(0.1)
            begun = min(receiver.numbers)
            chance = random.Random(int(os.environ.get("SEED", "1")))
            for _ in range(3):
                publish(sender, number, number + 100)
                number += 100
                time.sleep(chance.uniform(0, 0.3))
                assert gateway.end(signal.SIGKILL) == -signal.SIGKILL
                publish(sender, number, number + 50)
                number += 50
                gateway.start()
            expected = list(range(begun, number))
            wait_until(lambda: set(expected) <= set(receiver.numbers))
            assert sorted(receiver.numbers) == expected
            assert gateway.end(signal.SIGTERM) == 128 + signal.SIGTERM
        finally:
            if gateway._process is not None:
                gateway._process.kill()
            for client in (sender, receiver.client):
                client.disconnect()
                client.loop_stop()

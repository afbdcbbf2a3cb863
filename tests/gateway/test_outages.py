"""Absence over an outage: a gateway that is killed, or stopped, and a broker that goes away. No device is told silent that
was not, whether times stand in messages or are those of arrival; one that has fallen silent is told in the end."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from killed import Child
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from brokers import Broker, broker
from services import gateway_of
from waiting import eventually

DEVICES = 20
PERIOD = 0.5
"""Every so many seconds a device tells that it is there."""
WINDOW = 4
"""So many seconds without a word are silence."""
AWAY = 8.0
"""How long an outage takes: twice as long. The time has to pass, since silence is measured by the machine's clock."""

PROGRAM = f"""timeline integer, unit 1 s, round down.
input beat(device: text).
output known.
output silent.
known(D) :- diamondminus beat(D).
silent(D) :- known(D), not diamondminus[0,{WINDOW}] beat(D).
"""
SETTINGS = """program = "plant.tide"
emit = "changes"
clock = "1 s"
state = "state"
commit_every = 0.2
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
retry_longest = 0.5
keep_alive = 2
[[source.map]]
topic = "beat/{{device}}"
predicate = "beat"
{time}
[[sink]]
name = "alarms"
type = "spec"
spec = "jsonl+file:alarms.jsonl"
"""
TIMES = {"arrival": "", "message": 'time = { path = "t", format = "s" }'}


class Devices:
    """Devices that beat until they are told to rest. While the broker is away, what they have to say is kept."""

    def __init__(self, port: int) -> None:
        self.resting: set[int] = set()
        self._client = Client(CallbackAPIVersion.VERSION2, client_id="devices", clean_session=False)
        self._client.reconnect_delay_set(1, 1)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._ended.wait(PERIOD):
            for n in range(DEVICES):
                if n not in self.resting:
                    self._client.publish(f"beat/d{n}", json.dumps({"t": time.time()}), 1)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def beating(port: int) -> Iterator[Devices]:
    devices = Devices(port)
    try:
        yield devices
    finally:
        devices.end()


def killed(gateway: Child, _broker: Broker) -> None:
    gateway.end(signal.SIGKILL)
    time.sleep(AWAY)
    gateway.start()


def stopped(gateway: Child, _broker: Broker) -> None:
    gateway.send(signal.SIGSTOP)
    time.sleep(AWAY)
    gateway.send(signal.SIGCONT)


def without_broker(_gateway: Child, running: Broker) -> None:
    running.stop()
    time.sleep(AWAY)
    running.start()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("outage", [killed, stopped, without_broker])
def test_nobody_is_silent_because_nobody_listened(
    tmp_path: Path, outage: Callable[[Child, Broker], None], times: str
) -> None:
    """Twenty devices beat throughout; one rests before the outage, one from its begin: those two are silent, no other."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    file = tmp_path / "alarms.jsonl"

    def told() -> list[dict[str, Any]]:
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def those(predicate: str, key: str = "begins") -> set[object]:
        return {line["args"][0] for line in told() if line["predicate"] == predicate and key in line}

    with broker(tmp_path / "broker") as running, beating(running.port) as devices:
        (tmp_path / "plant.toml").write_text(SETTINGS.format(port=running.port, time=TIMES[times]))
        with gateway_of(tmp_path / "plant.toml") as gateway:
            eventually(lambda: len(those("known")) == DEVICES)
            devices.resting.add(0)
            eventually(lambda: those("silent") == {"d0"})
            devices.resting.add(1)
            outage(gateway, running)
            back = time.time()
            eventually(lambda: those("silent") == {"d0", "d1"})
            assert time.time() - back < 60
            time.sleep(WINDOW + 3)  # time has to pass in which nobody else falls silent
            assert those("silent") == {"d0", "d1"}
            assert those("silent", "ends") == set()
            devices.resting.clear()
            eventually(lambda: those("silent", "ends") == {"d0", "d1"})
            assert those("silent") == {"d0", "d1"}

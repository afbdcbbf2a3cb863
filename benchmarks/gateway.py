"""Messages through a real broker to alarms: how many a second, and how long one takes. Needs Mosquitto (`.ci/mosquitto`).

    python -m benchmarks.gateway [--count 100000] [--rate 1000] [--seconds 20]

A gateway runs as a process of its own, on one core; this process publishes, with the broker, on the others. Each message is
JSON of a machine's temperature, with QoS 1, and each is told again as an alarm, at a topic that this process reads.
Beside the gateway's latency stands that of a bare echo: a process that publishes what it gets and does nothing else, with
the same library, broker and rate. So much is the machine's own, as busy as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

PROGRAM = """timeline integer, unit 1 ms.
input temp(machine: text, celsius: number, n: integer).
output hot.
hot(M, N) :- temp(M, C, N), C >= 80.
"""

SETTINGS = """program = "plant.tide"
emit = "intervals"
{state}
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
[[source.map]]
topic = "plant/{{machine}}/temp"
predicate = "temp"
time = {{ path = "t", format = "ms" }}
[[sink]]
name = "alarms"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
topic = "alarms/{{arg1}}"
qos = 0
"""

BROKER = """listener {port} 127.0.0.1
allow_anonymous true
max_inflight_messages 0
max_queued_messages 0
set_tcp_nodelay true
user root
"""

ECHO = """import sys
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

def answer(client, data, message):
    number = message.payload.partition(b'"n":')[2].partition(b",")[0]
    client.publish("alarms/echo", b'{"args":["echo",' + number + b"]}", 0)

client = Client(CallbackAPIVersion.VERSION2, client_id="echo")
client.on_message = answer
client.on_connect = lambda client, *_: client.subscribe("echo/#", 1)
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_forever()
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Plant:
    """Publishes messages of which one in `hot_every` is an alarm, and notes when each alarm is told."""

    def __init__(self, port: int, hot_every: int, topic: str = "plant") -> None:
        self._topic = topic
        self.sent: dict[int, float] = {}
        self.told: dict[int, float] = {}
        self._hot_every = hot_every
        self._published = 0
        self.client = Client(CallbackAPIVersion.VERSION2, client_id="plant")
        self.client.max_inflight_messages_set(1000)
        self.client.max_queued_messages_set(0)
        self.client.on_message = self._hear
        self.client.on_socket_open = lambda _client, _data, link: link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client.connect("127.0.0.1", port)
        self.client.subscribe("alarms/#", 0)
        self.client.loop_start()

    def _hear(self, _client: Client, _data: object, message: Any) -> None:
        now = time.perf_counter()
        number = int(message.payload.partition(b'"args":[')[2].partition(b",")[2].partition(b"]")[0])
        self.told.setdefault(number, now)

    def publish(self, number: int, qos: int = 1) -> None:
        """One message; it is an alarm where its turn has come."""
        celsius = 85.5 if number % self._hot_every == 0 else 21.5
        payload = b'{"celsius":%.1f,"n":%d,"t":%d}' % (celsius, number, time.time() * 1000)
        if celsius > 80:
            self.sent[number] = time.perf_counter()
        self.client.publish(f"{self._topic}/m{number % 100}/temp", payload, qos)

    def wait(self, seconds: float = 300) -> None:
        """Until all alarms are told."""
        until = time.monotonic() + seconds
        while len(self.told) < len(self.sent) and time.monotonic() < until:
            time.sleep(0.005)


def measure(count: int, rate: int, seconds: float, *, with_state: bool) -> None:
    """Print messages a second, and the latency at a rate."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        (folder / "mosquitto.conf").write_text(BROKER.format(port=port))
        (folder / "plant.tide").write_text(PROGRAM)
        state = 'state = "state"' if with_state else ""
        (folder / "plant.toml").write_text(SETTINGS.format(port=port, state=state))
        found = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
        if found is None:
            raise SystemExit("Mosquitto is not there: run .ci/mosquitto")
        broker = subprocess.Popen([found, "-c", str(folder / "mosquitto.conf")], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        command = [sys.executable, "-m", "tidelog", "gateway", str(folder / "plant.toml")]
        gateway = subprocess.Popen(command)
        try:
            _wait_ready(port)
            print(f"with state: {with_state}; memory at the start {_memory(gateway.pid):.0f} MB")
            for size in (count // 2, count):
                _throughput(port, size, gateway.pid)
            _latency(port, rate, seconds, gateway.pid)
            _idle(gateway.pid)
            _echo(port, rate, seconds)
        finally:
            gateway.send_signal(signal.SIGINT)
            gateway.wait(30)
            broker.terminate()
            broker.wait(30)


def _wait_ready(port: int, topic: str = "plant") -> None:
    """Until an alarm comes through."""
    plant = Plant(port, 1, topic)
    for number in range(600):
        plant.publish(-1 - number)
        plant.wait(0.1)
        if plant.told:
            break
    time.sleep(1)
    plant.client.disconnect()
    plant.client.loop_stop()


def _throughput(port: int, count: int, pid: int) -> None:
    """The gateway is stopped while messages pile up at the broker, so that nobody but itself holds it up."""
    plant = Plant(port, 100)
    os.kill(pid, signal.SIGSTOP)
    for number in range(count):
        while len(plant.client._out_messages) > 30_000:  # MQTT has 65,535 numbers, and the library takes one twice
            time.sleep(0.01)
        plant.publish(number)
    while plant.client._out_messages:
        time.sleep(0.05)
    cpu, began = _cpu(pid), time.perf_counter()
    os.kill(pid, signal.SIGCONT)
    plant.wait()
    took, used = time.perf_counter() - began, _cpu(pid) - cpu
    lost = len(plant.sent) - len(plant.told)
    print(
        f"  {count:,} that had piled up: {count / took:,.0f} a second; CPU of the gateway {used / count * 1e6:.0f} us each; "
        f"{lost} alarms missing; memory then {_memory(pid):.0f} MB"
    )
    plant.client.disconnect()
    plant.client.loop_stop()


def _echo(port: int, rate: int, seconds: float) -> None:
    """What the machine, the broker and the library take by themselves, now."""
    echo = subprocess.Popen([sys.executable, "-c", ECHO, str(port)])
    try:
        _wait_ready(port, "echo")
        _latency(port, rate, seconds, echo.pid, "echo")
    finally:
        echo.kill()
        echo.wait(30)


def _latency(port: int, rate: int, seconds: float, pid: int, topic: str = "plant") -> None:
    plant = Plant(port, 1, topic)
    time.sleep(0.5)
    began, cpu = time.perf_counter(), _cpu(pid)
    for number in range(int(rate * seconds)):
        wait = began + number / rate - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        plant.publish(10_000_000 + number)
    plant.wait(60)
    used = (_cpu(pid) - cpu) / seconds
    delays = sorted(told - plant.sent[number] for number, told in plant.told.items())
    p50, p99 = (delays[int(len(delays) * share)] * 1000 for share in (0.5, 0.99))
    missing = len(plant.sent) - len(delays)
    what = "all of them alarms" if topic == "plant" else "a bare echo"
    print(f"  at {rate}/s, {what}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, CPU {used:.0%}; {missing} missing")
    plant.client.disconnect()
    plant.client.loop_stop()


def _idle(pid: int) -> None:
    cpu = _cpu(pid)
    time.sleep(10)
    print(f"  idle: CPU {(_cpu(pid) - cpu) / 10:.2%}, memory {_memory(pid):.0f} MB")


def _memory(pid: int) -> float:
    """What a process holds in memory, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu(pid: int) -> float:
    """The seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description="Messages through a broker to alarms.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--state", action="store_true", help="with the state on disk")
    options = parser.parse_args()
    measure(options.count, options.rate, options.seconds, with_state=options.state)


if __name__ == "__main__":
    main()

"""What alarms cost: a begin with a desk and without, a cause among many open ones, a long list, and actions beside messages.

    python -m benchmarks.runtime.alarms [--gateway]

With `--gateway`, 50 actions a second are done over HTTP beside 1,000 messages a second through a gateway with a state, which
needs Mosquitto (`.ci/mosquitto`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles

import msgspec
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.gateway import BROKER, free_port
from tidelog import Session
from tidelog.connectors.http.desk.desk import Desk
from tidelog.plans.plan.plan import Plan

RULES = """timeline integer, unit 1 s, round down.
input low(line: text).
input tripped(pump: text).
input feeds(pump: text, line: text).
flow_low(L) :- low(L).
flow_low(L) :- stopped(P), feeds(P, L).
stopped(P) :- tripped(P).
"""
PLAIN = RULES + "output flow_low(line).\noutput stopped(pump).\n"
ALARMS = (
    RULES
    + """alarm flow_low(line: text), priority low, text "Line {line} has no flow", acknowledge, shelve at most 8 h.
alarm stopped(pump: text), priority critical, text "Pump {pump} has stopped", acknowledge, shelve at most 8 h.
"""
)
FOR_EVER = 10**9
BEGINS = 500
OPEN, MANY = 1_000, 10_000
FOLLOWERS = 40
TIMES = 3
RATE, ACTIONS, SECONDS = 1_000, 50, 10
BEFORE = 4
"""So many seconds messages come before the first action: the alarms begin with the first of them."""
_NAME = "alarms"

SETTINGS = """program = "plant.tide"
clock = "1 s"
state = "state"
[http]
listen = "127.0.0.1:{http}"
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
[[source.map]]
topic = "plant/{{line}}/low"
predicate = "low"
"""


def run() -> list[Figure]:
    """The figures of one process."""
    plain, desk = tidelog.compile(PLAIN), tidelog.compile(ALARMS, desk=True)
    begins = [(_begins(plain), _begins(desk)) for _ in range(TIMES)]
    with_desk = min(own for _, own in begins)
    return [
        Figure(_NAME, "a begin / without a desk", with_desk / min(bare for bare, _ in begins)),
        Figure(_NAME, "a begin", 1000 * with_desk / BEGINS, "ms"),
        Figure(_NAME, f"a cause of {FOLLOWERS} among {OPEN} open ones, each", _cause(desk), "ms", target=1.0),
        *_long_list(desk),
    ]


def _begins(plan: Plan) -> float:
    """The time of some begins, one after the other."""
    session = Session(plan, emit="changes", held=bool(plan.alarms))
    begin = time.process_time()
    _open(session, 0, BEGINS)
    return time.process_time() - begin


def _open(session: Session, first: int, last: int) -> None:
    for number in range(first, last):
        session.push("low", [f"x{number}"], interval=f"[{number},{FOR_EVER}]")
        session.pull_records()


def _cause(plan: Plan) -> float:
    """How many milliseconds an alarm costs that a pump causes, among many open ones."""
    session = Session(plan, emit="changes", held=True)
    for pump in range(TIMES):
        for number in range(FOLLOWERS):
            session.push("feeds", [f"p{pump}", f"y{pump}-{number}"], interval=f"[0,{FOR_EVER}]")
    _open(session, 0, OPEN)
    times = []
    for pump in range(TIMES):
        begin = time.process_time()
        session.push("tripped", [f"p{pump}"], interval=f"[{OPEN + 10 * pump},{FOR_EVER}]")
        session.push("low", [f"z{pump}"], interval=f"[{OPEN + 10 * pump + 5},{FOR_EVER}]")
        session.pull_records()
        times.append(time.process_time() - begin)
    folded = sum(item.cause is not None for item in session.open_alarms())
    if folded < FOLLOWERS * (TIMES - 1):
        raise RuntimeError(f"{folded} alarms are folded into their cause")
    return 1000 * min(times) / (FOLLOWERS + 1)


def _long_list(plan: Plan) -> list[Figure]:
    """How long the list of many open alarms takes as JSON: the first one behind a restart, and one after an action."""
    session = Session(plan, emit="changes", held=True)
    _open(session, 0, MANY)
    stored = session.snapshot()
    first, next_ones = [], []
    for number in range(TIMES):
        session.restore(stored)
        desk = Desk(plan, None)
        desk.engine = session
        first.append(_listed(desk))
        session.acknowledge("flow_low", [f"x{number}"], who="anna", time=MANY + number)
        session.advance(MANY + number)
        next_ones.append(_listed(desk))
    name = f"the list of {MANY} open alarms"
    return [
        Figure(_NAME, f"{name}, the first", 1000 * min(first), "ms", target=200),
        Figure(_NAME, f"{name}, one after an action", 1000 * min(next_ones), "ms"),
        _memory(),
    ]


def _listed(desk: Desk) -> float:
    begin = time.process_time()
    msgspec.json.encode(desk.objects(desk.open_alarms(MANY)))
    return time.process_time() - begin


def _memory() -> Figure:
    """What a process takes that has many open alarms, and has told of them."""
    command = [sys.executable, "-m", __spec__.name, "--memory"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Figure(_NAME, f"a process with {MANY} open alarms", float(told), "MB", target=150)


def _be_large() -> float:
    """The most megabytes that this process has taken, once it has told of many alarms."""
    plan = tidelog.compile(ALARMS, desk=True)
    session, desk = Session(plan, emit="changes", held=True), Desk(plan, None)
    desk.engine = session
    _open(session, 0, MANY)
    _listed(desk)
    most = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(most[1]) * 1024 / 1e6 if most else 0.0


# --- through a gateway --------------------------------------------------------------------------------------------------


def through_gateway() -> list[Figure]:
    """How long an action takes, asked over HTTP, beside messages of a broker."""
    with tempfile.TemporaryDirectory() as folder:
        place, port, http = Path(folder), free_port(), free_port()
        (place / "plant.tide").write_text(ALARMS)
        (place / "plant.toml").write_text(SETTINGS.format(port=port, http=http))
        (place / "mosquitto.conf").write_text(BROKER.format(port=port))
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
        mosquitto = shutil.which("mosquitto", path=path) or "mosquitto"
        with subprocess.Popen([mosquitto, "-c", str(place / "mosquitto.conf")], stderr=subprocess.DEVNULL) as broker:
            time.sleep(1)
            command = [sys.executable, "-m", "tidelog", "gateway", str(place / "plant.toml")]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as gateway:
                try:
                    return _beside_messages(port, http)
                finally:
                    gateway.send_signal(signal.SIGTERM)
                    gateway.wait(30)
                    broker.terminate()


def _beside_messages(port: int, http: int) -> list[Figure]:
    connection = _connect(http)
    now = int(time.time())
    facts = [{"low": {"line": f"x{i}"}, "interval": f"[{now},{now + 100_000}]"} for i in range(OPEN)]
    _ask(connection, "POST", "/ingest?wait=commit", "\n".join(map(json.dumps, facts)))
    ids: list[str] = []
    until = time.monotonic() + 60
    while len(ids) < OPEN and time.monotonic() < until:
        time.sleep(0.5)
        ids = [alarm["id"] for alarm in json.loads(_ask(connection, "GET", "/alarms"))["alarms"]]
    times: list[float] = []
    with subprocess.Popen([sys.executable, "-m", __spec__.name, "--send", str(port)]) as sender:
        try:
            time.sleep(BEFORE)
            begin = time.perf_counter()
            for number in range(ACTIONS * SECONDS):
                due = begin + number / ACTIONS
                time.sleep(max(0.0, due - time.perf_counter()))
                _ask(connection, "POST", f"/alarms/{ids[number % OPEN]}/acknowledge", '{"who":"anna"}')
                times.append(time.perf_counter() - due)
        finally:
            sender.terminate()
    cuts = quantiles(times, n=100)
    name = f"an action, {ACTIONS} a second beside {RATE} messages a second"
    return [
        Figure(_NAME, f"{name}, median", 1000 * cuts[49], "ms"),
        Figure(_NAME, f"{name}, p99", 1000 * cuts[98], "ms", target=50),
    ]


def _send(port: int) -> None:
    """Messages at a steady rate, of lines that have alarms already, until the process is ended."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="plant")
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", port)
    client.loop_start()
    begin, number = time.perf_counter(), 0
    while True:
        time.sleep(max(0.0, begin + number / RATE - time.perf_counter()))
        client.publish(f"plant/x{number % OPEN}/low", b"{}", 1)
        number += 1


def _connect(port: int) -> HTTPConnection:
    until = time.monotonic() + 60
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            _ask(connection, "GET", "/ready")
        except (OSError, RuntimeError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return connection


def _ask(connection: HTTPConnection, method: str, path: str, body: str = "") -> bytes:
    connection.request(method, path, body or None, {"content-type": "application/x-ndjson"} if body else {})
    answer = connection.getresponse()
    told = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{answer.status}: {told[:200]!r}")
    return told


if __name__ == "__main__":
    if "--send" in sys.argv:
        _send(int(sys.argv[-1]))
    if "--memory" in sys.argv:
        print(_be_large())
        sys.exit()
    show(through_gateway if "--gateway" in sys.argv else run)

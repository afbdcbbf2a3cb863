"""The example of the cold store: its file is right, its plant gives the alarms that it should, and a trip is one line."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

import tidelog
from brokers import broker, free_port
from children import WAIT
from tidelog.cli import main
from waiting import eventually

FOLDER = Path(__file__).parents[2] / "examples/coldstore"
TIDELOG = [sys.executable, "-m", "tidelog"]


def test_the_file_is_right(capfd: pytest.CaptureFixture[str]) -> None:
    """Its program, its maps and its templates fit each other, and the rules pass their tests."""
    assert main(["gateway", str(FOLDER / "coldstore.toml"), "--check"]) == 0
    assert main(["test", str(FOLDER)]) == 0
    assert "12 tests passed" in capfd.readouterr().out


def test_a_trip_is_one_line() -> None:
    """Behind a pump that trips forty rooms are folded; the next ones are the rooms that have become warm."""
    assert trip() == [
        "before the trip, at 60 s: 0 alarms, 0 to be read",
        "at 120 s: 41 alarms, 1 to be read",
        "  critical Pump p1 has tripped, and 40 that follow from it (unacknowledged)",
        "at 121 s: 41 alarms, 1 to be read",
        "  critical Pump p1 has tripped, and 40 that follow from it (acknowledged by anna: on my way)",
    ]


@pytest.mark.slow
@pytest.mark.long
def test_a_trip_that_goes_on_is_one_line_still() -> None:
    """After a quarter of an hour eighty alarms follow from the pump."""
    assert "  critical Pump p1 has tripped, and 80 that follow from it (unacknowledged)" in trip("--seconds", "900")


def test_what_inhibits_and_hides_alarms() -> None:
    """A defroster suppresses the fan's alarm, goods that are brought the door's, and work on a room all but the gravest."""
    plan = tidelog.compile_path(FOLDER / "coldstore.tide", desk=True)
    session = tidelog.Session(plan, held=True)
    monday = "2026-06-01T04:{}:00Z"  # 06:00 in Berlin
    session.push("defroster", ["r1", "on"], time=monday.format("30"))
    session.push("fan", ["r1", "off"], time=monday.format("30"))
    session.push("door", ["r2", "open"], time=monday.format("31"))
    session.push("maintenance", ["r3", "begun"], time=monday.format("32"))
    session.push("flow", ["r3", 0], time=monday.format("32"))
    session.push("help", ["r3", "called"], time=monday.format("33"))
    session.advance(monday.format("35"))
    states = {(alarm.alarm, alarm.args): alarm.state for alarm in session.open_alarms()}
    assert states == {
        ("fan_stopped", ("r1",)): "suppressed",
        ("door_open", ("r2",)): "suppressed",
        ("no_flow", ("r3",)): "suppressed",
        ("trapped", ("r3",)): "unacknowledged",
    }
    with pytest.raises(tidelog.DataError, match="`trapped` cannot be shelved"):
        session.shelve("trapped", ["r3"], who="anna", time=monday.format("36"), lasting="1 h")


@pytest.mark.slow
@pytest.mark.long
def test_an_hour_of_the_plant(tmp_path: Path) -> None:
    """Messages go in by MQTT, and alarms come out at their topics, retained, each with its begin and its end."""
    with broker(tmp_path / "broker") as running:
        alarms: list[tuple[str, dict[str, str]]] = []
        with hearing(running.port, alarms) as alive, gateway(tmp_path, running.port) as (process, _):
            eventually(lambda: alive, process=process)
            play(running.port, "--speed", "0")
            eventually(
                lambda: any(topic.endswith("door_open") and told["state"] == "ended" for topic, told in alarms),
                process=process,
            )
    assert process.returncode == 128 + signal.SIGTERM
    assert {topic.rpartition("/")[2] for topic, _ in alarms} >= {"door_open", "silent"}
    assert all(told["since"].endswith("Z") for _, told in alarms)


@pytest.mark.slow
@pytest.mark.long
def test_a_trip_at_the_desk(tmp_path: Path) -> None:
    """Forty rooms without brine are folded into the pump: a topic has all, another the pump alone; anna takes it on."""
    with broker(tmp_path / "broker") as running:
        told: list[tuple[str, dict[str, str]]] = []
        with hearing(running.port, told) as alive, gateway(tmp_path, running.port) as (process, url):
            eventually(lambda: alive, process=process)
            play(running.port, "--speed", "0", "--seconds", "90", "--trip")

            def alarms() -> list[dict[str, object]]:
                found: list[dict[str, object]] = httpx.get(f"{url}/alarms").json()["alarms"]
                return found

            eventually(lambda: len(alarms()) == 41, process=process)
            assert [(alarm["alarm"], alarm["folded"]) for alarm in alarms() if alarm["cause"] is None] == [
                ("pump_tripped", 40)
            ]
            eventually(lambda: len(begun(told, "/alarm/")) == 41, process=process)
            assert begun(told, "/cause/") == {"coldstore/p1/cause/pump_tripped"}
            address = f"{url}/alarms/{alarms()[0]['id']}/acknowledge"
            for name, code in (("board", 403), ("anna", 200)):
                headers = {"authorization": f"Bearer not-a-secret-of-{name}"}
                assert httpx.post(address, headers=headers, json={"comment": "on my way"}).status_code == code
            assert alarms()[0]["state"] == "acknowledged"


def trip(*options: str) -> list[str]:
    """What trip.py prints."""
    command = [sys.executable, str(FOLDER / "trip.py"), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def play(port: int, *options: str) -> None:
    """Let the plant live."""
    command = [sys.executable, str(FOLDER / "simulate.py"), "--port", str(port), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def begun(told: list[tuple[str, dict[str, str]]], part: str) -> set[str]:
    """The topics with this part at which alarms have begun."""
    return {topic for topic, alarm in told if part in topic and alarm["state"] == "begins"}


@contextmanager
def gateway(folder: Path, port: int) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The example's gateway in a folder of its own, at a broker, without a clock; and where its desk is."""
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    own, file = free_port(), folder / "coldstore.toml"
    text = file.read_text().replace('clock = "10 s"', "").replace(":1883", f":{port}")
    file.write_text(text.replace('"/tmp/coldstore"', '"state"').replace(":8080", f":{own}"))
    with subprocess.Popen([*TIDELOG, "gateway", str(file)]) as process:
        try:
            yield process, f"http://127.0.0.1:{own}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT)


@contextmanager
def hearing(port: int, alarms: list[tuple[str, dict[str, str]]]) -> Iterator[list[bytes]]:
    """Hear all alarms that the broker is told; yields what the gateway says of itself."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="hearing")
    client.on_message = lambda client, data, message: alarms.append((message.topic, json.loads(message.payload)))
    client.connect("127.0.0.1", port)
    client.subscribe([("coldstore/+/alarm/#", 1), ("coldstore/+/cause/#", 1), ("coldstore/gateway", 1)])
    alive: list[bytes] = []
    client.message_callback_add("coldstore/gateway", lambda client, data, message: alive.append(message.payload))
    client.loop_start()
    try:
        yield alive
    finally:
        client.disconnect()
        client.loop_stop()

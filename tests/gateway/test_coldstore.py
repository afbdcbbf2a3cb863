"""The example of the cold store: its file is right, and an hour of its plant gives the alarms that it should."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

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
    assert "4 tests passed" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.long
def test_an_hour_of_the_plant(tmp_path: Path) -> None:
    """Messages go in by MQTT, and alarms come out at their topics, retained, each with its begin and its end."""
    with broker(tmp_path / "broker") as running:
        text = (FOLDER / "coldstore.toml").read_text().replace('clock = "10 s"', "").replace(":1883", f":{running.port}")
        text = text.replace('"/tmp/coldstore"', '"state"').replace(":8080", f":{free_port()}")
        (tmp_path / "coldstore.toml").write_text(text)
        (tmp_path / "coldstore.tide").write_text((FOLDER / "coldstore.tide").read_text())
        alarms: list[tuple[str, dict[str, str]]] = []
        hearing = Client(CallbackAPIVersion.VERSION2, client_id="board")
        hearing.on_message = lambda client, data, message: alarms.append((message.topic, json.loads(message.payload)))
        hearing.connect("127.0.0.1", running.port)
        hearing.subscribe([("coldstore/+/alarm/#", 1), ("coldstore/gateway", 1)])
        alive: list[bytes] = []
        hearing.message_callback_add("coldstore/gateway", lambda client, data, message: alive.append(message.payload))
        hearing.loop_start()
        with subprocess.Popen([*TIDELOG, "gateway", str(tmp_path / "coldstore.toml")]) as gateway:
            try:
                eventually(lambda: alive, process=gateway)
                command = [sys.executable, str(FOLDER / "simulate.py"), "--port", str(running.port), "--speed", "0"]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                eventually(
                    lambda: any(topic.endswith("door_open") and told["state"] == "ended" for topic, told in alarms),
                    process=gateway,
                )
            finally:
                gateway.send_signal(signal.SIGTERM)
                gateway.wait(WAIT)
        hearing.disconnect()
        hearing.loop_stop()
    assert gateway.returncode == 128 + signal.SIGTERM
    assert {topic.rpartition("/")[2] for topic, _ in alarms} >= {"door_open", "silent"}
    assert all(told["since"].endswith("Z") for _, told in alarms)

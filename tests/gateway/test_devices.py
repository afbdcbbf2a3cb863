"""A gateway whose devices post to it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from brokers import free_port
from children import WAIT, child
from tidelog.cli import main
from waiting import eventually

KNOWN_AS = "the-token-of-devices"
PROGRAM = """
timeline integer, unit 1 s.
input temp(machine: text, celsius: number).
output hot.
hot(M) :- temp(M, C), C >= 80.
"""
FILE = """program = "plant.tide"
state = "state"
[[source]]
name = "floor"
type = "http"
token = {{ file = "token" }}
[[source.map]]
topic = "{{machine}}/state"
predicate = "temp"
fields.celsius = "t.c"
time = {{ path = "at", format = "s" }}
[[sink]]
name = "alarms"
type = "spec"
spec = "alarms.jsonl"
[http]
listen = "127.0.0.1:{port}"
"""


def gateway(folder: Path, text: str = FILE) -> tuple[Path, int]:
    port = free_port()
    (folder / "plant.tide").write_text(PROGRAM)
    (folder / "token").write_text(KNOWN_AS)
    (folder / "plant.toml").write_text(text.format(port=port))
    return folder / "plant.toml", port


def send(port: int, body: object) -> dict[str, object]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/floor/press/state", json.dumps(body).encode())
    request.add_header("authorization", f"Bearer {KNOWN_AS}")
    with urllib.request.urlopen(request, timeout=WAIT) as answer:  # noqa: S310 - it is this machine
        return dict(json.loads(answer.read()))


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_takes_what_devices_post(tmp_path: Path) -> None:
    """What was answered as stored is there after a kill, and is told once."""
    file, port = gateway(tmp_path)
    command = [sys.executable, "-m", "tidelog", "gateway", str(file)]

    def is_ready() -> bool:
        try:
            return bool(urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=WAIT).status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False

    with child(command, stderr=subprocess.DEVNULL) as running:
        eventually(is_ready, process=running)
        assert send(port, {"t": {"c": 90}, "at": 10}) == {"accepted": 1, "rejected": 0, "reached": "commit"}
        running.kill()
    with child(command, stderr=subprocess.DEVNULL) as running:
        eventually(is_ready, process=running)
        assert send(port, {"t": {"c": 1}, "at": 20})["reached"] == "commit"
        eventually(lambda: '"hot"' in (tmp_path / "alarms.jsonl").read_text())
        running.terminate()
    told = [json.loads(line) for line in (tmp_path / "alarms.jsonl").read_text().splitlines()]
    begun = [(line["predicate"], line["args"]) for line in told if "ends" not in line]
    assert begun == [("hot", ["press"])]


def test_mistakes_of_the_file_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No server to post to, a path twice, a path of the server's own; and `--try` knows the source's maps."""
    whole = FILE[: FILE.index("[http]")]
    twice = FILE.replace("[[sink]]", '[[source]]\nname = "more"\ntype = "http"\npath = "/floor"\nformat = "jsonl"\n[[sink]]')
    own = FILE.replace('type = "http"', 'type = "http"\npath = "/metrics"')
    for text, message in [
        (whole, "source `floor`: devices post to the server of `[http]`, which this file does not have: add it"),
        (twice, "source `floor`: source `more` has the same path `/floor`"),
        (own, "source `floor`: `/metrics` is an address of the server's own: choose another path"),
    ]:
        assert main(["gateway", str(gateway(tmp_path, text)[0]), "--check"]) == 1
        assert message in capfd.readouterr().err
    file, _ = gateway(tmp_path)
    assert main(["gateway", str(file), "--check"]) == 0
    (tmp_path / "m.jsonl").write_text('{"topic":"press/state","payload":{"t":{"c":90},"at":10}}\n')
    capfd.readouterr()
    assert main(["gateway", str(file), "--try", str(tmp_path / "m.jsonl")]) == 0
    assert "floor: temp(press,90)@" in capfd.readouterr().out

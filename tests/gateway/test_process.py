"""The gateway as a process: it says when it is ready, reads its file again, shows what passes, and stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from brokers import free_port
from children import WAIT, child
from services import TIDELOG, hear, systemd
from tidelog.gateway.starting import start
from waiting import eventually

pytestmark = pytest.mark.slow


def wait_for(file: Path, text: str) -> None:
    """Until a file holds a text."""
    eventually(lambda: text in file.read_text())


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_a_service_lives(tmp_path: Path, workers: int) -> None:
    """Ready once its state is there; a wrong program leaves the old one running, a right one replaces it; SIGTERM ends."""
    start(tmp_path / "new")
    program, file, port = tmp_path / "new/plant.tide", tmp_path / "new/plant.toml", free_port()
    file.write_text(
        file.read_text().replace("8080", str(port)).replace("clock =", f'state = "state"\nworkers = {workers}\nclock =')
    )
    said, told = tmp_path / "said.txt", tmp_path / "told.txt"
    with systemd(tmp_path) as heard, said.open("wb") as stderr, told.open("wb") as stdout:
        environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}
        command = [*TIDELOG, "gateway", str(file)]
        with child(command, stderr=stderr, stdout=stdout, env=environment) as gateway:
            assert hear(heard, "READY=1") == "READY=1\nSTATUS=running plant"
            hear(heard, "WATCHDOG=1")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=WAIT) as answer:
                assert answer.status == 200
            with child([*TIDELOG, "gateway", str(file), "--tap", "plant"], stdout=subprocess.PIPE) as tap:
                assert tap.stdout is not None
                assert json.loads(tap.stdout.readline())["topic"].startswith("cold/")
                tap.terminate()
            with child([*TIDELOG, "gateway", str(file), "--tap", "warm"], stdout=subprocess.PIPE) as tap:
                assert tap.stdout is not None
                assert json.loads(tap.stdout.readline()).keys() & {"takes", "sends"}
                tap.terminate()
            program.write_text(program.read_text() + "wrong(\n")
            gateway.send_signal(signal.SIGHUP)
            hear(heard, "RELOADING=1")
            hear(heard, "READY=1")
            file.write_text(file.read_text() + '[[sink]]\nname = "file"\ntype = "spec"\nspec = "alarms.jsonl"\n')
            right = program.read_text().replace("wrong(\n", "")
            program.write_text(right.replace(", silent(room).", "."))  # a rule is gone with what it remembers
            gateway.send_signal(signal.SIGHUP)
            hear(heard, "RELOADING=1")
            hear(heard, "READY=1")
            wait_for(said, "would lose state: silent: ended")
            program.write_text(right.replace("-15", "-14"))
            gateway.send_signal(signal.SIGHUP)
            hear(heard, "RELOADING=1")
            hear(heard, "READY=1")
            gateway.send_signal(signal.SIGUSR1)
            wait_for(said, "facts: ")
            gateway.send_signal(signal.SIGTERM)
            hear(heard, "STOPPING=1")
        assert gateway.returncode == 128 + signal.SIGTERM
    lines = said.read_text()
    assert "is not taken, all goes on as it was: " in lines and "plant.tide" in lines
    assert "reloaded" in lines and "changed plant" in lines
    assert "too_warm: changed, filled from the journal" in lines and "door_open: " not in lines  # that is kept
    assert (tmp_path / "new/alarms.jsonl").exists()


@pytest.mark.long
def test_nobody_to_listen_to(tmp_path: Path) -> None:
    """`--tap` of a gateway that does not run says so."""
    start(tmp_path / "new")
    command = [*TIDELOG, "gateway", str(tmp_path / "new/plant.toml"), "--tap", "plant"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "no gateway runs with this file" in ended.stderr


def test_what_is_not_used_is_not_loaded() -> None:
    """Without `[http]` and webhooks, a gateway does not load what HTTP needs, which is a third of its memory."""
    code = "import sys, tidelog.commands.gateways.running; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WAIT).stdout
    assert not {"httpx", "starlette", "hypercorn", "prometheus_client"} & set(loaded.split())

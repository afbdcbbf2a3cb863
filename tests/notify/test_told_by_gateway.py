"""A whole gateway that tells people: what each is told of one alarm, and what a button does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from receivers import Mailbox, alertmanager, http, mail_server

from brokers import free_port
from children import WAIT, tidelog
from waiting import eventually

PROGRAM = """timeline integer, unit 1 s, round down.
input temp(room: text, celsius: number).
alarm hot(room: text), priority high, text "Room {room} is hot", acknowledge.
hot(R) :- temp(R, C), C > 30.
"""
SETTINGS = """name = "plant"
program = "plant.tide"
state = "state"
clock = "1 s"
dead_letters = "letters.jsonl"

[http]
listen = "127.0.0.1:{http}"
token = {{ env = "TOKEN" }}

[[http.user]]
name = "phones"
token = {{ env = "PHONES" }}

[[sink]]
name = "alerts"
type = "alertmanager"
url = "http://127.0.0.1:{alertmanager}"
repeat = 0.5
annotations = {{ summary = "{{text}}", why = "{{reason}}" }}
page = "http://127.0.0.1:{http}/"

[[sink]]
name = "mail"
type = "mail"
host = "127.0.0.1"
port = {mail}
tls = "none"
from = "plant@example.org"
to = ["anna@example.org"]
subject = "{{severity}}: {{text}}"
text = "{{reason}}\\n{{link}}\\n"
page = "http://127.0.0.1:{http}/"

[[sink]]
name = "phones"
type = "ntfy"
url = "http://127.0.0.1:{ntfy}"
topic = "plant"
states = ["begins"]
acknowledge = {{ url = "http://127.0.0.1:{http}", token = {{ env = "PHONES" }} }}
"""
TOKENS = {"TOKEN": "a-token-of-the-gateway", "PHONES": "a-token-of-telephones"}


def post(url: str, body: object, token: str) -> Any:
    """What the gateway says to a request."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - an address of this machine
    with urllib.request.urlopen(request, timeout=WAIT) as answer:  # noqa: S310 - likewise
        return json.loads(answer.read())


def ask(url: str, token: str) -> str:
    """What the gateway tells who asks."""
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {token}"})  # noqa: S310 - of this machine
    with urllib.request.urlopen(request, timeout=WAIT) as answer:  # noqa: S310 - likewise
        return str(answer.read().decode())


@pytest.mark.slow
@pytest.mark.long
def test_people_are_told_of_an_alarm_and_answer_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alertmanager, mail and a telephone are told, with the reason; the telephone's button acknowledges the alarm."""
    for name, token in TOKENS.items():
        monkeypatch.setenv(name, token)
    box, served = Mailbox(), free_port()
    with alertmanager(tmp_path / "am") as running, mail_server(box) as mail, http() as ntfy:
        file = tmp_path / "plant.toml"
        ports = {"http": served, "alertmanager": running.port, "mail": mail, "ntfy": ntfy.server_port}
        file.write_text(SETTINGS.format(**ports))
        (tmp_path / "plant.tide").write_text(PROGRAM)
        checked = tidelog("gateway", str(file), "--check", "--connect")
        assert checked.returncode == 0, checked.stderr
        assert f"mail: the server for mail at 127.0.0.1:{mail} lets it in" in checked.stdout
        assert f"alerts: 127.0.0.1:{running.port} is there" in checked.stdout
        with subprocess.Popen([sys.executable, "-m", "tidelog", "gateway", str(file)], stderr=subprocess.DEVNULL) as gateway:
            try:
                url = f"http://127.0.0.1:{served}"
                eventually(lambda: tidelog("gateway", str(file), "--healthy").returncode == 0)
                fact = {"temp": {"room": "north", "celsius": 35}, "time": int(time.time())}
                post(f"{url}/ingest?wait=taken", fact, TOKENS["TOKEN"])
                eventually(lambda: len(box.posts) == 2 and ntfy.requests and running.alerts() == {})
                (button,) = ntfy.requests[0].json["actions"]
                token = button["headers"]["Authorization"].removeprefix("Bearer ")
                post(button["url"], json.loads(button["body"]), token)
                metrics = ask(f"{url}/metrics", token)
                entries = json.loads(ask(f"{url}/alarms/history", token))["entries"]
            finally:
                gateway.send_signal(signal.SIGTERM)
                gateway.wait(WAIT)
    assert ("acknowledge", "phones") in [(entry["what"], entry.get("who")) for entry in entries], entries
    there = [line for line in metrics.splitlines() if line.startswith("tidelog_connected{") and line.endswith(" 1.0")]
    assert all(any(f'end="{sink}"' in line for line in there) for sink in ("alerts", "mail", "phones")), there
    begin, end = [post.message for post in box.posts]
    assert begin["Subject"] == end["Subject"] == "high: Room north is hot"
    assert begin["References"] == end["References"]
    said = begin.get_content()
    assert "temp(north,35)" in said and f"http://127.0.0.1:{served}/#q=Room%20north%20is%20hot" in said
    assert len(ntfy.requests) == 1
    assert not (tmp_path / "letters.jsonl").read_text()

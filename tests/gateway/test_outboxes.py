"""Outboxes of a gateway: served beside the page, and going on after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import httpx
import pytest

from brokers import free_port
from children import WAIT, child
from tidelog.connectors.sinks.dead_letters import DeadLetterWriter
from tidelog.gateway.building import build
from tidelog.gateway.engines import Running
from tidelog.gateway.file.reading import read_settings
from tidelog.gateway.listening.taps import Taps
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from waiting import eventually

PROGRAM = """timeline integer.
input temp(machine: text, celsius: number).
output hot.
hot(M) :- temp(M, C), C >= 80.
"""
SETTINGS = """program = "plant.tide"
emit = "intervals"
lateness = 1000
state = "state"
[[sink]]
name = "alarms"
type = "spec"
spec = "spark+outbox:box?node=gw1"
[http]
listen = "127.0.0.1:{port}"
"""


def facts(begin: int, end: int) -> str:
    return "".join(json.dumps({"temp": {"machine": f"m{n}", "celsius": 90}, "time": n}) + "\n" for n in range(begin, end))


def numbers(reply: httpx.Response) -> list[tuple[int, str]]:
    return [(line["seq"], line["arguments"][0]) for line in map(json.loads, reply.text.splitlines())]


def is_ready(client: httpx.Client) -> bool:
    with suppress(httpx.TransportError):  # it does not listen yet
        return client.get("/ready").status_code == 200
    return False


@pytest.mark.long
@pytest.mark.slow
def test_an_outbox_goes_on_after_a_kill(tmp_path: Path) -> None:
    """A gateway is killed and comes back: each fact once, numbers without a gap, and what is acknowledged stays away."""
    port = free_port()
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "plant.toml").write_text(SETTINGS.format(port=port))
    command = [sys.executable, "-m", "tidelog", "gateway", str(tmp_path / "plant.toml")]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT, trust_env=False) as client:
        for turn in range(3):
            with child(command, stderr=subprocess.DEVNULL) as gateway:
                eventually(lambda: is_ready(client), process=gateway)
                posted = client.post("/ingest", params={"wait": "commit"}, content=facts(10 * turn, 10 * turn + 10))
                assert (posted.status_code, posted.json()["reached"]) == (202, "commit")
                told: list[tuple[int, str]] = []
                while len(told) < 10:
                    behind = 10 * turn + len(told)
                    told += numbers(client.get("/outbox/alarms", params={"after": behind, "wait": 20}))
                assert told == [(n + 1, f"m{n}") for n in range(10 * turn, 10 * turn + 10)]
                assert client.post("/outbox/alarms/ack", json={"upto": 10 * turn + 10}).status_code == 200
                assert client.get("/outbox/alarms", params={"after": 0}).status_code == 410
                gateway.kill()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('state = "state"\n', ""), "sink `alarms`: an outbox goes on with the state after a restart"),
        (("?node=gw1", "?size=1"), "sink `alarms`: `spark\\+outbox:box\\?size=1` has an unknown option `size`"),
        (("?node=gw1", "?every=1"), "sink `alarms`: `every` is the file's `commit_every`"),
    ],
)
def test_an_outbox_that_cannot_be_is_told(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    """The error names the sink, and what it lacks."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "plant.toml").write_text(SETTINGS.format(port=8080).replace(*change))
    with pytest.raises(SpecError, match=message):
        build(read_settings(tmp_path / "plant.toml"), tmp_path)


def test_a_sink_that_is_told_everything_takes_no_predicates(tmp_path: Path) -> None:
    """A choice of predicates that would not be heeded is an unknown key."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    text = SETTINGS.format(port=8080).replace('type = "spec"\n', 'type = "spec"\npredicates = ["hot"]\n')
    (tmp_path / "plant.toml").write_text(text)
    with pytest.raises(ProgramError, match="unknown key `predicates`"):
        read_settings(tmp_path / "plant.toml")


def test_an_outbox_can_be_listened_in_to(tmp_path: Path) -> None:
    """`--tap` knows an outbox by the name of its sink, as any other."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "plant.toml").write_text(SETTINGS.format(port=8080))
    settings = read_settings(tmp_path / "plant.toml")
    (unit,) = build(settings, tmp_path)
    taps = Taps()
    running = Running(unit, settings, DeadLetterWriter(None), taps)
    assert "alarms" in running.tapped
    with taps.listener("alarms") as tap:
        running.engine._observer.told([("hot", ("m1",), 1, 1)])
        assert b"m1" in anyio.run(tap.next)

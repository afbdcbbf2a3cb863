"""`tidelog run --http`: the page beside any run."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import httpx
import pytest

import tidelog
from children import WAIT, child
from tidelog.cli import main
from tidelog.commands.streams.http import Served
from waiting import eventually
from web.serving import PROGRAM, fact

COMMAND = [sys.executable, "-m", "tidelog", "run"]


@pytest.fixture
def program(tmp_path: Path) -> str:
    """The program of these tests, as a file."""
    path = tmp_path / "plant.tide"
    path.write_text(PROGRAM, "utf-8")
    return str(path)


@pytest.mark.slow
def test_a_run_is_served_until_a_signal_ends_it(program: str) -> None:
    """It takes what is posted, tells it on standard output, and leaves cleanly while somebody listens."""
    command = [*COMMAND, program, "--http", "127.0.0.1:0", "--out", "facts+-"]
    with child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stdout is not None
        said = run.stderr.readline()
        url = said.partition("note: ")[2].strip()
        assert url.startswith("http://127.0.0.1:"), said
        with httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
            assert client.post("/ingest", content=fact("a", 90, 1)).status_code == 202
            assert run.stdout.readline() == "hot(a)@1\n"
            assert client.get("/ready").status_code == 200  # an answer comes only once it runs
            assert 'program="plant"' in client.get("/metrics").text
            with client.stream("GET", "/events"):
                run.send_signal(signal.SIGTERM)
                assert run.wait(WAIT) == 143


def _is_ready(client: httpx.Client) -> bool:
    return client.get("/ready").status_code == 200


ALARM = """timeline integer, unit 1 s.
input temp(room: text).
hot(R) :- temp(R).
alarm hot(room: text), priority high.
"""


@pytest.mark.slow
def test_alarms_of_a_run_are_answered(tmp_path: Path) -> None:
    """As those of a gateway are; what somebody did is among the facts of the next run."""
    path = tmp_path / "plant.tide"
    path.write_text(ALARM, "utf-8")
    told = tmp_path / "told.jsonl"
    command = [*COMMAND, str(path), "--http", "127.0.0.1:0", "--state", str(tmp_path / "state"), "--emit", "changes"]
    states = []
    for _ in range(2):
        with child([*command, "--out", str(told)], stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr is not None
            url = run.stderr.readline().partition("note: ")[2].strip()
            with httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
                eventually(partial(_is_ready, client), process=run)
                if not states:
                    fact = '{"temp":{"room":"n"},"interval":"[10,60]"}\n{"temp":{"room":"s"},"time":20}'
                    assert client.post("/ingest", params={"wait": "commit"}, content=fact).status_code == 202
                (alarm,) = [item for item in client.get("/alarms").json()["alarms"] if item["args"] == ["n"]]
                states.append(alarm["state"])
                if len(states) == 1:
                    done = client.post(f"/alarms/{alarm['id']}/acknowledge", json={"who": "anna"})
                    assert (done.status_code, done.json()["alarm"]["state"]) == (200, "acknowledged")
                run.send_signal(signal.SIGTERM)
                assert run.wait(WAIT) == 143
    assert states == ["unacknowledged", "acknowledged"]
    assert {name for line in told.read_text().splitlines() for name in json.loads(line)} <= {"hot", "begins", "ends"}


@pytest.mark.long
@pytest.mark.slow
def test_a_run_with_an_outbox_serves_it_beside_the_page(program: str, tmp_path: Path) -> None:
    """What is posted is derived, committed and read from the outbox, under the program's name; the page is there, too."""
    command = [*COMMAND, program, "--http", "127.0.0.1:0", "--out", f"spark+outbox:{tmp_path / 'box'}"]
    with child(command, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        url = run.stderr.readline().partition("note: ")[2].strip()
        with httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
            assert client.post("/ingest", params={"wait": "commit"}, content=fact("a", 90, 1)).status_code == 202
            reply = client.get("/outbox/plant", params={"after": 0, "wait": 60})
            assert (reply.json()["arguments"], reply.headers["outbox-last"]) == (["a"], "1")
            assert client.post("/outbox/plant/ack", json={"upto": 1}).json() == {"first": 2, "last": 1}
            assert client.get("/").headers["content-type"].startswith("text/html")
            run.send_signal(signal.SIGTERM)
            assert run.wait(WAIT) == 143


class _Restoring:
    """An engine as far as `/ready` asks for it: its state is restored once somebody says so."""

    def __init__(self) -> None:
        self.restored = anyio.Event()

    async def wait_started(self) -> None:
        await self.restored.wait()


@pytest.mark.anyio
async def test_a_run_is_ready_once_its_state_is_restored() -> None:
    """Until then `/ready` answers 503, so that nobody takes what holds for all that holds."""
    options = argparse.Namespace(
        iso=False, sinks=[], backend="trio", tls_cert=None, tls_key=None, http="127.0.0.1:0", token_file=None
    )
    served, engine = Served(tidelog.compile(PROGRAM, name="plant.tide"), options), _Restoring()
    async with (
        served.beside(cast(Any, engine), is_durable=True),
        httpx.AsyncClient(base_url=served.url, trust_env=False) as client,
    ):
        assert (await client.get("/ready")).status_code == 503
        engine.restored.set()
        with anyio.fail_after(WAIT):
            while (await client.get("/ready")).status_code != 200:  # noqa: ASYNC110 - it is asked over HTTP
                await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--http", "8080"], "expected HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "expected HOST:PORT"),
        (["--http", "0.0.0.0:8080"], "needs TLS and a token"),
        (["--http", "127.0.0.1:0", "--backend", "asyncio"], "on trio alone"),
        (["--http", "127.0.0.1:0", "--tls-cert", "a.pem"], "belong together"),
        (["--http", "127.0.0.1:0", "--serve-outbox", "127.0.0.1:0"], "needs an outbox"),
    ],
)
def test_what_cannot_be_served_is_a_mistake_in_usage(
    program: str, options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said before anything runs, with exit code 2."""
    assert main(["run", program, *options]) == 2
    assert reason in capsys.readouterr().err

"""A gateway's workers are killed, and the gateway itself, while every kind of sink is told: each has all of it, and once."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from killed import Child
from test_kills import PROGRAM, RECEIVER, SETTINGS, WEBHOOK, chance, first_of, heard, live, publish, sender_to

from brokers import broker, free_port
from services import gateway_of
from tidelog.connectors.outbox.outbox import OutboxReader
from waiting import eventually

KILLS = int(os.environ.get("KILLS", "20"))
SINKS = """
[[sink]]
name = "lines"
type = "spec"
spec = "jsonl+file:alarms.jsonl"
[[sink]]
name = "hook"
type = "webhook"
url = "http://127.0.0.1:{hook}/"
payload = {{ n = "{{arg2}}" }}
retry_longest = 0.2
[[sink]]
name = "messages"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
topic = "alarms/{{arg1}}"
payload = {{ n = "{{arg2}}" }}
retry_longest = 0.2
[[sink]]
name = "box"
type = "spec"
spec = "spark+outbox:box"
[supervision]
restarts = 1_000
"""


def workers_of(gateway: int) -> list[int]:
    """The processes in the group of its nursery, spares among them."""
    found: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent, group = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:3]
            if state not in "ZX":
                found[int(folder.name)] = int(parent), int(group)
    nurseries = {process for process, (parent, _) in found.items() if parent == gateway}
    return sorted(process for process, (_, group) in found.items() if group in nurseries and process not in nurseries)


def of_lines(file: Path) -> list[int]:
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line)["args"][1] for line in lines if line.endswith("\n")]


def of_outbox(folder: Path) -> list[int]:
    if not folder.exists():
        return []
    with OutboxReader(str(folder)) as reader:
        rows = reader.read(0, 1_000_000)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    return [json.loads(row.arguments)[1] for row in rows]


@pytest.mark.slow
@pytest.mark.long
def test_workers_are_killed_and_every_sink_has_all_of_it_once(tmp_path: Path) -> None:
    """Now and then the gateway is killed with them. What comes under an id that a receiver has counts once."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    files = [tmp_path / "hook.txt", tmp_path / "messages.txt"]
    draw, hook = chance(), free_port()
    with broker(tmp_path / "broker") as running, ExitStack() as stack:
        text = "workers = 2\n" + SETTINGS.partition("[[sink]]")[0] + SINKS
        (tmp_path / "plant.toml").write_text(text.format(port=running.port, hook=hook))
        stack.enter_context(Child("-c", WEBHOOK, str(hook), str(files[0])))
        stack.enter_context(Child("-c", RECEIVER, str(running.port), str(files[1])))
        gateway = stack.enter_context(gateway_of(tmp_path / "plant.toml"))
        sender = stack.enter_context(sender_to(running.port))
        told: list[Callable[[], list[int]]] = [
            lambda: of_lines(tmp_path / "alarms.jsonl"),
            lambda: heard(files[0]),
            lambda: heard(files[1]),
            lambda: of_outbox(tmp_path / "box"),
        ]
        begun, number = first_of(sender, told[0])
        killed = 0
        for kill in range(KILLS):
            publish(sender, number, number + 20)
            number += 20
            live(draw, 0.1)
            eventually(lambda: bool(workers_of(gateway.process)))
            for process in draw.sample(found := workers_of(gateway.process), min(len(found), draw.choice((1, 1, 2)))):
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                    killed += 1
            if kill % 7 == 5:
                gateway.end(signal.SIGKILL)
                gateway.start()
        assert killed > KILLS / 2
        for each in told:
            eventually(lambda each=each: set(range(begun, number)) <= set(each()))  # type: ignore[misc]
            assert sorted(each()) == list(range(begun, number))
        eventually(lambda: len(workers_of(gateway.process)) >= 2)
        assert gateway.end(signal.SIGTERM) == 128 + signal.SIGTERM

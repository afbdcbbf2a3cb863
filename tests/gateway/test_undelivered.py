"""A whole gateway with an answer that can never be delivered: it goes on, says so, and does not try again when restarted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from odd_brokers import NOT_AUTHORIZED, TAKEN, OddBroker, Published

from children import WAIT

PROGRAM = """timeline integer, unit 1 s.
input temp(machine: text, celsius: number).
hot(M, C) :- temp(M, C), C >= 80.
"""
SETTINGS = """name = "floor"
program = "floor.tide"
emit = "intervals"
state = "state"
dead_letters = "letters.jsonl"
iso = false

[[source]]
name = "readings"
type = "spec"
spec = "readings.jsonl"

[[sink]]
name = "alarms"
type = "mqtt"
url = "{url}"
topic = "plant/{{arg1}}/hot"
retry_longest = 0.2
"""


def write(folder: Path, url: str, names: list[str]) -> Path:
    """A gateway's file with its program and one reading for each machine."""
    (folder / "floor.tide").write_text(PROGRAM)
    (folder / "floor.toml").write_text(SETTINGS.format(url=url))
    facts = [{"predicate": "temp", "args": [name, 90 + i], "time": i} for i, name in enumerate(names)]
    (folder / "readings.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    return folder / "floor.toml"


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """The gateway until its file has been read."""
    command = [sys.executable, "-m", "tidelog", "gateway", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("bad", "reason"), [("x" * 65_600, "its topic has"), ("lathe", "not authorized")])
def test_one_answer_that_cannot_be_sent_does_not_end_a_gateway(tmp_path: Path, bad: str, reason: str) -> None:
    """It is a dead letter of the sink, with its reason, and in the log; the others arrive; a second start is as quiet."""

    def answer(message: Published) -> int:
        return NOT_AUTHORIZED if message.topic == b"plant/lathe/hot" else TAKEN

    with OddBroker(answer=answer) as broker:
        file = write(tmp_path, broker.url, ["press", bad, "saw"])
        first = run(file)
        assert first.returncode == 0, first.stderr
        assert sorted(message.topic for message in broker.taken) == [b"plant/press/hot", b"plant/saw/hot"]
        assert "warning: alarms: an answer cannot be delivered: " in first.stderr
        assert reason in first.stderr
        letters = [json.loads(line) for line in (tmp_path / "letters.jsonl").read_text().splitlines()]
        assert [(letter["place"], reason in letter["reason"]) for letter in letters] == [("alarms", True)]
        again = run(file)
        assert again.returncode == 0, again.stderr
        assert len(broker.taken) == 2
        assert len((tmp_path / "letters.jsonl").read_text().splitlines()) == 1

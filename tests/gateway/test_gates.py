"""Sinks that are told while an output of the program holds: `when`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from odd_brokers import OddBroker

from children import WAIT
from tidelog.gateway.building import build
from tidelog.gateway.file.reading import read_settings
from tidelog.plans.diagnostics.errors import SpecError

PROGRAM = """timeline integer, unit 1 s.
input heat(room: text).
input dark.
input wet(room: text, depth: number).
output night, flood(room: text, depth: number).
night :- dark.
flood(R, D) :- wet(R, D).
hot(R) :- heat(R).
alarm hot(room: text), shelve at most 1 h.
"""
SETTINGS = """program = "plant.tide"
state = "state"
iso = false
[[source]]
name = "readings"
type = "spec"
spec = "readings.jsonl"
[[sink]]
name = "all"
type = "spec"
spec = "all.jsonl"
[[sink]]
name = "pager"
type = "mqtt"
url = "{url}"
topic = "{{predicate}}/{{arg1}}"
payload = {{ begins = "{{begins}}", ends = "{{ends}}" }}
"""
READINGS: list[dict[str, object]] = [
    {"predicate": "heat", "args": ["a"], "interval": "[0,15]"},
    {"predicate": "wet", "args": ["a", 2.5], "interval": "[5,50]"},
    {"predicate": "dark", "args": [], "interval": "[10,30]"},
    {"shelve": {"alarm": "hot", "args": ["c"], "who": "anna", "for": "8 s"}, "time": 12},
    {"predicate": "heat", "args": ["b"], "interval": "[12,14]"},
    {"predicate": "heat", "args": ["c"], "interval": "[12,40]"},
    {"predicate": "heat", "args": ["z"], "time": 60},
]


def told(folder: Path, more: str, readings: list[dict[str, object]] = READINGS) -> set[tuple[str, int, int | None]]:
    """What the pager is told: topics, begins and ends."""

    with OddBroker() as broker:
        (folder / "plant.tide").write_text(PROGRAM)
        (folder / "plant.toml").write_text(SETTINGS.format(url=broker.url) + more)
        (folder / "readings.jsonl").write_text("".join(json.dumps(reading) + "\n" for reading in readings))
        command = [sys.executable, "-m", "tidelog", "gateway", str(folder / "plant.toml")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
        assert done.returncode == 0, done.stderr
        found = [(message.topic.decode(), json.loads(message.payload)) for message in broker.taken]
    assert all(b"@" not in message.topic for message in broker.taken)
    return {(topic, payload["begins"], payload["ends"]) for topic, payload in found}


@pytest.mark.slow
@pytest.mark.long
def test_a_sink_is_told_while_something_holds(tmp_path: Path) -> None:
    """What holds when it begins is told as beginning then, and what still holds at its end as ending then; alarms that are
    hidden are not told."""
    found = told(tmp_path, 'when = "night"\npredicates = ["hot", "flood"]\n')
    assert found == {
        ("hot/a", 10, None),
        ("hot/a", 10, 15),
        ("hot/b", 12, None),
        ("hot/b", 12, 14),
        ("hot/c", 20, None),
        ("hot/c", 20, 30),
        ("flood/a", 10, None),
        ("flood/a", 10, 30),
    }
    everything = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {name for line in everything for name in line} <= {"hot", "flood", "night", "begins", "ends", "predicate", "args"}


@pytest.mark.slow
@pytest.mark.long
def test_the_contrary_and_conditions(tmp_path: Path) -> None:
    """With `not`, while it does not hold; of conditions also those that are hidden."""
    found = told(tmp_path, 'when = "not night"\ntold = "conditions"\npredicates = ["hot"]\n')
    assert {item for item in found if item[0] != "hot/z"} == {
        ("hot/a", 0, None),
        ("hot/a", 0, 9),
        ("hot/c", 31, None),
        ("hot/c", 31, 40),
    }


@pytest.mark.slow
@pytest.mark.long
def test_another_gate_keeps_the_state(tmp_path: Path) -> None:
    """What a sink waits for may change from one start to the next: nothing else is lost, and nobody has to drop anything."""
    told(tmp_path, 'when = "night"\n', READINGS[:-1])
    for more in ('when = "not night"\n', ""):
        told(tmp_path, more, READINGS)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('when = "nigth"', "`when`: the program has no `nigth`; did you mean `night`"),
        ('when = "flood"', "`flood` has 2 arguments, and what a sink waits for has none"),
        ('when = "night"\npredicates = ["cold"]', "the program has no output `cold`"),
    ],
)
def test_what_no_sink_can_wait_for_is_told(tmp_path: Path, more: str, reason: str) -> None:
    """With the name of the sink, before anything runs."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "plant.toml").write_text(SETTINGS.format(url="mqtt://127.0.0.1:1") + more)
    with pytest.raises(SpecError, match=f"sink `pager`.*{reason}"):
        build(read_settings(tmp_path / "plant.toml"), tmp_path)

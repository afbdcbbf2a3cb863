"""What sinks are told of alarms: all that are active, those that follow from no other, or conditions, hidden or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from odd_brokers import OddBroker

from children import WAIT

PROGRAM = """timeline integer, unit 1 s.
input tripped(pump: text).
feeds(p1,l1). feeds(p1,l2).
stopped(P) :- tripped(P).
flow_low(L) :- stopped(P), feeds(P, L).
alarm stopped(pump: text), priority critical.
alarm flow_low(line: text), shelve at most 1 h.
"""
SETTINGS = """name = "plant"
program = "plant.tide"
state = "state"
iso = false

[[source]]
name = "readings"
type = "spec"
spec = "readings.jsonl"

[[sink]]
name = "file"
type = "spec"
spec = "told.jsonl"
"""
SINK = """
[[sink]]
name = "{name}"
type = "mqtt"
url = "{url}"
topic = "{name}/{{predicate}}/{{arg1}}"
payload = {{ state = "{{state}}", begins = "{{begins}}", ends = "{{ends}}" }}
"""
READINGS = [
    {"shelve": {"alarm": "flow_low", "args": ["l2"], "who": "anna", "for": "30 s"}, "time": 5},
    {"predicate": "tripped", "args": ["p1"], "interval": "[10,50]"},
    {"predicate": "tripped", "args": ["p2"], "time": 60},
]


@pytest.mark.slow
def test_each_sink_is_told_of_the_alarms_that_it_asks_for(tmp_path: Path) -> None:
    """A shelved alarm is active from the end of its shelf on; one that follows from another is told to who asks for all."""
    with OddBroker() as broker:
        sinks = [SINK.format(name=name, url=broker.url) for name in ("usual", "causes", "conditions")]
        told = ["", 'told = "causes"\n', 'told = "conditions"\n']
        (tmp_path / "plant.tide").write_text(PROGRAM)
        (tmp_path / "plant.toml").write_text(SETTINGS + "".join(a + b for a, b in zip(sinks, told, strict=True)))
        (tmp_path / "readings.jsonl").write_text("".join(json.dumps(reading) + "\n" for reading in READINGS))
        command = [sys.executable, "-m", "tidelog", "gateway", str(tmp_path / "plant.toml")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[tuple[str, int, int | None]]] = {}
        for message in broker.taken:
            sink, alarm = message.topic.decode().split("/", 1)
            payload = json.loads(message.payload)
            found.setdefault(sink, []).append((alarm, payload["begins"], payload["ends"]))
    pumps = [("stopped/p1", 10, None), ("stopped/p1", 10, 50)]
    first = [("flow_low/l1", 10, None), ("flow_low/l1", 10, 50)]
    shelved = [("flow_low/l2", 35, None), ("flow_low/l2", 35, 50)]
    whole = [("flow_low/l2", 10, None), ("flow_low/l2", 10, 50)]
    assert {sink: sorted(answers, key=str) for sink, answers in found.items()} == {
        "usual": sorted([*pumps, *first, *shelved], key=str),
        "causes": sorted(pumps, key=str),
        "conditions": sorted([*pumps, ("stopped/p2", 60, None), *first, *whole], key=str),
    }
    lines = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert {name for line in lines for name in line} == {"stopped", "flow_low", "begins", "ends"}
    assert len(lines) == len(found["conditions"])

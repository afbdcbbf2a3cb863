"""What sinks are told of alarms: all that are active, those that follow from no other, or conditions, hidden or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from odd_brokers import OddBroker

from children import tidelog

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
        done = tidelog("gateway", str(tmp_path / "plant.toml"))
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


STORMS = """timeline integer, unit 1 s.
input heat(room: text).
hot(R) :- heat(R).
alarm hot(room: text), priority low.
"""


def run(folder: Path, broker: OddBroker, more: str, readings: list[dict[str, object]]) -> list[tuple[str, object]]:
    """Let a gateway read more, and return what its sink `pager` was told: the topic, and what was said."""
    with (folder / "readings.jsonl").open("a") as file:
        file.write("".join(json.dumps(reading) + "\n" for reading in readings))
    sink = SINK.format(name="pager", url=broker.url).replace(
        "begins = ", 'n = "{began}", begins = ' if more else "begins = "
    )
    (folder / "plant.tide").write_text(STORMS)
    (folder / "plant.toml").write_text(SETTINGS + sink + more)
    before = len(broker.taken)
    done = tidelog("gateway", str(folder / "plant.toml"))
    assert done.returncode == 0, done.stderr
    found = []
    for message in broker.taken[before:]:
        payload = json.loads(message.payload)
        times = (payload["begins"], payload["ends"])
        found.append((message.topic.decode().removeprefix("pager/"), (*times, payload["n"]) if payload.get("n") else times))
    return found


@pytest.mark.slow
def test_a_storm_is_told_as_one_over_a_restart_and_another_limit(tmp_path: Path) -> None:
    """The summary goes to each sink that wants one, also where its topic or payload names what a storm has not; what began
    in the storm follows it; a limit that comes, changes or goes keeps the state, and tells nothing twice."""
    first = [{"predicate": "heat", "args": [f"r{i}"], "interval": f"[{10 + i},200]"} for i in range(5)]
    then = [{"predicate": "heat", "args": ["r9"], "time": time} for time in (80, 160)]
    with OddBroker() as broker:
        assert sorted(run(tmp_path, broker, "storm = 2\n", first)) == [
            ("alarm_storm/", (12, None)),
            ("hot/r0", (10, None)),
            ("hot/r1", (11, None)),
        ]
        told = run(tmp_path, broker, "storm = 2\n", then)
        assert sorted(told, key=str) == sorted(
            [
                ("alarm_storm/", (12, 72)),
                ("alarm_storm_count/5", (60, 72, 5)),
                ("alarm_storm_count/5", (60, None, 5)),
                *((f"hot/r{i}", (73, None)) for i in (2, 3, 4)),
                ("hot/r9", (80, 80)),
                ("hot/r9", (80, None)),
            ],
            key=str,
        )
        for i, storm in enumerate(("storm = 3\n", "", "storm = 20\n")):
            time = 170 + 10 * i
            told = run(tmp_path, broker, storm, [{"predicate": "heat", "args": ["r9"], "time": time}])
            assert told == [("hot/r9", (time - 10, None)), ("hot/r9", (time - 10, time - 10))]


@pytest.mark.slow
def test_a_storm_that_another_limit_ends_is_told_to_have_ended(tmp_path: Path) -> None:
    """And one that another limit begins, to have begun: it was told an end without a begin, or never told the end."""
    first: list[dict[str, object]] = [
        {"predicate": "heat", "args": [f"r{i}"], "interval": f"[{10 + i},200]"} for i in range(5)
    ]
    with OddBroker() as broker:
        assert ("alarm_storm/", (12, None)) in run(tmp_path, broker, "storm = 2\n", first)
        for time, limit, wanted in ((20, 20, (12, 13)), (22, 2, (12, None))):
            told = run(tmp_path, broker, f"storm = {limit}\n", [{"predicate": "heat", "args": ["r9"], "time": time}])
            assert [(topic, times) for topic, times in told if topic == "alarm_storm/"] == [("alarm_storm/", wanted)]

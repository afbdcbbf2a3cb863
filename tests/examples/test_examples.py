"""The other examples: each runs as its header says, and gives what it should."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from pathlib import Path

import pytest

import tidelog
from children import WAIT, child
from children import tidelog as tidelog_here
from examples.documents import ROOT, run_command

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.tide"))


def tide(*arguments: str) -> list[str]:
    """The lines that a command prints, sorted."""
    return sorted(printed(*arguments))


def printed(*arguments: str) -> list[str]:
    """The lines that a command prints, in their order; it ends well."""
    done = tidelog_here(*arguments, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_have_a_header_and_no_warnings(program: str) -> None:
    """Each program says at its top what it shows and how to run it, and compiles without a warning."""
    plan = tidelog.compile_path(EXAMPLES / program)
    header = re.match(r"(%.*\n)+", (EXAMPLES / program).read_text("utf-8"))
    assert header is not None
    assert f"tidelog run examples/{program}" in header[0]
    assert not plan.warnings


def test_the_rules_pass_their_tests() -> None:
    """The tests that stand beside programs, all of them."""
    assert tide("test", "examples") == ["23 tests passed"]


def test_network_flags_spread_around_the_ring() -> None:
    """A flag of node a reaches all others at once; the noise, whose readings are too rare, is flagged by nobody."""
    answers = tide(
        "run",
        "examples/network/network.tide",
        "--in",
        "examples/network/signals.txt",
        "--emit",
        "final",
        "--out",
        "facts+-",
    )
    # The last reading of the smoke signal is at 8.6: flags end 2 later, and what they cause another 3 later.
    flags = [f"Flag({node},smoke)@[4,53/5]" for node in "abcd"]
    monitors = [f"Monit({node},smoke)@[{begin},68/5]" for node, begin in zip("abcd", (0, 4, 4, 4), strict=True)]
    assert answers == sorted([*flags, *monitors, "Monit(a,noise)@[0,6]"])


def short_stops(facts: list[str]) -> set[str]:
    """Who drives on after a stop of one to four seconds, computed from the traffic second by second."""
    state: dict[str, dict[int, str]] = defaultdict(dict)
    for fact in facts:
        kind, vehicle, second = re.fullmatch(r"(\w+)\((\w+)\)@(\d+)", fact).groups()
        if kind in ("Pos", "NotPos", "NotOnMap"):
            state[vehicle][int(second)] = "stopped" if kind == "Pos" else "moving"
    return {
        f"ShortStop({vehicle})@{now}"
        for vehicle, seconds in state.items()
        for now, what in seconds.items()
        for length in (1, 2, 3, 4)
        if what == "moving"
        and all(seconds.get(now - back) == "stopped" for back in range(1, length + 1))
        and seconds.get(now - length - 1) == "moving"
    }


def test_short_stops_are_those_in_the_traffic(tmp_path: Path) -> None:
    """The program finds exactly the stops of one to four seconds in generated traffic."""
    traffic = run_command("python examples/shortstop/generate.py --seconds 120 --vehicles 20 --seed 7", ROOT)
    (tmp_path / "traffic.txt").write_text(traffic)
    answers = tide("run", "examples/shortstop/shortstop.tide", "--in", str(tmp_path / "traffic.txt"), "--out", "facts+-")
    expected = short_stops(traffic.splitlines())
    assert {answer for answer in answers if answer.startswith("ShortStop")} == expected
    assert len(expected) > 50


def test_traffic_has_the_shape_of_a_jam() -> None:
    """The generator writes three facts for each vehicle heard of, in the order of time, the same for the same seed."""
    command = "python examples/shortstop/generate.py --seconds 30 --vehicles 10 --seed 3"
    lines = run_command(command, ROOT).splitlines()
    seconds = [int(line.rpartition("@")[2]) for line in lines]
    assert seconds == sorted(seconds)
    assert {*seconds} == set(range(1, 31))
    assert len(lines) % 3 == 0
    assert all(re.fullmatch(r"(Pos|NotPos|NotOnMap)\(veh\d\)@\d+", line) for line in lines[::3])
    assert all(re.fullmatch(r"(North|East|South|West)Heading\(veh\d\)@\d+", line) for line in lines[1::3])
    assert all(re.fullmatch(r"(SlowDown|Acceleration)\(veh\d\)@\d+", line) for line in lines[2::3])
    assert run_command(command, ROOT).splitlines() == lines


def cooling_answers(facts: list[str], window: int = 3) -> set[str]:
    """What the cooling system tells at each time with a reading, computed from the readings time point by time point."""
    celsius: dict[int, list[float]] = defaultdict(list)
    for fact in facts:
        value, tick = re.fullmatch(r"temp\((-?[\d.]+)\)@(\d+)", fact).groups()
        celsius[int(tick)].append(float(value))
    answers = set()
    for now in celsius:
        times = range(max(min(celsius), now - window), now + 1)
        alarm = all(any(value >= 100 for value in celsius.get(time, [])) for time in times)
        normal = all(any(1 <= value < 100 for value in celsius.get(time, [])) for time in times)
        told = {"alarm": alarm, "normal": normal, "freeze": not alarm and not normal}
        for time in times:
            told[f"very_hot({time})"] = any(value >= 150 for value in celsius.get(time, []))
            told[f"very_cold({time})"] = any(1 <= value < 10 for value in celsius.get(time, []))
        answers |= {f"{atom}@{now}" for atom, is_told in told.items() if is_told}
    return answers


def test_cooling_system_tells_what_its_temperatures_mean(tmp_path: Path) -> None:
    """Alarm, normal, freeze, and when it was very hot or cold, are told at each time point as Laser's program has them."""
    readings = run_command("python examples/cooling/generate.py --ticks 300 --seed 5", ROOT)
    (tmp_path / "temperatures.txt").write_text(readings)
    source = str(tmp_path / "temperatures.txt")
    answers = tide("run", "examples/cooling/cooling.tide", "--in", source, "--emit", "points", "--out", "facts+-")
    expected = cooling_answers(readings.splitlines())
    assert answers == sorted(expected)
    kinds = {re.match(r"\w+", answer)[0] for answer in expected}
    assert kinds == {"alarm", "normal", "freeze", "very_hot", "very_cold"}


def test_cooling_system_answers_at_once() -> None:
    """Times of their own in the heads add no delay: what follows is known with the reading."""
    session = tidelog.Session(tidelog.compile_path(EXAMPLES / "cooling" / "cooling.tide"))
    answers = []
    for tick in range(4):
        session.push("temp", [160], tick)
        answers.append({str(answer) for answer in session.pull() if answer.predicate != "freeze"})
    assert answers == [{f"alarm@{tick}", f"very_hot({tick})@[{tick},{tick + 3}]"} for tick in range(4)]


def test_temperatures_are_the_same_for_the_same_seed() -> None:
    """The generator writes one to three readings a time point, or none, in the order of time."""
    command = "python examples/cooling/generate.py --ticks 60 --seed 3"
    lines = run_command(command, ROOT).splitlines()
    ticks = [int(re.fullmatch(r"temp\(-?\d+\.\d\)@(\d+)", line)[1]) for line in lines]
    assert ticks == sorted(ticks)
    assert {ticks.count(tick) for tick in range(1, 61)} == {0, 1, 2, 3}
    assert run_command(command, ROOT).splitlines() == lines


def asked(*arguments: str) -> list[dict[str, object]]:
    """What `tidelog ask` prints, line by line."""
    return [json.loads(line) for line in printed("ask", *arguments)]


def test_turbines_have_the_malfunctions_of_the_paper() -> None:
    """The readings of Example 8 make one malfunction certain at once, one after three of them; the others are rejected."""
    lines = asked("examples/turbines/turbines.tide", "--in", "examples/turbines/readings.txt")
    ends = {(*line["answer"].values(), line["status"]): line["at"] for line in lines if line["status"] != "possible"}
    assert ends == {
        ("wt42", 1, "certain"): 1,
        ("wt25", 0, "certain"): 2,
        ("wt25", 1, "rejected"): 3,
        ("wt25", 2, "rejected"): 3,
        ("wt42", 2, "rejected"): 3,
    }
    derived = tide("run", "examples/turbines/turbines.tide", "--in", "examples/turbines/readings.txt")
    assert [line for line in derived if "query" not in line] == ['{"predicate":"shdn","args":["wt25"],"time":2}']


def test_open_door_is_told_of_while_it_can_be_closed() -> None:
    """Each opening is one answer: the front door is closed in time, the patio's is not, as was told four minutes before."""
    lines = asked("examples/heating/heating.tide", "--in", "examples/heating/evening.txt", "--iso")
    told: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    for line in lines:
        told[line["answer"]["D"]].append((line["status"], line["at"][11:16], line.get("deadline", "")[11:16]))
    assert told == {
        "front": [("possible", "18:02", "18:06"), ("rejected", "18:05", "")],
        "patio": [("possible", "18:06", "18:10"), ("certain", "18:10", "")],
    }
    late = asked("examples/heating/heating.tide", "--in", "examples/heating/evening.txt", "--iso", "--min-evidence", "8")
    assert [(line["answer"]["D"], line["status"], line["at"][11:16]) for line in late] == [
        ("patio", "possible", "18:09"),
        ("patio", "certain", "18:10"),
    ]


def test_embedded_session_goes_on_after_a_restart() -> None:
    """The control loop is told of each change once, also over the snapshot: overheating, cooling, the end, then silence."""
    assert run_command("python examples/gateway/embed.py", ROOT).splitlines() == [
        "at 32 s: overheated(press)@[32..",
        "at 36 s: uncooled(press)@[32..",
        "at 40 s: uncooled(press)@[32,36)",
        "at 64 s: overheated(press)@[32,61]",
        "at 120 s: silent(press)@(91..",
    ]


@pytest.mark.slow
def test_gateway_answers_over_tcp_and_stops_cleanly() -> None:
    """The daemon tells what begins by what a machine sends by TCP, and ends with a summary when it is told to stop."""
    expected = {"overheated(press)@[20..", "uncooled(press)@[20.."}
    command = [sys.executable, str(EXAMPLES / "gateway" / "gateway.py"), "--port", "0"]
    with child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as gateway:
        watchdog = threading.Timer(30, gateway.kill)
        watchdog.start()
        try:
            port = int(gateway.stderr.readline().rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as machine:
                for second in range(0, 28, 4):
                    reading = {"temp": {"machine": "press", "celsius": 85}, "time": second}
                    machine.sendall(json.dumps(reading).encode() + b"\n")
                answers = {gateway.stdout.readline().rstrip("\n") for _ in expected}
            gateway.send_signal(signal.SIGTERM)
            rest, said = gateway.communicate()
        finally:
            watchdog.cancel()
            gateway.kill()
    assert answers == expected
    assert rest == ""
    assert said == "stopped: 7 facts accepted, 0 late\n"
    assert gateway.returncode == 0

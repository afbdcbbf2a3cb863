"""The tasks of docs/howto/compared.md: the rules say what other tools say, and the page counts the lines of both."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from random import Random
from runpy import run_path

import pandas as pd
import pytest

from children import tidelog as tidelog_here
from examples.documents import ROOT
from tidelog import Session, compile_path

TASKS = ROOT / "examples" / "tasks"
PAGES = (ROOT / "docs" / "howto" / "compared.md", ROOT / "README.md")
BEGIN = pd.Timestamp("2025-12-31T23:00Z")


def test_lines_are_those_of_the_pages() -> None:
    """The tables count what is neither empty, nor a comment or a docstring."""
    named = r"\[[^]]+\]\((?:\.\./\.\./)?examples/tasks/([\w/-]+\.\w+)\)(?:: | \| )(\d+)"
    rows = [row for page in PAGES for row in re.findall(named, page.read_text("utf-8"))]
    assert len(rows) == 12 + 5 + 5
    assert [(name, str(lines_of(TASKS / name))) for name, _ in rows] == rows


def lines_of(path: Path) -> int:
    """The lines of a file that say something."""
    text = re.sub(r'^ *""".*?"""$', "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return sum(bool(line.strip()) and not line.lstrip().startswith(("%", "#", "--")) for line in text.splitlines())


@pytest.mark.slow
def test_a_pump_runs_dry_as_pandas_says(tmp_path: Path) -> None:
    """Two months of CSV, one reading a minute, some of them missing."""
    random = Random(5)
    idle, rows = False, []
    for minute in range(60 * 24 * 60):
        idle = idle != (random.random() < (0.2 if idle else 0.002))
        if random.random() > 0.01:
            rows.append((BEGIN + pd.Timedelta(minutes=minute), "p1", 2.5, 0 if idle else 40))
    readings = pd.DataFrame(rows, columns=["time", "pump", "kilowatt", "litres"])
    readings.to_csv(tmp_path / "readings.csv", index=False, date_format="%Y-%m-%dT%H:%MZ")
    arguments = ("--in", f"{tmp_path}/readings.csv?predicate=reading", "--emit", "final", "--iso", "--out", "facts+-")
    done = tidelog_here("run", "examples/tasks/pump.tide", *arguments, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = run_path(str(TASKS / "pump.py"))["dry"](readings)
    assert len(found) > 30
    shown = zip(*(found[name].dt.strftime("%Y-%m-%dT%H:%M:%SZ") for name in ("from", "to")), strict=True)
    assert done.stdout.splitlines() == [f"dry(p1)@[{begin},{end}]" for begin, end in shown]


@pytest.mark.parametrize("seed", range(5))
def test_a_service_watches_itself_as_by_hand(seed: int) -> None:
    """Each alarm begins in the same second."""
    random, jobs = Random(seed), count()
    rules, other = (run_path(str(TASKS / name))["Watch"]() for name in ("service.py", "by_hand.py"))
    running: list[str] = []
    alarms = 0
    for now in range(1, 2000):
        events: list[tuple[str, str | int]] = []
        if random.random() < 0.3:
            running.append(f"j{next(jobs)}")
            events.append(("started", running[-1]))
        if running and random.random() < 0.28:
            events.append(("ended", running.pop(random.randrange(len(running)))))
        if random.random() < 0.1:
            events.append(("failed", random.choice(["w1", "w2", "w3"])))
        if random.random() < 0.05:
            events.append(("queue", random.choice([20, 101, 150, 300])))
        for event, value in events:
            rules.push(event, value, at=now)
            other.push(event, value, at=now)
        found = rules.begun(now)
        assert sorted(found) == sorted(other.begun(now)), now
        alarms += len(found)
    assert alarms > 20


@pytest.mark.slow
def test_rooms_are_as_pandas_says() -> None:
    """Three months of readings in a frame, as Parquet has them, with the day on which clocks are changed."""
    random = Random(3)
    times = [BEGIN + pd.Timedelta(minutes=10 * number) for number in range(90 * 24 * 6) if random.random() < 0.9]
    readings = pd.DataFrame({"time": times, "room": "hall", "celsius": [random.randint(150, 250) / 10 for _ in times]})
    session = Session(compile_path(TASKS / "rooms.tide"), emit="final")
    session.push_frame("temp", readings)
    session.finish()
    told = {(item.predicate, item.begins_at): item.row[2] for item in session.pull()}
    mean, least = run_path(str(TASKS / "rooms.py"))["mean_and_least"](readings)
    expected = {("mean", begin): pytest.approx(value) for (_, begin), value in mean.items()}
    assert told == expected | {("least", begin): value for (_, begin), value in least.items()}

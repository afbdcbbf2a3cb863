"""The climate of the demo's cities against a computation day by day, written without the reasoner."""

from __future__ import annotations

import statistics
import subprocess
import sys
from fractions import Fraction

import pytest

from examples.test_weather import FOLDER, YEAR, hour

Told = dict[str, dict[tuple[int, int], float]]


@pytest.fixture(scope="module")
def told() -> Told:
    """What the example prints: for each `predicate(city)` the value of each interval, by the hour."""
    command = [sys.executable, "-m", "tidelog", "run", "climate.tide", "--emit", "final", "--iso", "--out", "facts+-"]
    command += [part for city in YEAR for part in ("--in", f"{city}.csv?predicate=temp")]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    found: Told = {}
    for line in done.stdout.splitlines():
        atom, _, time = line.partition("@")
        name, _, value = atom.removesuffix(")").partition(",")
        ends = [hour(end) for end in time.strip("[]").split(",")]
        found.setdefault(name, {})[ends[0], ends[-1]] = float(value or 0)
    return found


def daily(city: str) -> dict[int, float]:
    """The mean of each day, by the midnight at its end."""
    readings = YEAR[city]
    ends = range(min(readings) - min(readings) % 24 + 24, max(readings) + 25, 24)
    days = {end: [readings[at] for at in range(end - 24, end) if at in readings] for end in ends}
    return {end: float(sum(map(Fraction, found)) / len(found)) for end, found in days.items() if found}


@pytest.mark.parametrize("city", YEAR)
def test_means(city: str, told: Told) -> None:
    """Each day's mean holds for the day that follows, exactly."""
    days = {hour: value for (lo, hi), value in told[f"mean({city}"].items() for hour in range(lo, hi + 1, 24)}
    assert days == daily(city)


@pytest.mark.parametrize("city", YEAR)
def test_anomalies(city: str, told: Told) -> None:
    """A day is told where it lies more than three deviations from the thirty before it."""
    days = daily(city)
    expected = {}
    for end, mean in days.items():
        before = [days[at] for at in range(end - 720, end, 24) if at in days for _ in range(24)]
        if len(before) == 720:
            score = (mean - statistics.fmean(before)) / statistics.stdev(before)
            if abs(score) > 3:
                expected[end] = score
    assert {lo for lo, _ in told[f"anomaly({city}"]} == set(expected)
    assert all(value == pytest.approx(expected[lo]) for (lo, _), value in told[f"anomaly({city}"].items())


@pytest.mark.parametrize("city", YEAR)
def test_growing_degree_days(city: str, told: Told) -> None:
    """Thirty days' warmth, each day's above 50 degrees, added up."""
    readings = YEAR[city]
    warmth = {}
    for end in daily(city):
        hours = [readings[at] for at in range(end - 24, end) if at in readings]
        warmth[end] = max(0.0, (min(hours) + max(hours)) / 2 - 50)
    for (lo, _), value in told[f"growing({city}"].items():
        month = [warmth[end] for end in range(lo - 720, lo, 24) if end in warmth]
        assert value == pytest.approx(sum(month), abs=1e-9)

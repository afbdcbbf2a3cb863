"""The demo on real data: its spells against a computation hour by hour, written without the reasoner."""

from __future__ import annotations

import csv
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.documents import ROOT

FOLDER = ROOT / "examples" / "weather"
HOT = {"sf": 71, "sea": 75}
COLD = {"sf": 46.5, "sea": 38}
Spells = set[tuple[int, int]]


def hour(text: str) -> int:
    """An ISO-8601 time as the number of hours since 1970."""
    return int(datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC).timestamp()) // 3600


def readings(city: str) -> dict[int, float]:
    """The temperature of a city by the hour."""
    with (FOLDER / f"{city}.csv").open(newline="") as file:
        return {hour(row["time"]): float(row["fahrenheit"]) for row in csv.DictReader(file)}


YEAR = {city: readings(city) for city in ("sf", "sea")}


@pytest.fixture(scope="module")
def found() -> dict[str, Spells]:
    """What the demo prints: for each `predicate(arguments)` its intervals, by the hour."""
    command = [sys.executable, "-m", "tidelog", "run", "weather.tide", "--emit", "final", "--iso", "--out", "facts+-"]
    command += [part for city in YEAR for part in ("--in", f"{city}.csv?predicate=temp")]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    assert not done.stderr
    spells: dict[str, Spells] = {}
    for line in done.stdout.splitlines():
        atom, _, time = line.partition("@")
        ends = [hour(end) for end in time.strip("[]").split(",")]
        spells.setdefault(atom, set()).add((ends[0], ends[-1]))
    return spells


def runs(hours: Iterable[int], least: int = 1) -> Spells:
    """The longest stretches of consecutive hours, those shorter than `least` left out."""
    members = set(hours)
    begins = [begin for begin in members if begin - 1 not in members]
    spells = set()
    for begin in begins:
        end = begin
        while end + 1 in members:
            end += 1
        if end - begin + 1 >= least:
            spells.add((begin, end))
    return spells


def hours_of(spells: Spells) -> set[int]:
    """All hours of some spells."""
    return {time for begin, end in spells for time in range(begin, end + 1)}


def where(city: str, condition: Callable[[float], bool]) -> set[int]:
    """The hours of a city whose temperature meets a condition."""
    return {time for time, degrees in YEAR[city].items() if condition(degrees)}


def spells_of(found: dict[str, Spells], predicate: str) -> dict[str, Spells]:
    """The spells of one predicate for each city."""
    return {city: found.get(f"{predicate}({city})", set()) for city in YEAR}


@pytest.mark.slow
def test_heat_and_cold_spells(found: dict[str, Spells]) -> None:
    """Heat spells are runs of three hot hours or more, cold spells runs of six cold ones."""
    heat = {city: runs(where(city, lambda f, city=city: f >= HOT[city]), 3) for city in YEAR}
    cold = {city: runs(where(city, lambda f, city=city: f <= COLD[city]), 6) for city in YEAR}
    assert spells_of(found, "heat_spell") == heat
    assert spells_of(found, "cold_spell") == cold
    assert all(heat.values())
    assert all(cold.values())


@pytest.mark.slow
def test_heat_waves(found: dict[str, Spells]) -> None:
    """A heat wave lasts five days or more, and none of its hours is 24 hours behind the last heat spell."""
    waves = {}
    for city in YEAR:
        spells = hours_of(runs(where(city, lambda f, city=city: f >= HOT[city]), 3))
        waves[city] = runs({time + after for time in spells for after in range(24)}, 120)
    assert spells_of(found, "heat_wave") == waves
    assert all(waves.values())


@pytest.mark.slow
def test_rapid_falls(found: dict[str, Spells]) -> None:
    """A fall is rapid if one of the three hours before was warmer by 8 degrees, counted in tenths."""
    falls = {}
    for city, year in YEAR.items():
        tenths = {time: round(degrees * 10) for time, degrees in year.items()}
        falls[city] = runs(
            time for time in tenths if any(tenths.get(time - back, -999) - tenths[time] >= 80 for back in (1, 2, 3))
        )
    assert spells_of(found, "rapid_fall") == falls
    assert falls["sea"]


@pytest.mark.slow
def test_calm(found: dict[str, Spells]) -> None:
    """Calm is twelve hours or more in which no reading is more than 0.3 degrees from the one an hour before."""
    calm = {}
    for city, year in YEAR.items():
        tenths = {time: round(degrees * 10) for time, degrees in year.items()}
        calm[city] = runs({t for t in tenths if t - 1 in tenths and abs(tenths[t] - tenths[t - 1]) <= 3}, 12)
    assert spells_of(found, "calm") == calm
    assert calm["sea"]


@pytest.mark.slow
def test_warmer(found: dict[str, Spells]) -> None:
    """One city is warmer for 48 hours or more, in each of which both have a reading."""
    for city, other in (("sf", "sea"), ("sea", "sf")):
        ahead = {time for time, degrees in YEAR[city].items() if degrees > YEAR[other].get(time, 999)}
        assert found[f"warmer({city},{other})"] == runs(ahead, 48)


@pytest.mark.slow
def test_frost_warnings(found: dict[str, Spells]) -> None:
    """A warning stands for twelve hours from each hour below 4 °C that has no other in the 24 hours before."""
    warnings = {}
    for city in YEAR:
        frost = where(city, lambda f: f < 39.2)
        first = {time for time in frost if not any(time - back in frost for back in range(1, 25))}
        warnings[city] = runs({time + after for time in first for after in range(12)})
    assert spells_of(found, "frost_warning") == warnings
    assert warnings["sea"]


@pytest.mark.slow
def test_mild_evenings(found: dict[str, Spells]) -> None:
    """It is above 68 degrees, and has been in each hour since one, five to eight hours ago, that was hot."""
    evenings = {}
    for city in YEAR:
        hot, mild = where(city, lambda f, city=city: f >= HOT[city]), where(city, lambda f: f > 68)
        evenings[city] = runs(
            time
            for time in mild
            if any(time - back in hot and all(time - i in mild for i in range(back)) for back in range(5, 9))
        )
    assert spells_of(found, "mild_evening") == evenings
    assert evenings["sea"]


@pytest.mark.slow
def test_gaps_and_nothing_else(found: dict[str, Spells]) -> None:
    """Each city lacks the hour at which daylight saving time begins; a few dozen spells are printed in all."""
    missing = hour("2010-03-14T03:00")
    assert spells_of(found, "gap") == {city: {(missing, missing)} for city in YEAR}
    assert all(missing not in year and len(year) == 8759 for year in YEAR.values())
    assert 50 < sum(map(len, found.values())) < 120


def test_extract_rewrites_the_times_alone(tmp_path: Path) -> None:
    """The script that makes the extract reads both forms of the source's times, and copies temperatures as they are."""
    source = tmp_path / "source.csv"
    source.write_text("temp,date\n47.80,2010/01/01 00:00:00\n-3,2010/12/31 23:00\n")
    rows = runpy.run_path(str(FOLDER / "extract.py"))["readings"](source)
    assert list(rows) == [("2010-01-01T00:00", "47.80"), ("2010-12-31T23:00", "-3")]

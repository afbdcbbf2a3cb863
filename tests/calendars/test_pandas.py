"""Aggregates per hour and per day beside pandas: a year of readings that come late, in zones that change their clocks."""

from __future__ import annotations

from random import Random

import pandas as pd
import pytest

from tidelog import Session, compile

FUNCTIONS = {"mean": "avg(V)", "min": "min(V)", "count": "count()", "sum": "sum(V)"}
"""The aggregates by the names that pandas has for them."""
RULES = {"h": "each hour", "D": "each day"}
"""The periods by the names that pandas has for them."""
BEGIN = int(pd.Timestamp("2026-01-01T00:00Z").timestamp())
YEAR, LATENESS = 365 * 24 * 60 * 60, 60 * 60


def readings(random: Random) -> list[tuple[int, str, int]]:
    """A year of readings of two sensors: one some ten minutes after the other, with gaps of hours and of days."""
    found = []
    for sensor in ("a", "b"):
        time, value = BEGIN, 200
        while time < BEGIN + YEAR:
            value += random.randint(-9, 9)
            found.append((time, sensor, value))
            time += random.randint(300, 900) if random.random() > 0.0003 else random.randint(3600, 3 * 86400)
    return sorted(found)


def program(zone: str) -> str:
    """Each aggregate over each period, with the period's name, which keeps equal values of two periods apart."""
    lines = ["timeline integer, unit 1 s.", "input temp(sensor: text, value: integer)."]
    for rule, declared in RULES.items():
        period = declared.partition(" ")[2]
        lines.append(f'calendar {period}(P) = {declared}, zone "{zone}".')
        for name, function in FUNCTIONS.items():
            aggregate = f'A = {function} over temp(S, V) per {period} zone "{zone}" by S'
            lines.append(f"'{name} {rule}'(S, P, A) :- {aggregate}, {period}(P).")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_aggregates_per_period_are_those_of_pandas(zone: str) -> None:
    """The mean, the least, the count and the sum of each local hour and day, also where clocks are changed."""
    random = Random(7)
    facts = readings(random)
    session = Session(compile(program(zone)), emit="final", lateness=LATENESS)
    for time, sensor, value in sorted(facts, key=lambda fact: fact[0] + random.randint(0, LATENESS)):
        session.push("temp", (sensor, value), time=time)
    session.finish()
    told = {(item.predicate, item.row[0], pd.Timestamp(item.begins_at)): item.row[2] for item in session.pull()}

    frame = pd.DataFrame(facts, columns=["time", "sensor", "value"])
    frame.index = pd.to_datetime(frame["time"], unit="s", utc=True).dt.tz_convert(zone)
    expected = {}
    for rule in RULES:
        for sensor, values in frame.groupby("sensor")["value"]:
            found = values.resample(rule).agg(list(FUNCTIONS))
            for begin, row in found[found["count"] > 0].iterrows():
                expected |= {(f"{name} {rule}", sensor, begin.tz_convert("UTC")): row[name] for name in FUNCTIONS}
    assert len(expected) > 4 * 2 * 8000  # most hours of the year, for each sensor and aggregate
    assert told == expected

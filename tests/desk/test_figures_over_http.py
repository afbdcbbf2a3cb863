"""`GET /alarms/figures`, and what Prometheus is told of alarms."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from web.serving import Serving, serving, until

from tidelog.connectors.http.watching.state import moment_of

pytestmark = pytest.mark.anyio

PROGRAM = """
timeline integer, unit 1 s.
input hot(room: text).
input door(room: text).
too_warm(R) :- hot(R).
open(R) :- door(R).
alarm too_warm(room: text), priority high, text "Room {room} is too warm", acknowledge, shelve at most 8 h.
alarm open(room: text), priority low.
"""
DAY = 86_400


def held(predicate: str, room: str, lo: int, hi: int) -> str:
    """A fact over a range of seconds."""
    return f'{{"{predicate}":{{"room":"{room}"}},"interval":"[{lo},{hi}]"}}\n'


async def figures(run: Serving, **asked: str) -> dict[str, Any]:
    """What is answered."""
    answer = await run.client.get("/alarms/figures", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def act(run: Serving, alarm: dict[str, Any], action: str, **told: str) -> httpx.Response:
    """Do something with an alarm as anna."""
    return await run.client.post(f"/alarms/{alarm['id']}/{action}", json={"who": "anna", **told})


async def until_open(run: Serving, count: int) -> list[dict[str, Any]]:
    """The open alarms, once there are so many."""
    await until(lambda: len(run.watch.desk.open_alarms(moment_of(run.watch))) == count)
    found: list[dict[str, Any]] = (await run.client.get("/alarms")).json()["alarms"]
    return found


async def test_figures_are_told_as_an_object() -> None:
    """Of the last day of the stream's time, unless told otherwise."""
    async with serving(PROGRAM, emit="changes") as run:
        facts = held("door", "hall", 10, 3 * DAY)
        facts += "".join(held("hot", "north", at, at) for at in (100 + DAY, 120 + DAY, 140 + DAY))
        await run.post(facts + held("hot", "south", 2 * DAY, 2 * DAY + 99))
        await run.post(held("hot", "north", 2 * DAY + 60, 2 * DAY + 60))
        south = next(alarm for alarm in await until_open(run, 3) if alarm["args"] == ["south"])
        assert (await act(run, south, "acknowledge")).status_code == 200
        await run.post(held("hot", "cellar", 2 * DAY + 90, 2 * DAY + 90))
        await until(lambda: run.engine.frontier >= 2 * DAY + 61)
        found = await figures(run)
    assert found["until"] == "1970-01-03T00:01:31Z" and found["since"] == "1970-01-02T00:01:31Z"
    assert found["known_since"] == "1970-01-01T00:00:10Z"
    assert (found["alarms"], found["by_priority"]) == (6, {"critical": 0, "high": 6, "medium": 0, "low": 0})
    assert found["per_10_minutes"] == {
        "periods": 144,
        "average": 0.042,
        "maximum": 3,
        "flooded": 0,
        "flooded_share": 0.0,
    }
    north = found["most_frequent"][0]
    assert (north["text"], north["alarms"], north["share"]) == ("Room north is too warm", 4, 0.667)
    assert [(each["args"], each["alarms"]) for each in found["chattering"]] == [(["north"], 3)]
    assert [(each["alarm"], each["begins"]) for each in found["stale"]] == [("open", "1970-01-01T00:00:10Z")]
    assert [(each["args"], each["ends"]) for each in found["unacknowledged"]][:2] == [(["hall"], None), (["north"], None)]
    assert found["acknowledged"]["count"] == 1
    assert found["acknowledged"]["median_seconds"] == found["acknowledged"]["p90_seconds"] == 60


async def test_a_window_can_be_asked_for() -> None:
    """By its ends, or its length; for several operators. What is no window is said to be none."""
    async with serving(PROGRAM, emit="changes") as run:
        await run.post("".join(held("hot", f"r{i}", 10 + i, 500) for i in range(22)))
        await run.post(held("hot", "x", 4000, 4000))
        await until(lambda: run.engine.frontier >= 3999)
        whole = await figures(run, since="0", until="1000")
        assert (whole["alarms"], whole["per_10_minutes"]["flooded"], len(whole["floods"])) == (22, 1, 1)
        assert whole["floods"][0] == {
            "begins": "1970-01-01T00:00:00Z",
            "ends": "1970-01-01T00:10:00Z",
            "alarms": 22,
            "maximum": 22,
        }
        assert len(whole["most_frequent"]) == 10
        three = await figures(run, since="0", until="1000", operators="3")
        assert not three["floods"] and three["per_operator_10_minutes"]["maximum"] == 7.333
        assert (await figures(run, last="1 h"))["alarms"] == 1
        assert (await figures(run, last="2 h"))["alarms"] == 23
        for wrong in ({"since": "noon"}, {"since": "9", "until": "9"}, {"last": "-1"}, {"last": "0"}, {"operators": "0"}):
            assert (await run.client.get("/alarms/figures", params=wrong)).status_code == 400


async def test_a_program_without_alarms_has_no_figures() -> None:
    """As it has no desk."""
    async with serving() as run:
        assert (await run.client.get("/alarms/figures")).status_code == 404


async def test_prometheus_is_told_of_alarms() -> None:
    """How many are open by priority and state, how many began, and what people did."""
    async with serving(PROGRAM, emit="changes") as run:
        await run.post(held("hot", "north", 10, 500) + held("hot", "south", 10, 500) + held("door", "hall", 11, 500))
        await run.post(held("door", "attic", 20, 20))
        north = next(alarm for alarm in await until_open(run, 4) if alarm["args"] == ["north"])
        await act(run, north, "acknowledge")
        await act(run, north, "comment", comment="on my way")
        found: dict[tuple[str, ...], float] = {}
        for family in text_string_to_metric_families((await run.client.get("/metrics")).text):
            for sample in family.samples:
                if "alarm" in sample.name:
                    labels = [value for name, value in sorted(sample.labels.items()) if name != "program"]
                    found[sample.name, *labels] = sample.value
    assert found["tidelog_alarms_open", "high", "acknowledged"] == 1
    assert found["tidelog_alarms_open", "high", "unacknowledged"] == 1
    assert found["tidelog_alarms_open", "low", "unacknowledged"] == 2
    assert found["tidelog_alarms_open", "low", "shelved"] == 0
    assert found["tidelog_alarms_begun_total", "too_warm"] == 2
    assert found["tidelog_alarm_actions_total", "acknowledge"] == found["tidelog_alarm_actions_total", "comment"] == 1
    assert found["tidelog_alarm_actions_total", "shelve"] == 0

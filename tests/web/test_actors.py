"""What is shown of the actors over which a run is spread: on the page, by `/metrics`, and where one was set aside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tidelog.connectors.standby.report import Report
from tidelog.plans.data.timeline import NEG
from tidelog.runtime.ports.actors import ActorStatistics
from web.serving import Serving, fact, serving

pytestmark = pytest.mark.anyio

PROGRAM = """
timeline integer, unit 1 s.
input temp(machine: text, celsius: number).
output hot, many.
high(M) for 9 s :- temp(M, C), C >= 80.
hot(M) :- high(M) for 2 s.
many :- N = count() over temp(M, C) in [1 min], N > 2.
"""


async def samples(run: Serving) -> dict[tuple[str, ...], float]:
    """The samples of actors by name, island, shard, and what else the labels say."""
    answer = await run.client.get("/metrics")
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            if sample.name.startswith("tidelog_actor"):
                labels = [sample.labels[name] for name in ("island", "shard", "name", "for") if name in sample.labels]
                found[sample.name.removeprefix("tidelog_actor_"), *labels] = sample.value
    return found


async def post_some(run: Serving) -> None:
    told = "".join(fact(f"m{i % 5}", 70 + i, 100 + i) for i in range(20))
    assert (await run.post(told)).status_code == 202


@pytest.mark.parametrize("options", [{"workers": 2}, {"actors": "islands"}])
async def test_the_page_and_metrics_show_each_actor(options: dict[str, Any]) -> None:
    """How much it was told, what it holds, where it is, and what it waits for."""
    async with serving(PROGRAM, **options) as run:
        await post_some(run)
        await run.client.get("/api/state")  # behind it nothing is on its way
        shown = (await run.client.get("/api/state")).json()
        found = await samples(run)
    workers = options.get("workers", 1)
    places = [(actor["name"], actor["island"], actor["shard"]) for actor in shown["actors"]]
    assert places == [*(("hot", 0, shard) for shard in range(workers)), ("many", 1, 0)]
    assert sum(actor["facts"] for actor in shown["actors"]) == 40
    assert len({actor["process"] for actor in shown["actors"]} - {os.getpid()}) == (workers if workers > 1 else 0)
    many = shown["actors"][-1]
    assert many["rows"] > 0
    assert many["seconds"] > 0
    assert many["frontier"] == 118
    assert (many["inbox"], many["restarts"], many["poisons"], many["aside"]) == (0, 0, 0, "")
    assert {actor["waits_for"] for actor in shown["actors"]} == {"facts"}
    assert shown["aside"] == []
    assert found["facts_total", "1", "0", "many"] == 20
    assert sum(value for (name, *labels), value in found.items() if name == "facts_total" and labels[0] == "0") == 20
    assert found["rows", "1", "0", "many"] == many["rows"]
    assert found["busy_seconds_total", "1", "0", "many"] >= many["seconds"]
    assert found["lag_seconds", "1", "0", "many"] > 1e9  # these facts are of 1970
    assert [found["waits", "1", "0", "many", what] for what in ("facts", "islands", "nothing")] == [1, 0, 0]
    assert found["aside", "1", "0", "many"] == found["inbox", "1", "0", "many"] == 0


async def test_where_all_is_one_actor_there_is_nothing_to_show() -> None:
    """Neither a table nor a metric."""
    async with serving(PROGRAM) as run:
        await post_some(run)
        assert await samples(run) == {}
        shown = (await run.client.get("/api/state")).json()
        assert (shown["actors"], shown["aside"]) == ([], [])
        assert run.engine.actors() == []
        assert (await run.client.get("/healthz")).text == "ok\n"


async def test_what_was_set_aside_degrades_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """`/healthz` says how many parts do not run, to everyone, and the page which and why."""
    async with serving(PROGRAM, actors="islands") as run:
        await post_some(run)
        network = run.engine._session._network_of  # type: ignore[attr-defined] # of a run that is spread
        (many,) = network.shards[1]
        many.put_aside("it has failed again and again")
        await post_some(run)
        answer = await run.client.get("/healthz")
        assert (answer.status_code, answer.text) == (200, "degraded: plant: 1 of its actors is set aside\n")
        run.server.copying.report = lambda: Report("leads", 3, 0.0, 0, 0.0, is_alone=True, alone_count=1)
        told = "1 of its actors is set aside; leads under epoch 3 since 1970-01-01T00:00:00Z, alone"
        assert (await run.client.get("/healthz")).text == f"degraded: plant: {told}\n"
        run.server.copying.report = None
        shown = (await run.client.get("/api/state?brief")).json()
        assert shown["aside"] == ["many"]
        actors = (await run.client.get("/api/state")).json()["actors"]
        assert [actor["aside"] for actor in actors] == ["", "it has failed again and again"]
        found = await samples(run)
        assert (found["aside", "0", "0", "hot"], found["aside", "1", "0", "many"]) == (0, 1)
        assert run.watch.told_counts["hot"] >= 3


class Earlier:
    """An engine in which one island waits for another."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def actors(self) -> Sequence[ActorStatistics]:
        return [
            ActorStatistics("hot", 0, 0, 7, 3, 5, 1, 2, 1, 0, 3, 99, frontier=NEG),
            ActorStatistics("late", 1, 0, 8, 1, 2, 1, 0, 0, 4, 0, 0, waits_for="hot"),
        ]


async def test_who_waits_for_an_earlier_island_says_for_which() -> None:
    """By its name on the page; who is at work waits for nothing."""
    async with serving(PROGRAM, actors="islands") as run:
        await post_some(run)
        run.watch.engine = Earlier(run.engine)
        actors = (await run.client.get("/api/state")).json()["actors"]
        assert [(actor["waits_for"], actor["inbox"], actor["frontier"]) for actor in actors] == [
            ("", 2, None),
            ("hot", 0, None),
        ]
        found = await samples(run)
    assert [found["waits", "0", "0", "hot", what] for what in ("facts", "islands", "nothing")] == [0, 0, 1]
    assert [found["waits", "1", "0", "late", what] for what in ("facts", "islands", "nothing")] == [0, 1, 0]
    assert (found["restarts_total", "0", "0", "hot"], found["poisons_total", "1", "0", "late"]) == (1, 4)
    assert (found["log_length", "0", "0", "hot"], found["state_bytes", "0", "0", "hot"]) == (3, 99)
    assert ("lag_seconds", "0", "0", "hot") not in found

"""`/metrics`, `/healthz`, `/ready`, actions, and what the page is told."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tidelog.connectors.http.watching.lanes import MAX_BARS, MAX_LANES, Lanes
from tidelog.connectors.http.watching.possible import Possible
from tidelog.connectors.http.watching.sources import MAX_FACTS, Heard
from tidelog.connectors.sources.memory import MemorySink, PushSource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.durability import Backlog
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected, TakeLetters
from tidelog.version import VERSION
from web.serving import PROGRAM, Serving, fact, serving, until

pytestmark = pytest.mark.anyio


async def samples(run: Serving) -> dict[tuple[str, ...], float]:
    """All samples by name and the values of their labels, but for the program's."""
    answer = await run.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = [value for name, value in sorted(sample.labels.items()) if name != "program"]
            found[sample.name, *labels] = sample.value
    return found


async def test_metrics_count_what_a_run_does() -> None:
    """Facts by source, dead letters by reason, answers by output, rows by step, latency, requests, the process."""
    async with serving() as run:
        await run.post(fact("a", 90, 100) + fact("a", 91, 101) + fact("a", 20, 50) + "nonsense\n" + fact("b", 140, 102))
        found = await samples(run)
        assert found["tidelog_facts_received_total", "http"] == 4
        assert found["tidelog_facts_accepted_total", "http"] == 3
        assert found["tidelog_facts_late_total", "http"] == 1
        assert found["tidelog_dead_letters_total", "late", "http"] == 1
        assert found["tidelog_dead_letters_total", "unreadable", "http"] == 1
        assert found["tidelog_answers_total", "hot"] == 3
        assert found["tidelog_violations_total",] == 1
        assert found["tidelog_step_received_total", "hot"] == 3
        assert found["tidelog_step_rows", "hot"] >= 0
        assert found["tidelog_event_latency_seconds_count",] == 1
        assert found["tidelog_queue_length", "http"] == 0
        assert found["tidelog_watermark_lag_seconds", "http"] > 1e9  # these facts are of 1970
        assert found["tidelog_ready",] == 1
        assert found["tidelog_http_requests_total", "POST", "/ingest", "400"] == 1
        assert found["process_resident_memory_bytes",] > 0
        assert found["tidelog_build_info", platform.python_version(), VERSION] == 1


class Stuck(MemorySink):
    """A sink that takes nothing until it is let go on."""

    is_stuck = True

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        await until(lambda: not self.is_stuck)
        await super().send(answers)


async def test_the_slowest_sink_is_named(tmp_path: Path) -> None:
    """Its name, and how much waits for it; how much waits in all, how much may, and whether sources wait for that."""
    with StateDirectory(str(tmp_path)) as store:
        stuck = Stuck(name="slow")
        async with serving(sinks=[stuck], state=store, backlog=Backlog(1)) as run:
            await run.post(fact("a", 90, 100) + fact("b", 91, 101))
            await until(lambda: run.engine.owing() is not None and run.engine.owing().size > 0)
            found = await samples(run)
            assert found["tidelog_slowest_sink_waiting", "slow"] == 2
            assert found["tidelog_owed_bytes",] > found["tidelog_owed_limit_bytes",] == 1
            assert found["tidelog_sources_wait_for_sinks",] == 1
            assert found["tidelog_sink_dropped_answers_total", "slow"] == 0
            stuck.is_stuck = False


class Away(MemorySink):
    """A sink that is open, and whose other side comes and goes; what it is given it cannot deliver."""

    is_connected = False

    def give_up_to(self, take: TakeLetters) -> None:
        self._take = take

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        await self._take([Rejected(self.name, "it is too long", b"hot", None) for _ in answers])


async def test_each_end_tells_whether_the_other_side_is_there() -> None:
    """A gauge for each source and each sink; what the page shows at its head names those that are away."""
    sink = Away(name="alarms")
    async with serving(sinks=[sink], sources=[PushSource(name="push")]) as run:
        await until(
            lambda: len(run.engine.connected()) == 4 and sum(is_there for _, is_there in run.engine.connected()) == 3
        )
        found = await samples(run)
        ends = {labels[1]: value for labels, value in found.items() if labels[0] == "tidelog_connected"}
        assert ends == {"push": 1, "http": 1, "memory": 1, "alarms": 0}
        assert (await run.client.get("/api/state")).json()["away"] == ["alarms"]
        sink.is_connected = True
        assert (await samples(run))["tidelog_connected", "alarms"] == 1
        assert (await run.client.get("/api/state")).json()["away"] == []


async def test_answers_that_cannot_be_delivered_are_counted_and_shown() -> None:
    """By sink; the page has each among the dead letters, with its reason."""
    async with serving(sinks=[Away(name="alarms")]) as run:
        await run.post(fact("a", 90, 100))
        await until(lambda: run.watch.letters_count == 1)
        assert (await samples(run))["tidelog_sink_dead_letters_total", "alarms"] == 1
        assert (await samples(run))["tidelog_sink_dead_letters_total", "memory"] == 0
        (letter,) = (await run.client.get("/api/state")).json()["letters"]
        assert (letter["source"], letter["kind"], letter["reason"]) == ("alarms", "undelivered", "it is too long")


async def test_an_answer_that_http_cannot_show_ends_nothing() -> None:
    """Half a surrogate pair, which a source that is no part of tidelog may bring: a dead letter; the others are shown."""
    async with serving() as run:
        run.watch.told([("hot", ("\ud800",), 100, 100), ("hot", ("b",), 100, 100)])
        assert "cannot be encoded" in run.watch.letters[0][3].reason
        assert [line.text for line in run.watch.feed.behind(0)] == ['{"predicate":"hot","args":["b"],"time":100}']


async def test_what_holds_now_is_counted_by_output() -> None:
    """An alarm counts while it is on, and no longer."""
    text = "timeline integer, unit 1 s. input temp(machine, celsius). hot(M) :- latest temp(M, C) by M in [inf], C >= 80."
    async with serving(text, emit="changes") as run:
        assert (await samples(run))["tidelog_holding", "hot"] == 0
        await run.post(fact("a", 90, 100) + fact("b", 91, 101) + fact("c", 20, 102) + fact("c", 20, 103))
        assert (await samples(run))["tidelog_holding", "hot"] == 2
        await run.post(fact("a", 20, 104) + fact("c", 20, 105) + fact("c", 20, 106))
        assert (await samples(run))["tidelog_holding", "hot"] == 1


async def test_a_program_is_known_by_its_text() -> None:
    """As `sha256sum` tells it of the file."""
    async with serving() as run:
        found = await samples(run)
        assert found["tidelog_program_info", hashlib.sha256(PROGRAM.encode()).hexdigest()] == 1


async def test_commits_are_measured() -> None:
    """An engine that stores tells how long that took."""
    async with serving(is_durable=True) as run:
        run.watch.committed(0.02)
        found = await samples(run)
        assert found["tidelog_commit_seconds_count",] == 1
        assert found["tidelog_commit_seconds_bucket", "0.025"] == 1
        assert found["tidelog_commit_seconds_bucket", "0.01"] == 0


async def test_it_is_ready_once_the_state_is_there() -> None:
    """`/ready` names who is not; `/healthz` says that the process answers."""
    async with serving() as run:
        assert (await run.client.get("/ready")).text == "ready\n"
        run.watch.is_ready = False
        answer = await run.client.get("/ready")
        assert (answer.status_code, answer.text) == (503, "not ready: plant\n")
        assert (await run.client.get("/healthz")).status_code == 200


async def test_actions_are_called_and_their_errors_told() -> None:
    """`POST /-/reload` calls what it was given; an error leaves things as they are, and is told."""
    async with serving() as run:

        async def reload() -> object:
            return {"steps": 3}

        async def fail() -> object:
            raise TidelogError("line 3 is wrong")

        run.server.actions.update(reload=reload, fail=fail)
        assert (await run.client.post("/-/reload")).json() == {"done": "reload", "told": {"steps": 3}}
        failed = await run.client.post("/-/fail")
        assert (failed.status_code, failed.json()) == (409, {"error": "line 3 is wrong"})
        unknown = await run.client.post("/-/other")
        assert (unknown.status_code, unknown.json()["actions"]) == (404, ["fail", "reload"])


async def test_the_page_is_told_what_changes() -> None:
    """What holds, with its range; sources with their last accepted facts; letters; and not again what it has already."""
    async with serving(emit="changes") as run:
        await run.post(fact("a", 90, 100) + fact("b", 20, 101) + "nonsense\n")
        state: dict[str, Any] = (await run.client.get("/api/state")).json()
        assert [(lane["text"], lane["bars"][0][:2]) for lane in state["lanes"]] == [("hot(a)", [100.0, None])]
        assert state["present"] == 101
        [source] = state["sources"]
        assert [(last["text"], last["at"]) for last in source["last"]] == [("temp(b,20)", 101.0), ("temp(a,90)", 100.0)]
        assert source["dead"] == {"unreadable": 1}
        assert state["letters"][0]["raw"] == "nonsense"
        known = {"lanes": state["lanes_version"], "letters": state["letters_version"]}
        again = (await run.client.get("/api/state", params=known)).json()
        assert not {"lanes", "letters"} & set(again)


async def test_why_says_what_has_been_forgotten() -> None:
    """What does not follow from the facts that are remembered comes with how many are not known any more."""
    async with serving(remember=1) as run:
        await run.post(fact("a", 90, 100) + fact("b", 91, 101))
        await until(lambda: run.watch.feed.last == 2)
        answer = await run.client.get("/api/why", params={"name": "hot", "row": '["a"]', "range": "100:100"})
        assert answer.status_code == 409
        assert "1 earlier facts, which held up to" in answer.json()["error"]


async def test_why_an_answer_holds_is_told() -> None:
    """The tree and the picture of `tidelog why`, over the facts that are known; 409 where it does not follow from them."""
    async with serving() as run:
        await run.post(fact("a", 90, 100))
        await until(lambda: run.watch.feed.last == 1)
        bar = (await run.client.get("/api/state")).json()["lanes"][0]
        asked = {"name": "hot", "row": bar["raw"], "range": bar["bars"][0][3]}
        told = (await run.client.get("/api/why", params=asked)).json()
        assert "by hot(M) :- temp(M, C), C >= 80." in told["text"]
        assert told["svg"].startswith("<svg")
        wrong = await run.client.get("/api/why", params={**asked, "row": '["z"]'})
        assert wrong.status_code == 409
        assert "does not follow from what is known" in wrong.json()["error"]
        for bad in ({"row": "["}, {"row": '[{"a":1}]'}, {"range": "1"}, {"range": "9:1"}):
            assert (await run.client.get("/api/why", params={**asked, **bad})).status_code == 400
        for unknown in ({"name": "nothing"}, {"name": ""}, {"name": "hot("}, {"row": '["a","b"]'}):
            refused = await run.client.get("/api/why", params={**asked, **unknown})
            assert refused.status_code == 400
            assert "the program has no predicate" in refused.json()["error"]


def test_the_fact_that_came_last_stands_last() -> None:
    """Of each device the last fact of a batch is kept, in the order in which these came; of too many the oldest go."""
    heard = Heard()
    heard.hear(3, [("p", ("a", 1), 1, 1), ("p", ("b", 2), 2, 2), ("p", ("a", 3), 3, 3)], 0.0)
    assert [record[1] for record, _ in heard.last.values()] == [("b", 2), ("a", 3)]
    heard.hear(1, [("p", ("b", 4), 4, 4)], 1.0)
    assert [record[1] for record, _ in heard.last.values()] == [("a", 3), ("b", 4)]
    heard.hear(MAX_FACTS, [("q", (i,), 5, 5) for i in range(MAX_FACTS)], 2.0)
    assert len(heard.last) == MAX_FACTS
    assert ("p", "b") not in heard.last


def test_lanes_hold_maximal_intervals_however_they_are_told() -> None:
    """Ranges that touch are one; a change that ends takes the place of the one that began."""
    lanes = Lanes()
    for lo, hi in ((5, 6), (1, 2), (3, 4), (9, 9)):
        lanes.add(("p", (), lo, hi))
    lanes.add(ChangeRecord("q", (), 1, POS))
    lanes.add(ChangeRecord("q", (), 1, 4))
    lanes.add(ChangeRecord("q", (), 5, POS))
    assert [lane.bars for lane in lanes] == [[(1, 6), (9, 9)], [(1, 4), (5, POS)]]


def test_lanes_are_bounded() -> None:
    """Of too many, those go that ended first; what holds on stays."""
    lanes = Lanes()
    lanes.add(ChangeRecord("on", (), 0, POS))
    for i in range(MAX_LANES + 10):
        lanes.add(("p", (i,), 0, 1))
    assert (len(list(lanes)), lanes.dropped) == (MAX_LANES, 11)
    assert next(iter(lanes)).predicate == "on"
    for i in range(MAX_BARS + 5):
        lanes.add(("on", (), 10 * i + 10, 10 * i + 11))
    assert len(list(lanes)[-1].bars) <= MAX_BARS


def test_what_may_follow_goes_once_it_is_decided() -> None:
    """A later line takes the place of an earlier one; a final one, or a deadline that has passed, ends it."""
    possible = Possible()
    possible.add(HypotheticalAnswer("m", {"X": "a", "T": 1}, "possible", at=1, deadline=3))
    possible.add(HypotheticalAnswer("m", {"X": "b", "T": 1}, "possible", at=1, deadline=2))
    possible.add(HypotheticalAnswer("m", {"X": "a", "T": 1}, "possible", at=2, deadline=3))
    assert [item.answer["X"] for item in possible.at(2)] == ["b", "a"]
    assert [item.answer["X"] for item in possible.at(3)] == ["a"]
    possible.add(HypotheticalAnswer("m", {"X": "a", "T": 1}, "certain", at=3))
    assert possible.at(0)[0].answer["X"] == "b"

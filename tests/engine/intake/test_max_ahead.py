"""Wrong clocks with `max_ahead`: first facts without sense, the way back, and that batching does not matter."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterable

import msgspec
import pytest

from engine.running import plan_of
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.runtime.intake.tracks import MAJORITY, MOST_HELD
from tidelog.runtime.ports.interfaces import Batch

PLAN = plan_of("timeline integer. seen(X) :- p(X).")
NOW = 1_700_000_000


def facts(times: Iterable[int]) -> list[Record]:
    return [("p", (f"f{i}",), time, time) for i, time in enumerate(times)]


def run(
    times: list[int], cut: int, *, max_ahead: int = 60, lateness: int = 0, save: bool = False
) -> tuple[list[int], list[str]]:
    """When the facts that count begin, and what was refused, in order; `save` goes on from a snapshot after each batch."""
    session = Session(PLAN, max_ahead=max_ahead, lateness=lateness)
    refused: list[str] = []
    seen: list[int] = []
    given = facts(times)
    for i in range(0, len(given), cut):
        refused += [
            item.raw.decode() + ": " + item.reason.split(":")[0]
            for item in session.take("session", Batch(given[i : i + cut]))
        ]
        seen += [record[2] for record in session.pull_records()]
        if save:
            state = json.loads(msgspec.json.encode(session.snapshot()))
            session = Session(PLAN, max_ahead=max_ahead, lateness=lateness)
            session.restore(state)
    refused += [item.raw.decode() + ": " + item.reason.split(":")[0] for item in session.end("session")]
    assert session.statistics().intake.held == 0
    return seen + [record[2] for record in session.pull_records()], refused


def test_a_clock_that_begins_in_1970_finds_its_way_back(caplog: pytest.LogCaptureFixture) -> None:
    """Once most of the later facts agree, time goes on there, and the log says so; until then they are refused."""
    right = list(range(NOW, NOW + 100))
    with caplog.at_level(logging.WARNING, "tidelog"):
        seen, refused = run([3, 4, 5, *right], 1)
    assert seen == [3, 4, 5, *right[MAJORITY - 1 :]]
    assert refused == [f"p(f{i + 3})@{NOW + i}: ahead" for i in range(MAJORITY - 1)]
    assert caplog.messages == [f"session: time goes on at {right[MAJORITY - 1]}: most facts now lie there, and not near 5"]


def test_a_first_fact_without_sense_decides_nothing() -> None:
    """A first fact is held until another agrees: far in the past or in the future, it alone is refused."""
    right = list(range(NOW, NOW + 5))
    assert run([3, *right], 1) == (right, ["p(f0)@3: late"])
    assert run([NOW * 2, *right], 1) == (right, [f"p(f0)@{NOW * 2}: ahead"])


def test_a_first_fact_is_told_once_another_agrees() -> None:
    """Until then it is held and counted so; at the end it counts though it was alone."""
    session = Session(PLAN, max_ahead=60)
    session.push("p", ["a"], time=7)
    assert (session.pull(), session.statistics().intake.held) == ([], 1)
    session.push("p", ["b"], time=8)
    assert [str(answer) for answer in session.pull()] == ["seen(a)@7", "seen(b)@8"]
    assert run([7], 1) == ([7], [])
    assert run([7, 900], 1) == ([7], ["p(f1)@900: ahead"])


def test_first_facts_that_never_agree_are_bounded() -> None:
    """With `MOST_HELD` facts without any majority the largest group decides, and what waits does not grow."""
    scattered = [1000 * i for i in range(1, MOST_HELD - 1)]
    session = Session(PLAN, max_ahead=60)
    given = facts([*scattered, 500, 501, 502])
    for i, record in enumerate(given):
        session.take("session", Batch([record]))
        assert session.statistics().intake.held == (i + 1 if i + 1 < MOST_HELD else 0)
    assert sorted(record[2] for record in session.pull_records()) == [500, 501, 502]


def test_a_minority_that_is_ahead_moves_nothing() -> None:
    """One of three devices with a wrong clock is refused for as long as it goes on."""
    times = [time for second in range(200) for time in (second, second, NOW + second)]
    seen, refused = run(times, 7)
    assert len(refused) == 200
    assert max(seen) == 199


@pytest.mark.parametrize("seed", range(40))
def test_what_is_refused_does_not_depend_on_batching_or_snapshots(seed: int) -> None:
    """Jumps to and fro, late facts, first facts without sense: the same facts count, however the stream is cut."""
    draw = random.Random(seed)
    times: list[int] = []
    for _ in range(draw.randint(1, 8)):
        base = draw.choice([0, 500, 10_000, NOW])
        times += [base + i + draw.randint(-3, 3) for i in range(draw.choice([1, 1, 2, 3, 20, 40]))]
    lateness = draw.choice([0, 2])
    expected = run(times, 1, lateness=lateness)
    assert len(expected[0]) + len(expected[1]) == len(times)
    for cut in (2, 5, 1000):
        seen, refused = run(times, cut, lateness=lateness)
        assert (sorted(seen), sorted(refused)) == (sorted(expected[0]), sorted(expected[1]))
    assert run(times, 3, lateness=lateness, save=True) == run(times, 3, lateness=lateness)


def test_what_advance_promises_decides_about_first_facts() -> None:
    """A promise says where the source stands: what was held and lies too far ahead of it is refused, the rest counts."""
    session = Session(PLAN, max_ahead=60)
    session.take("session", Batch(facts([NOW])))
    refused = session.take("session", Batch(facts([40, 41]), watermark=50))
    assert [item.raw for item in refused] == [b"p(f0)@1700000000"]
    assert [record[2] for record in session.pull_records()] == [40, 41]
    other = Session(PLAN, max_ahead=60)
    other.take("session", Batch(facts([40])))
    other.advance(50)
    assert [record[2] for record in other.pull_records()] == [40]

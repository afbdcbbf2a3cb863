"""What a gateway relies on of each sink, as tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio
import anyio.lowlevel
import pytest

from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.durability import promise_of
from tidelog.runtime.ports.interfaces import SinkStatistics
from tidelog.testing.connectors.benches import Arrival, SinkBench, alarm
from tidelog.testing.connectors.driving import Driven, KitFeed, deliver, promptly, until

_ANSWERS = [alarm(number) for number in range(1, 13)]
_TURNS = (0, 1, 2, 3, 5, 8, 13, 21)
"""After how many turns of other tasks a sink is cancelled."""


class SinkKit:
    """Derive `class TestMine(SinkKit)` from it, with a fixture `bench` that gives a `SinkBench`; each test has a new one."""

    cannot: ClassVar[Mapping[str, str]] = {}
    """The properties that this wire cannot have, by the names of their tests without `test_`, each with the reason."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture(autouse=True)
    def _passed_over(self, request: pytest.FixtureRequest) -> None:
        pass_over(self.cannot, request)

    async def test_answers_arrive_in_order(self, bench: SinkBench) -> None:
        """Left without an error, a sink has delivered all that it was given, each once, in order."""
        driven = await deliver(bench.open(), _ANSWERS)
        await until(lambda: len(bench.arrived()) >= len(_ANSWERS))
        assert _numbers(bench) == _numbers_of(_ANSWERS)
        assert driven.letters == [] and driven.statistics() == SinkStatistics()

    async def test_poison_is_a_dead_letter_and_holds_up_nobody(self, bench: SinkBench) -> None:
        """An answer that can never be delivered costs itself alone, in the middle of others and by itself."""
        good = _ANSWERS[:6]
        driven = await deliver(bench.open(), [*good[:2], bench.poison, *good[2:4], bench.poison, *good[4:]])
        await until(lambda: len(bench.arrived()) >= len(good))
        assert _numbers(bench) == _numbers_of(good)
        assert [letter.record for letter in driven.letters] == [bench.poison] * 2
        assert all(letter.reason and letter.raw and letter.place == driven.sink.name for letter in driven.letters)
        assert driven.statistics() == SinkStatistics(undelivered=2)

    async def test_a_repeat_has_the_same_id(self, bench: SinkBench) -> None:
        """Where the other side has an answer, and the sink cannot know it, it may send it again: as the same answer."""
        driven, feed = Driven(bench.open()), KitFeed(_ANSWERS[:3])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(driven.run, feed)
            await until(lambda: feed.is_idle and len(bench.arrived()) >= 3)
            bench.deafen()
            feed.add(_ANSWERS[3:6])
            await until(lambda: len(bench.arrived()) > 3)
            bench.come_back()
            feed.add(_ANSWERS[6:9])
            await until(lambda: set(_numbers(bench)) == set(range(1, 10)))
            feed.end()
        self._check_known_again(bench, driven)

    async def test_it_goes_on_when_the_other_side_comes_back(self, bench: SinkBench) -> None:
        """What became known while the other side was away arrives once it is there again; nobody has to do anything."""
        driven, feed = Driven(bench.open()), KitFeed(_ANSWERS[:3])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(driven.run, feed)
            await until(lambda: feed.is_idle and len(bench.arrived()) >= 3)
            bench.leave()
            feed.add(_ANSWERS[3:6])
            await turns_pass(max(_TURNS))
            bench.come_back()
            feed.add(_ANSWERS[6:9])
            await until(lambda: set(_numbers(bench)) >= set(range(1, 10)))
            feed.end()
        assert driven.letters == []
        self._check_known_again(bench, driven)

    async def test_it_may_be_left_while_the_other_side_is_away(self, bench: SinkBench) -> None:
        """Who stops a gateway does not wait for a receiver; what was not taken is delivered by the next run."""
        bench.leave()
        for turns in _TURNS:
            await _cancelled(bench, turns)
        bench.come_back()
        driven = await deliver(bench.open(), _ANSWERS)
        await until(lambda: set(_numbers(bench)) == set(_numbers_of(_ANSWERS)))
        self._check_known_again(bench, driven)

    async def test_it_may_be_cancelled_at_any_time(self, bench: SinkBench) -> None:
        """Nothing is lost, and nothing becomes another answer, at whatever moment a run ends; the next one goes on."""
        for turns in _TURNS:
            await _cancelled(bench, turns)
        driven = await deliver(bench.open(), _ANSWERS)
        await until(lambda: set(_numbers(bench)) == set(_numbers_of(_ANSWERS)))
        self._check_known_again(bench, driven)

    def _check_known_again(self, bench: SinkBench, driven: Driven) -> None:
        """A receiver that drops what it has gets each answer once; with `exactly once` there is nothing to drop."""
        arrived = bench.arrived()
        if promise_of(driven.sink) == "exactly once":
            assert sorted(_numbers(bench)) == sorted(set(_numbers(bench)))
        ids, numbers = _together(arrived)
        assert all(len(found) == 1 for found in ids.values()), f"an answer came under two ids: {ids}"
        assert all(len(found) == 1 for found in numbers.values()), f"two answers have one id: {numbers}"


def _together(arrived: Sequence[Arrival]) -> tuple[dict[int, set[str]], dict[str, set[int]]]:
    """The ids of each answer, and the answers of each id; of a wire without ids none."""
    ids: defaultdict[int, set[str]] = defaultdict(set)
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for number, id in arrived:
        if id is not None:
            ids[number].add(id)
            numbers[id].add(number)
    return ids, numbers


def _numbers(bench: SinkBench) -> list[int]:
    return [item.number for item in bench.arrived()]


def _numbers_of(answers: Sequence[Record]) -> list[int]:
    return [int(row[0]) for _, row, _, _ in answers]


async def _cancelled(bench: SinkBench, turns: int) -> None:
    """A run that ends after so many turns of other tasks."""
    with promptly():
        async with anyio.create_task_group() as tasks:
            driven = Driven(bench.open())
            tasks.start_soon(driven.run, KitFeed(_ANSWERS[driven.held :], first=driven.held + 1))
            await turns_pass(turns)
            tasks.cancel_scope.cancel()


async def turns_pass(count: int) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


def pass_over(cannot: Mapping[str, str], request: pytest.FixtureRequest) -> None:
    """Skip a test of what a wire cannot do."""
    name = request.function.__name__.removeprefix("test_")
    unknown = [one for one in cannot if not hasattr(request.cls, f"test_{one}")]
    if unknown:
        pytest.fail(f"`cannot` names `{unknown[0]}`, and there is no test `test_{unknown[0]}`")
    if name in cannot:
        pytest.skip(cannot[name])

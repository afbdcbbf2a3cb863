"""A run with a state: what it answers, how it goes on, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.running import plan_of, records
from tidelog import Engine, MemorySink, MemorySource
from tidelog.connectors.state_store import StateDirectory
from tidelog.plans.facts import Record
from tidelog.plans.plan import Plan
from tidelog.runtime.durability import Changes, Kept
from tidelog.runtime.interfaces import Batch

PROGRAM = """
timeline integer.
hot(X) :- temp(X, V), V > 22.
alarm(X) :- boxminus[0,2] hot(X).
spread(X) :- alarm(X).
spread(X) :- diamondminus[1,3] spread(X), hot(X).
quiet(X) :- diamondminus[0,1] temp(X, _), not hot(X).
"""


class ReplayableSource(MemorySource):
    """Facts one by one, which can be read again."""

    is_replayable = True

    def __init__(self, facts: list[Record]) -> None:
        self._facts = facts
        super().__init__(self._from(0))

    def _from(self, begin: int) -> list[Batch]:
        return [Batch([fact], position={"at": i + 1}) for i, fact in enumerate(self._facts) if i >= begin]

    def resume(self, position: dict[str, Any]) -> None:
        self._rest = iter(self._from(position["at"]))


class CrashError(Exception):
    """Stands for a killed process."""


class CrashingDirectory(StateDirectory):
    """Crashes at one of its commits: before it, or when it is done. What is left is what a killed process leaves."""

    crash_at = 0
    is_after = False

    def commit(self, changes: Changes) -> Kept:
        self.crash_at -= 1
        if self.crash_at == 0 and not self.is_after:
            raise CrashError
        kept = super().commit(changes)
        if self.crash_at == 0:
            raise CrashError
        return kept


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(PROGRAM)


def facts(plan: Plan, count: int = 40) -> list[Record]:
    return records(plan, [f"temp({'ab'[i % 2]},{20 + i * 7 % 6})@{i // 2}" for i in range(count)])


def go(plan: Plan, store: StateDirectory, source: MemorySource, sink: MemorySink, **options: Any) -> Engine:
    engine = Engine(plan, [source], [sink], state=store, commit_every=0, **options)
    anyio.run(engine.run, backend=options.pop("backend", "trio"))
    return engine


def answers(plan: Plan, given: list[Record], **options: Any) -> list[Record]:
    sink = MemorySink()
    anyio.run(Engine(plan, [MemorySource(given)], [sink], **options).run, backend="trio")
    return sink.answers


@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
def test_a_run_with_a_state_answers_as_one_without(tmp_path: Path, plan: Plan, emit: Any) -> None:
    """Uninterrupted, a sink gets the same answers, in the same order."""
    sink = MemorySink()
    with StateDirectory(str(tmp_path / "state")) as store:
        go(plan, store, MemorySource(facts(plan)), sink, emit=emit)
    assert sink.answers == answers(plan, facts(plan), emit=emit)


@pytest.mark.parametrize("is_after", [False, True])
def test_after_a_crash_at_any_commit_no_answer_is_lost(tmp_path: Path, plan: Plan, is_after: bool) -> None:
    """Crashed at its n-th commit, for each n, and run again: all sinks together got what one run would have told."""
    given = facts(plan)
    expected = answers(plan, given, emit="final")
    at, has_ended = 0, False
    while not has_ended:
        at += 1
        sinks = [MemorySink(), MemorySink()]
        with CrashingDirectory(str(tmp_path / f"{at}")) as store:
            store.crash_at, store.is_after = at, is_after
            try:
                go(plan, store, ReplayableSource(given), sinks[0], emit="final")
                has_ended = True
            except CrashError:
                pass
        with StateDirectory(str(tmp_path / f"{at}")) as store:
            go(plan, store, ReplayableSource(given), sinks[1], emit="final")
        found = sinks[0].answers + sinks[1].answers
        assert sorted(set(found)) == sorted(expected)
        assert len(found) - len(expected) < 20  # a sink that only does its best may be given some twice
    assert at > 3

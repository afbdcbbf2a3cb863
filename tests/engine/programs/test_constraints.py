"""Constraints: told once where they begin to be violated."""

from __future__ import annotations

import json

import pytest

from engine.running import BACKENDS, plan_of, records, run
from tidelog import Engine, MemorySink, MemorySource, Session, Violation

TEXT = "timeline integer. bottom :- on(X), off(X). input on(x). input off(x)."


def told(facts: list[str], text: str = TEXT, lateness: int = 0) -> list[str]:
    plan = plan_of(text)
    session = Session(plan, lateness=lateness)
    found = []
    for fact in facts:
        session.push_records(records(plan, [fact]))
        found += [f"{', '.join(item.facts)}@{item.during}" for item in session.pull_violations()]
    assert session.statistics().violations == len(found)
    return found


def test_a_violation_is_told_once_while_it_goes_on() -> None:
    """It is told when it begins, not again at each tick; after a gap it begins anew."""
    ticks = [f"{name}(a)@{time}" for time in (1, 2, 3, 7, 8) for name in ("on", "off")]
    assert told(ticks) == ["on(a), off(a)@1", "on(a), off(a)@7"]


def test_each_row_is_told_by_itself() -> None:
    """What is violated with one constant does not hide what is with another."""
    assert told(["on(a)@1", "on(b)@1", "off(b)@1", "off(a)@1"]) == ["on(b), off(b)@1", "on(a), off(a)@1"]


def test_a_late_fact_that_touches_a_violation_does_not_begin_one() -> None:
    """Within the lateness a known violation may grow at either end, and two may become one: none of this is told again."""
    ticks = [f"{name}(a)@{time}" for time in (5, 9, 4, 6, 10, 8, 7, 2) for name in ("on", "off")]
    assert told(ticks, lateness=20) == ["on(a), off(a)@5", "on(a), off(a)@9", "on(a), off(a)@2"]


def test_a_restored_session_knows_what_is_violated() -> None:
    """A violation that was told before the snapshot is not told again after it, and is counted."""
    plan = plan_of(TEXT)
    first = Session(plan)
    first.push_records(records(plan, ["on(a)@1", "off(a)@1"]))
    assert len(first.pull_violations()) == 1
    second = Session(plan)
    second.restore(json.loads(json.dumps(first.snapshot())))
    second.push_records(records(plan, ["on(a)@2", "off(a)@2"]))
    assert second.pull_violations() == []
    assert second.statistics().violations == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_engine_tells_on_violation(backend: str) -> None:
    """The engine calls back with the rule, the facts and the time."""
    plan = plan_of(TEXT)
    found: list[Violation] = []
    source = MemorySource(records(plan, ["on(a)@[1,4]", "off(a)@[3,9]", "on(b)@9"]), batch_size=1)
    engine = Engine(plan, [source], [MemorySink()], on_violation=found.append)
    run(backend, engine.run)
    assert [str(item) for item in found] == ["constraint violated at [3,4]: on(a), off(a) (rule: bottom :- on(X), off(X).)"]
    assert engine.statistics().violations == 1


def test_constraints_with_negation_wait_for_the_frontier() -> None:
    """A constraint that negates is violated only once it is known that nothing came."""
    text = "timeline integer. input on(x). input ok(x). bottom :- on(X), not diamondminus[0,2] ok(X)."
    assert told(["on(a)@1", "ok(a)@1", "on(a)@2", "on(a)@5", "on(a)@6"], text) == ["on(a), not diamondminus[0,2] ok(a)@5"]

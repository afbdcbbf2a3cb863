"""Alarms: what once went wrong, each with its name."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from limits import limits
from state.changing import KEEP, Memory, half

import tidelog
from tidelog import Session
from tidelog.operators.stores.notices import Notices
from tidelog.plans.alarms.desk import OpenAlarm
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.emission.held import NEVER, Held
from tidelog.runtime.ports.interfaces import EmitMode

PROGRAM = """\
timeline integer, unit 1 s.
hot(R) :- temp(R).
alarm hot(room: text), acknowledge, shelve at most 1 h.
output hot_state.
"""
PLAN = tidelog.compile(PROGRAM, desk=True)
MODES: list[EmitMode] = ["intervals", "final", "changes", "points"]


def session(plan: Plan = PLAN, **options: Any) -> Session[Any]:
    run: Session[Any] = Session(plan, held=True, **options)
    run.push("temp", ["n"], interval="[10,50]")
    return run


def states(run: Session[Any]) -> list[Record]:
    """The states that are told by the end, in order."""
    run.finish()
    found = [(name, row[1:], lo, hi) for name, row, lo, hi in run.pull_records() if name == "hot_state"]
    return sorted(found, key=lambda record: record[2])


def told(run: Session[Any]) -> list[tuple[str, int, int]]:
    return [(str(row[0]), lo, hi) for _, row, lo, hi in states(run)]


def test_what_is_removed_and_restored_at_the_same_time_is_in_service() -> None:
    """It was hidden from the next moment on, though somebody had brought it back."""
    run = session(emit="final")
    run.remove_from_service("hot", ["n"], who="anna", time=20)
    run.restore_to_service("hot", ["n"], who="bob", time=20)
    run.acknowledge("hot", ["n"], who="anna", time=30)
    assert told(run) == [("unacknowledged", 10, 29), ("acknowledged", 30, 50)]


def test_a_shelf_that_is_begun_anew_with_the_same_end_is_a_shelf_again() -> None:
    """By the same person, with the same comment: it was taken for the one that had been ended."""
    run = session(emit="final")
    run.shelve("hot", ["n"], who="anna", time=20, lasting=20)
    run.unshelve("hot", ["n"], who="anna", time=25)
    run.shelve("hot", ["n"], who="anna", time=26, lasting=14)
    run.acknowledge("hot", ["n"], who="anna", time=45)
    expected = [("unacknowledged", 10, 19), ("shelved", 20, 24), ("unacknowledged", 25, 25), ("shelved", 26, 39)]
    assert told(run) == [*expected, ("unacknowledged", 40, 44), ("acknowledged", 45, 50)]


def test_unshelve_ends_a_shelf_that_is_begun_at_the_same_time() -> None:
    run = session(emit="final")
    run.shelve("hot", ["n"], who="anna", time=20, lasting=20)
    run.unshelve("hot", ["n"], who="bob", time=20)
    run.acknowledge("hot", ["n"], who="anna", time=20)
    assert told(run) == [("unacknowledged", 10, 19), ("acknowledged", 20, 50)]


@pytest.mark.parametrize("emit", MODES)
def test_a_desk_takes_no_answers_from_others(emit: EmitMode) -> None:
    """With points, what was decided when a part of the desk's came was lost, whatever it was of."""
    text = PROGRAM.replace("temp(R)", "not off(R) since temp(R)")
    told = []
    for desk in (False, True):
        run = Session(tidelog.compile(text, desk=desk), emit=emit)
        run.push("temp", ["n"], time=3)
        run.push("off", ["n"], time=9)
        run.finish()
        told.append(run.pull_records())
    assert sorted(told[0]) == sorted(told[1]) != []


def desk(run: Session[Any]) -> list[OpenAlarm]:
    return run.open_alarms()


def test_a_desk_shows_nothing_before_its_time() -> None:
    """What goes on holding from a time on was told before the stream was complete up to it."""
    run = Session(tidelog.compile(PROGRAM.replace("temp(R)", "not off(R) since temp(R)"), desk=True), held=True)
    run.push("temp", ["n"], time=17)
    assert desk(run) == []
    run.advance(17)
    assert [(item.state, item.begins) for item in desk(run)] == [("unacknowledged", 17)]


def test_a_desk_has_what_goes_on_for_ever() -> None:
    """When the stream has ended, too."""
    run = Session(tidelog.compile(PROGRAM.replace("temp(R)", "not off(R) since temp(R)"), desk=True), held=True)
    run.push("temp", ["n"], time=17)
    run.finish()
    assert [(item.state, item.begins) for item in desk(run)] == [("unacknowledged", 17)]


def test_what_has_begun_is_shown_since_it_began() -> None:
    """Ahead of the stream, what was told in two pieces was not shown in the first one, and then as if it had begun with the
    second."""
    held = Held({"p": 0})
    held.receive("p", [(("a",), 5, 6)], Notices([(("a",), 7)]))
    assert [held.begun("p", ("a",), 4, present)[0] for present in (4, 5, 6, 7, 8)] == [None, 5, 5, 5, 5]


def test_what_has_returned_was_raised_when_it_began() -> None:
    """What ended was forgotten, though it went on as what has returned."""
    with limits(round=0):
        run = session()
        for at in range(51, 60):
            run.advance(at)
        assert [(item.state, item.begins, item.ends) for item in desk(run)] == [("returned_unacknowledged", 10, 50)]


def test_what_stands_keeps_the_range_that_it_continues() -> None:
    held = Held({"p": 0})
    with limits(round=0):
        held._most = 0
        held.receive("p", [(("a",), 2, 3), (("b",), 2, 2)])
        held._standing["p"]["a",] = 4
        held.forget(9)
        assert held.since("p", ("a",), 9) == (2, NEVER)
        assert held.entries() == {"p": 2}


def test_a_run_with_a_desk_goes_on_with_another_text(caplog: pytest.LogCaptureFixture) -> None:
    """The program before was read without its desk. Of parts that only a desk is told of, nothing is said."""
    other = tidelog.compile(PROGRAM.replace("acknowledge, ", "priority low, "), desk=True)
    store = Memory()
    facts: list[Record] = [("temp", ("n",), 10, 50), ("temp", ("s",), 60, 70)]
    half(PLAN, store, facts[:1], keep=KEEP)
    with caplog.at_level(logging.WARNING, "tidelog"):
        found, _ = half(other, store, facts, last=True, keep=KEEP, reload="drop")
    assert ("hot_state", ("s", "unacknowledged"), 60, 70) in found
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["hot_state"]


def test_an_argument_that_looks_like_a_name_stays_in_a_text() -> None:
    """The value of the next argument stood in its place."""
    text = 'timeline integer. near(A, B) :- seen(A, B). alarm near(a: text, b: text), text "{a} is near {b}".'
    run = Session(tidelog.compile(text, desk=True), held=True)
    run.push("seen", ["{b}", "door"], time=1)
    run.advance(1)
    assert [item.text for item in run.open_alarms()] == ["{b} is near door"]

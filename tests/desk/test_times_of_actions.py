"""When people did what they did: at the time of their request, which moves nobody else's time."""

from __future__ import annotations

from typing import Any

import pytest
from web.serving import Serving, serving, until

import tidelog
from desk.test_restarts import HOUR, PROGRAM, act, desk, found, held, post, state
from tidelog.plans.diagnostics.errors import DataError, ProgramError

pytestmark = pytest.mark.anyio


async def times(run: Serving) -> list[Any]:
    """When people did something, the last first."""
    entries = (await run.client.get("/alarms/history")).json()["entries"]
    return [entry["time"] for entry in entries if "who" in entry]


async def test_whatever_is_done_at_once_has_one_time() -> None:
    """Each action lay one step behind the one before it, also behind one that was refused: in minutes, hours ahead."""
    async with serving(PROGRAM, emit="changes") as run:
        await run.post(held("hot", "north", 10) + held("hot", "x", 20, 20))
        for _ in range(5):
            await act(run, "north", "comment", comment="so")
            item = found(run, "north")
            assert item is not None
            refused = await run.client.post(f"/alarms/{item['id']}/shelve", json={"who": "anna"})
            assert refused.status_code == 400
        await act(run, "north", "acknowledge")
        assert len(set(await times(run))) == 1


async def test_a_shelf_behind_the_end_of_one_lies_behind_it() -> None:
    """At one time the end counts: the new shelf would have ended before it began."""
    async with serving(PROGRAM, emit="changes") as run:
        await run.post(held("hot", "north", 10) + held("hot", "x", 20, 20))
        for action, told in [("shelve", {"for": "1 h"}), ("unshelve", {}), ("shelve", {"for": "2 h"})]:
            await act(run, "north", action, **told)
        assert state(run, "north") == "shelved"
        await run.post(held("hot", "x", HOUR, HOUR) + held("hot", "x", HOUR + 5, HOUR + 5))
        await until(lambda: run.engine.frontier >= HOUR)
        assert state(run, "north") == "shelved"


async def test_an_action_makes_no_fact_late() -> None:
    """It promised that nothing older comes: where all other sources were idle, facts of the present were refused."""
    async with serving(PROGRAM, emit="changes", lateness=0) as run:
        await run.post(held("hot", "north", 10))
        before = run.engine.statistics().intake.frontier
        await act(run, "north", "acknowledge")
        await act(run, "north", "comment", comment="so")
        assert run.engine.statistics().intake.frontier == before
        await post_taken(run, held("hot", "south", 10, 30))
        assert run.engine.statistics().intake.late == 0


async def post_taken(run: Serving, facts: str) -> None:
    """Hand in facts, and wait until they are taken."""
    answer = await run.post(facts, wait="taken")
    assert answer.status_code == 202, answer.text


@pytest.mark.parametrize(
    "line",
    [
        '{"acknowledge":{"alarm":"too_warm","args":["north"],"who":"boss"},"time":20}',
        '{"predicate":"too_warm acknowledge","args":["north","boss","",""],"time":20}',
    ],
)
async def test_who_hands_in_facts_acts_in_nobody_s_name(line: str) -> None:
    """A device could say that somebody had acknowledged an alarm."""
    async with serving(PROGRAM, emit="changes") as run:
        await run.post(held("hot", "north", 10))
        answer = await run.post(line, wait="taken")
        assert answer.status_code == 400, answer.text
        assert state(run, "north") == "unacknowledged"


async def test_parts_of_an_alarm_that_is_dropped_are_told_to_nobody(tmp_path: Any) -> None:
    """Sinks were told when `'other active'` ended."""
    other = "\ninput door(room: text).\nother(R) :- door(R).\nalarm other(room: text), acknowledge."
    async with desk(tmp_path, PROGRAM + other) as run:
        await post(run, held("door", "hall", 10) + held("hot", "x", 20, 20))
    async with desk(tmp_path, PROGRAM, reload="drop") as run:
        await post(run, held("hot", "x", 30, 30))
        assert not [answer for answer in run.sink.answers if " " in str(answer[0])]


@pytest.mark.parametrize(
    ("rule", "message", "help"),
    [
        (
            "call(R) :- hot_state(R, unacknowleged).",
            "alarm `hot` has no state `unacknowleged`",
            "did you mean `unacknowledged`?",
        ),
        (
            "call(R) :- hot_state(R, shelved).",
            "alarm `hot` is never `shelved`",
            "say `acknowledge`, `shelve at most 8 h` or",
        ),
        ("call(R) :- hot(R), not hot_state(R, odd).", "alarm `hot` has no state `odd`", "its states are `out_of"),
    ],
)
def test_a_state_that_there_is_not_is_refused(rule: str, message: str, help: str) -> None:
    """A rule over it never fired, and nobody said so."""
    text = f"timeline integer. input c(x). hot(R) :- c(R). alarm hot(room). output call. {rule}"
    with pytest.raises(ProgramError) as refused:
        tidelog.compile(text)
    (problem,) = refused.value.diagnostics
    assert problem.message == message and problem.help.startswith(help)


def test_a_shelf_is_as_fine_as_the_times_of_the_program() -> None:
    """The message named a number that nobody had said."""
    text = "timeline integer, unit 1 min. hot(R) :- c(R). alarm hot(room: text), shelve at most 8 h."
    session = tidelog.Session(tidelog.compile(text, desk=True))
    with pytest.raises(DataError, match="a shelf of `30 s` is finer than the program's times"):
        session.shelve("hot", ["n"], who="anna", time=5, lasting="30 s")

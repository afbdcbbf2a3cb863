"""What people did outlasts a restart, a reload, a changed program, and a power cut."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from state.versions import another
from web.serving import Serving, serving, until

from tidelog.connectors.http.watching.state import moment_of
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.runtime.ports.durability import Keep

pytestmark = pytest.mark.anyio

PROGRAM = """
timeline integer, unit 1 s.
input hot(room: text).
too_warm(R) :- hot(R).
alarm too_warm(room: text), priority high, acknowledge, shelve at most 8 h.
"""
OPEN = """
input door(room: text).
open(R) :- door(R).
alarm open(room: text), priority low, acknowledge, shelve at most 8 h.
"""
HOUR = 3600


@asynccontextmanager
async def desk(folder: Path, text: str = PROGRAM, **options: Any) -> AsyncIterator[Serving]:
    """A desk whose run goes on from where the last one in this folder has come."""
    with StateDirectory(str(folder / "state")) as store:
        options = {"state": store, "commit_every": 0.001, "emit": "changes", **options}
        async with serving(text, is_durable=True, history=folder / "state/alarms.jsonl", **options) as run:
            await run.engine.wait_started()
            yield run


def held(predicate: str, room: str, lo: int, hi: int = 99 * HOUR) -> str:
    """A fact over a range of seconds."""
    return f'{{"{predicate}":{{"room":"{room}"}},"interval":"[{lo},{hi}]"}}\n'


def found(run: Serving, room: str) -> dict[str, Any] | None:
    """The open alarm of a room."""
    desk = run.watch.desk
    items = desk.open_alarms(moment_of(run.watch))
    return next((desk.object(item) for item in items if item.args == (room,)), None)


def state(run: Serving, room: str) -> str | None:
    """How the alarm of a room stands; None where it is normal."""
    item = found(run, room)
    return None if item is None else str(item["state"])


async def act(run: Serving, room: str, action: str, **told: str) -> None:
    """Do something with the alarm of a room."""
    await until(lambda: found(run, room) is not None)
    item = found(run, room)
    assert item is not None
    answer = await run.client.post(f"/alarms/{item['id']}/{action}", json={"who": "anna", **told})
    assert answer.status_code == 200, answer.text


async def post(run: Serving, facts: str) -> None:
    """Hand in facts, and wait until they are stored."""
    answer = await run.post(facts, wait="commit")
    assert answer.status_code == 202, answer.text


async def test_actions_count_at_once_behind_a_restart(tmp_path: Path) -> None:
    """Also where the stream has not come to them; and what is done next lies behind them."""
    async with desk(tmp_path) as run:
        await post(run, held("hot", "north", 10) + held("hot", "south", 10) + held("hot", "x", 20, 20))
        await act(run, "north", "acknowledge", comment="on my way")
        await act(run, "south", "remove")
    async with desk(tmp_path) as run:
        assert (state(run, "north"), state(run, "south")) == ("acknowledged", "out_of_service")
        await act(run, "south", "restore")
        assert state(run, "south") == "unacknowledged"
    async with desk(tmp_path) as run:
        assert (state(run, "north"), state(run, "south")) == ("acknowledged", "unacknowledged")
        await post(run, held("hot", "x", 30, 30))
        await until(lambda: run.engine.frontier >= 29)
        assert (state(run, "north"), state(run, "south")) == ("acknowledged", "unacknowledged")
        item = found(run, "north")
        assert item is not None and [said["comment"] for said in item["comments"]] == ["on my way"]


async def test_an_action_right_after_a_restart_is_not_late(tmp_path: Path) -> None:
    """Though no source has spoken yet: it counts where the stream goes on."""
    async with desk(tmp_path) as run:
        await post(run, held("hot", "north", 10) + held("hot", "x", 20, 20))
    async with desk(tmp_path) as run:
        await act(run, "north", "acknowledge")
        assert state(run, "north") == "acknowledged"


@pytest.mark.parametrize("lateness", [0, 3600])
async def test_an_alarm_is_shown_behind_a_restart_before_any_source_speaks(tmp_path: Path, lateness: int) -> None:
    """It begins with the last fact. It was a fault: the list was empty until another fact came."""
    async with desk(tmp_path, lateness=lateness) as run:
        await post(run, held("hot", "south", 5) + held("hot", "north", 10))
        await act(run, "north", "acknowledge")
        before = (await run.client.get("/alarms")).json()["alarms"]
        states = {item["args"][0]: item["state"] for item in before}
        assert states == {"north": "acknowledged", "south": "unacknowledged"}
    for _ in range(2):
        async with desk(tmp_path, lateness=lateness) as run:
            assert (await run.client.get("/alarms")).json()["alarms"] == before


@pytest.mark.parametrize("reload", ["refuse", "drop"])
async def test_a_changed_program_keeps_what_was_done_with_what_it_still_declares(tmp_path: Path, reload: str) -> None:
    """Another priority and another text, a new alarm beside it: acknowledgements and shelves stay, in the state and on
    the list."""
    async with desk(tmp_path) as run:
        await post(run, held("hot", "north", 10) + held("hot", "south", 10) + held("hot", "x", 20, 20))
        await act(run, "north", "acknowledge")
        await act(run, "south", "shelve", **{"for": "2 h"})
        await post(run, held("hot", "x", 30, 30))
    changed = PROGRAM.replace("priority high", 'priority low, text "hot: {room}"') + OPEN
    async with desk(tmp_path, changed, reload=reload) as run:
        assert (state(run, "north"), state(run, "south")) == ("acknowledged", "shelved")
        north, south = found(run, "north"), found(run, "south")
        assert north is not None and (north["priority"], north["text"]) == ("low", "hot: north")
        assert south is not None and south["shelved_until"] is not None
        await post(run, held("door", "hall", 40) + held("hot", "x", 3 * HOUR, 3 * HOUR))
        await until(lambda: run.engine.frontier >= 3 * HOUR - 1)
        assert (state(run, "north"), state(run, "south")) == ("acknowledged", "unacknowledged")
        assert state(run, "hall") == "unacknowledged"


@pytest.mark.parametrize("then", [PROGRAM, PROGRAM + OPEN.replace("alarm open(room: text)", "output open. %")])
async def test_a_changed_program_says_what_it_drops(tmp_path: Path, caplog: pytest.LogCaptureFixture, then: str) -> None:
    """An alarm that is not declared any more takes with it what was done, also where its condition goes on; that of the
    others stays."""
    caplog.set_level("INFO")
    async with desk(tmp_path, PROGRAM + OPEN) as run:
        await post(run, held("hot", "north", 10) + held("door", "hall", 10) + held("hot", "x", 20, 20))
        await act(run, "north", "acknowledge")
        await act(run, "hall", "shelve", **{"for": "2 h"})
        await post(run, held("hot", "x", 30, 30))
    caplog.clear()
    async with desk(tmp_path, then, reload="drop") as run:
        assert state(run, "north") == "acknowledged" and state(run, "hall") is None
        told = [entry["what"] for entry in (await run.client.get("/alarms/history")).json()["entries"]]
        assert "shelve" in told  # what was done is history, whatever is declared
    assert "alarm `open` is not declared any more: what people did with it counts no more" in caplog.text
    assert "too_warm" not in caplog.text


async def test_a_shelf_ends_on_time_across_a_power_cut(tmp_path: Path) -> None:
    """The state is restored long after its end: the alarm is shown anew, from when the shelf was to end."""
    async with desk(tmp_path) as run:
        await post(run, held("hot", "north", 10) + held("hot", "x", 20, 20))
        await act(run, "north", "shelve", **{"for": "1 h"})
        assert state(run, "north") == "shelved"
    async with desk(tmp_path) as run:
        assert state(run, "north") == "shelved"
        await post(run, held("hot", "x", 5 * HOUR, 5 * HOUR))
        await until(lambda: run.engine.frontier >= 5 * HOUR - 1)
        assert state(run, "north") == "unacknowledged"


async def test_a_shelf_ends_by_the_clock_across_a_power_cut(tmp_path: Path) -> None:
    """Where no fact comes: the machine's clock is enough."""
    moment = 1_767_614_400

    def since(seconds: int) -> Callable[[], float]:
        began = time.monotonic()
        return lambda: moment + seconds + time.monotonic() - began

    async with desk(tmp_path, clock=1, now=since(60)) as run:
        await post(run, held("hot", "north", moment + 65, moment + 99 * HOUR))
        await act(run, "north", "shelve", **{"for": "1 h"})
        assert state(run, "north") == "shelved"
    async with desk(tmp_path, clock=1, now=since(30 * 60)) as run:  # once its source is back, the clock goes by the present
        await post(run, held("hot", "x", moment + 30 * 60 + 2, moment + 30 * 60 + 2))
        await until(lambda: run.engine.frontier >= moment + 29 * 60)
        assert state(run, "north") == "shelved"
    async with desk(tmp_path, clock=1, now=since(2 * HOUR)) as run:
        await post(run, held("hot", "x", moment + 2 * HOUR + 2, moment + 2 * HOUR + 2))
        await until(lambda: state(run, "north") == "unacknowledged")
        north = found(run, "north")
        assert north is not None and north["begins"] == "2026-01-05T12:01:05Z"


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_program_gets_its_first_alarm_and_loses_its_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_killed: bool
) -> None:
    """Its desk comes and goes as a source; what else is stored stays, also where the journal is told again behind a kill."""
    plain = PROGRAM[: PROGRAM.index("alarm")] + "output too_warm."

    async def speak(text: str, first: int, *actions: str) -> None:
        async with desk(tmp_path, text, reload="drop" if text == plain else "refuse") as run:
            await post(run, held("hot", "north", first, first + 5) + held("hot", "x", first + 8, first + 8))
            await post(run, held("hot", "south", first + 8, first + 9) + held("hot", "x", first + 9, first + 9))
            for action in actions:
                await act(run, "north", action)
                assert state(run, "north") is None
                await act(run, "south", action)
            if is_killed:
                shutil.copytree(tmp_path / "state", tmp_path / "copy")
        if is_killed:
            shutil.rmtree(tmp_path / "state")
            (tmp_path / "copy").rename(tmp_path / "state")

    await speak(plain, 10)
    await speak(PROGRAM, 20, "acknowledge")
    told = "filled from the journal" if is_killed else "its answers rest on what is known from 1970-01-01T00:00:20Z on"
    assert f"alarm `too_warm`, on the desk: new, {told}" in caplog.text
    assert "desk: cannot be read again" not in caplog.text
    async with desk(tmp_path) as run:
        assert state(run, "south") == "acknowledged"
    await speak(plain, 30)
    await speak(PROGRAM, 40)
    async with desk(tmp_path) as run:
        assert state(run, "north") == "returned_unacknowledged"
        assert state(run, "south") == "unacknowledged"


@pytest.mark.parametrize("first", [0, 1])
async def test_a_desk_comes_and_goes_within_one_journal(tmp_path: Path, first: int) -> None:
    """The last alarm went, and there is one again: what is filled from the journal is told what the desk of then did. It
    was a fault: no source `desk` was known."""
    plain = PROGRAM[: PROGRAM.index("alarm")] + "output too_warm."
    for number, text in enumerate([PROGRAM, plain, PROGRAM, plain, PROGRAM][first:]):
        begin = 100 * number
        async with desk(tmp_path, text, reload="drop", keep=Keep(size=1 << 30)) as run:
            await post(run, held("hot", "north", begin + 10, begin + 40) + held("hot", "x", begin + 20, begin + 20))
            if text == PROGRAM:
                assert state(run, "north") == "unacknowledged"
                await act(run, "north", "acknowledge")
                assert state(run, "north") == "acknowledged"


async def test_what_was_late_before_there_was_a_desk_stays_late(tmp_path: Path) -> None:
    """A desk that comes later holds back nobody in what is filled from the journal before it."""
    plain = PROGRAM[: PROGRAM.index("alarm")] + "output too_warm."
    more = "output seen. seen(R) :- diamondminus[0,99999] hot(R)."
    for text, room, begin in ((plain, "x", 20), (plain, "late", 5), (PROGRAM, "x", 3000), (PROGRAM + more, "x", 4000)):
        async with desk(tmp_path, text, reload="drop", keep=Keep(size=1 << 30)) as run:
            answer = await run.post(
                held("hot", room, begin, begin) + held("hot", "x", begin + 30, begin + 30), wait="commit"
            )
            assert answer.json()["rejected"] == (2 if room == "late" else 0), answer.text
            seen = {record[1] for record in run.sink.answers if record[0] == "seen"}
    assert seen == {("x",)}


@pytest.mark.pure
@pytest.mark.parametrize("kinds", [["other alarms"], ["other names"], ["other alarms", "other shapes"]])
async def test_what_was_done_outlasts_another_version(tmp_path: Path, kinds: list[str]) -> None:
    """Also where that makes other rules of an alarm, and no journal fills them: the list and the page are as before."""
    async with desk(tmp_path) as run:
        await post(run, held("hot", "north", 10) + held("hot", "south", 10) + held("hot", "x", 20, 20))
        await act(run, "north", "acknowledge", comment="on my way")
        await act(run, "south", "shelve", **{"for": "2 h"})
        await post(run, held("hot", "x", 30, 30))
    for at in (40, 50):
        with another(*kinds):
            async with desk(tmp_path) as run:
                assert (state(run, "north"), state(run, "south")) == ("acknowledged", "shelved")
                await post(run, held("hot", "x", at, at))
                for path in ("/state", "/metrics", "/alarms"):
                    answer = await run.client.get(path)
                    assert answer.status_code in (200, 404), answer.text

"""What went wrong in spread sessions once."""

from __future__ import annotations

import logging
from pathlib import Path
from unittest.mock import patch

import anyio
import pytest
from limits import LEAST, limits

import tidelog
from crashing import ReplayableSource
from islands.scripts import LAYOUTS, Moving, heard_of, session_of, takes
from tidelog import Engine, MemorySink
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.runtime.durable import snapshots
from tidelog.runtime.islands import spreading
from tidelog.runtime.islands.spreading import Layout
from tidelog.runtime.ports.interfaces import Batch, Tick
from tidelog.runtime.sessions.settings import SOURCE, Settings

LAYERS = """timeline integer. input p(x, y). input r(y).
a(X, Y) :- p(X, Y). a(X, Y) :- diamondminus[1,3] p(X, Y).
b(Y) :- diamondminus[0,1] a(_, Y).
c(Y) :- r(Y), not diamondminus[0,2] b(Y)."""


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_island_takes_it_that_its_own_absences_stay(layout: Layout) -> None:
    """After a time in which nobody listened, each was told of the absences of all, which it has not, and was set aside."""
    plan = tidelog.compile(LAYERS)
    steps = [
        takes(SOURCE, Batch([("p", ("k", 1), 1, 1), ("r", (1,), 1, 2)])),
        lambda session: session.pass_time(Tick(3, 5, unheard=1)),
        takes(SOURCE, Batch([("r", (1,), 6, 8)])),
        lambda session: session.rest(),
    ]
    expected = heard_of(session_of(plan, Settings(), None), steps)
    assert expected.answers
    assert heard_of(session_of(plan, Settings(), layout), steps).differences(expected) == {}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_what_begins_and_ends_within_a_delivery_is_sent_as_a_fact(layout: Layout) -> None:
    """It was sent as both in one message, of which the end was taken first: of what nobody knew."""
    plan = tidelog.compile(
        "timeline integer. input p(x, y). input r(y). a(X, Y) := on :- p(X, Y), not a(X, Y, on). "
        "b(Y) :- not r(Y) since[0,inf) a(_, Y, _)."
    )
    facts: list[Record] = [("p", ("k", 1), 0, 0), ("p", ("l", 1), 5, 5), ("p", ("k", 2), 7, 10), ("r", (1,), 7, 8)]
    steps = [takes(SOURCE, Batch(facts)), lambda session: session.end(SOURCE)]
    settings = Settings(lateness=3)
    expected = heard_of(session_of(plan, settings, None), steps)
    assert heard_of(session_of(plan, settings, layout), steps).differences(expected) == {}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_state_is_put_together_where_nothing_is_dropped_early(layout: Layout) -> None:
    """It was looked for what waits at gates, which stand nowhere then."""
    plan = tidelog.compile(
        "timeline integer. input p(x). input q(x). c(X) :- p(X), q(X). d(X) :- diamondminus[0,2] q(X), not c(X)."
    )
    settings = Settings(prospects=False)
    steps = [takes(SOURCE, Batch([(name, (f"k{at}",), at, at)])) for at in range(6) for name in ("p", "q")]
    steps.append(lambda session: session.end(SOURCE))
    expected = heard_of(session_of(plan, settings, None), steps)
    moving = Moving({3: LAYOUTS[2], 6: None, 8: LAYOUTS[0]})
    assert heard_of(session_of(plan, settings, layout), steps, moving).differences(expected) == {}
    assert moving.moved == 3


def test_a_program_that_asks_alone_has_a_state_though_it_has_no_island() -> None:
    """There was no watermark to take, and no deadline to tell."""
    plan = tidelog.compile(
        "timeline integer. input p(x). input q(x). a(X)@T :- p(X)@T, q(X)@T+2. ask a(X)@T.", outputs=False
    )
    steps = [takes(SOURCE, Batch([("p", ("k",), 0, 0)])), takes(SOURCE, Batch([("q", ("k",), 2, 2)]))]
    steps.append(lambda session: session.end(SOURCE))
    expected = heard_of(session_of(plan, Settings(), None), steps)
    assert expected.asked
    moving = Moving({1: LAYOUTS[2], 2: LAYOUTS[0]})
    session = session_of(plan, Settings(), LAYOUTS[0])
    assert session.deadline == session_of(plan, Settings(), None).deadline
    assert heard_of(session, steps, moving).differences(expected) == {}
    assert moving.moved == 2


def test_a_snapshot_that_cannot_be_had_now_is_put_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the states of shards do not belong together just then, the journal goes on; a later run is told it again."""
    monkeypatch.setattr(snapshots, "MOST_REPLAYED", 1)
    plan = tidelog.compile(LAYERS)
    given: list[Record] = [("p", (f"k{at}", at), at, at) for at in range(8)]
    whole = MemorySink()
    anyio.run(Engine(plan, [ReplayableSource(given)], [whole]).run)

    def none(*_: object) -> None:
        raise SnapshotError("they do not belong together")

    told: list[Record] = []
    for facts, fails in ((given[:4], True), (given, False)):
        with StateDirectory(tmp_path / "state") as store, caplog.at_level(logging.WARNING):
            sink = MemorySink()
            at_end = "stop" if fails else "finish"
            engine = Engine(plan, [ReplayableSource(facts)], [sink], state=store, actors="islands", at_end=at_end)
            with patch.object(spreading, "join_states", none) if fails else patch.object(store, "name", store.name):
                anyio.run(engine.run)
            told += sink.answers
    assert "no snapshot was taken: they do not belong together" in caplog.text
    assert sorted(told) == sorted(whole.answers)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_goes_on_behind_a_delivery_keeps_its_begin(layout: Layout) -> None:
    """What was held was forgotten before what continues it had landed: it seemed to have begun later."""
    plan = tidelog.compile("timeline integer. input p(x, y). a(X, Y) :- latest p(X, Y) by X in [3].")
    steps = [takes(SOURCE, Batch([("p", ("a", "a"), at, at)])) for at in (0, 2)]
    steps.append(lambda session: session.rest())
    settings = Settings(held=True)
    with limits(**LEAST):
        expected = heard_of(session_of(plan, settings, None), steps)
        assert heard_of(session_of(plan, settings, layout), steps).differences(expected) == {}

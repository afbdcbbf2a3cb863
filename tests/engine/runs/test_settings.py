"""The settings of sessions and runs: one list, of which `Session` and `Engine` tell each by a keyword."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from typing import Any

import anyio
import pytest

from tidelog import DataError, Engine, MemorySink, MemorySource, Session, compile
from tidelog.runtime.running.settings import RunSettings
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SessionOptions, Settings

PLAN = compile("timeline integer. q(X) :- p(X), not r(X).")


def options_of(made: type) -> dict[str, object]:
    """The options that a class takes by keyword alone, with their defaults."""
    parameters = inspect.signature(made).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def defaults_of(settings: type) -> dict[str, object]:
    """The fields of settings, with their defaults."""
    return {field.name: field.default for field in fields(settings)}


def test_a_session_takes_all_settings() -> None:
    """`Session` takes each, with the same default, and type checkers are told the same list."""
    assert options_of(Session) == defaults_of(Settings)
    assert {"emit", *SessionOptions.__annotations__} == set(defaults_of(Settings))


def test_an_engine_takes_all_settings_but_those_it_sets() -> None:
    """`Engine` takes those of a session and of a run; the sources have names, and an observer wants to know what holds."""
    every = defaults_of(Settings) | defaults_of(RunSettings)
    own = options_of(Engine)
    assert set(own) == set(every) - {"sources", "held"}
    assert {name: value for name, value in own.items() if name != "explain"} == {
        name: every[name] for name in own if name != "explain"
    }


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"emit": "all"}, ValueError, "unknown emit mode 'all'"),
        ({"max_lead": 0}, ValueError, "`max_lead` is 1 or more, got 0"),
        ({"max_state": "many"}, TypeError, "`max_state` is a whole number of rows, or None, got str"),
        ({"min_evidence": -1}, ValueError, "`min_evidence` is 0 or more, got -1"),
        ({"statuses": "certain"}, TypeError, "`statuses` is a collection"),
    ],
)
def test_settings_that_are_none_are_refused(wrong: dict[str, Any], error: type[Exception], said: str) -> None:
    """What can be no setting is refused without a plan."""
    with pytest.raises(error, match=said):
        Settings(**wrong)


def test_times_are_read_by_the_timeline_of_the_plan() -> None:
    """They are encoded where a session is made, which refuses those that are none."""
    encoded = Settings(lateness=2, start=1, warn=3).encoded(PLAN.timeline)
    assert encoded == (2, 1, None, 3)
    with pytest.raises(DataError, match="a duration of 0 or more"):
        Reasoner(PLAN, Settings(lateness=-1))


@pytest.mark.parametrize(("ahead", "accepted"), [(math.inf, 2), (10, 1)])
def test_an_engine_with_any_distance_ahead_has_no_bound(ahead: float, accepted: int) -> None:
    """With `math.inf` no fact is refused for its time, nor held back until another agrees."""
    source = MemorySource([("p", ("a",), 0, 0), ("p", ("a",), 10**9, 10**9)])
    engine = Engine(PLAN, [source], [MemorySink()], max_ahead=ahead)
    anyio.run(engine.run)
    assert engine.statistics().intake.accepted == accepted


def test_a_reasoner_goes_on_as_its_twin() -> None:
    """What has followed is the twin's from then on, and what was open there ends here."""
    session, twin = Session(PLAN), Session(PLAN)
    session.push("p", ["a"], time=0)
    session.push("r", ["a"], time=0)
    twin.push("p", ["a"], time=0)
    session.go_on_as(twin)
    session.advance(5)
    assert [str(answer) for answer in session.pull()] == ["q(a)@0"]

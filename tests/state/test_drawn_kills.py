"""Drawn programs, killed at drawn moments, with a clock that jumps: the answers are those of an undisturbed session."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import anyio
import pytest
from engine.running import BACKENDS, multiset, run
from engine.runs.test_engine_equals_session import _within, session_records
from engine.test_lars_equals_oracle import compiled as compiled_lars
from engine.test_session_equals_oracle import compiled, show, until
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import EVERY_FORM, lars_programs, lars_streams
from oracle.programs import EVERYTHING, NON_RECURSIVE, programs, streams
from state.drawn_worlds import Disk, KeepingSink, KilledError, Machine, NumberingSink, Readable
from tidelog import Engine
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program, TimelineDeclaration
from tidelog.runtime.durable import ledger, snapshots
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.actors import Actors
from tidelog.runtime.ports.interfaces import EmitMode

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_threads", "often")]

YEAR = 365 * 24 * 3600
BEHIND = 1000
"""How far behind the clock facts are expected: none is late by a clock that does not jump."""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a commit for each event, and most of them are not behind a snapshot."""
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    monkeypatch.setattr(snapshots, "REPLAY_SECONDS", 1e9)


class Life:
    """A run of a program on a machine that is killed now and then, over the same sources and sinks; `actors` says how it is
    spread."""

    def __init__(
        self, plan: Plan, hands: Sequence[Sequence[Sequence[Record]]], emit: EmitMode, actors: Actors | None = None
    ) -> None:
        self.machine = Machine()
        self.store = Disk(self.machine)
        self.sinks = KeepingSink(self.machine), NumberingSink(self.machine)
        self._plan, self._hands, self._emit, self._actors = plan, hands, emit, actors

    def go_on(self, backend: str, left: int | None, now: float | None) -> bool:
        """Run until it is killed, by a clock that reads `now` at the begin, or none; whether it has come to its end."""
        self.machine.revive(left)
        sources = [Readable(f"s{i}", hand, is_recorded=now is None) for i, hand in enumerate(self._hands)]
        clock: dict[str, Any] = {}
        if now is not None:  # one that has jumped back refuses no fact
            clock = {"clock": BEHIND, "max_ahead": math.inf, "now": lambda: now + anyio.current_time() - begun}

        async def main() -> None:
            nonlocal begun
            begun = anyio.current_time()
            how: dict[str, Any] = {
                "emit": self._emit,
                "state": self.store,
                "commit_every": 0,
                "actors": self._actors,
                **clock,
            }
            await Engine(self._plan, sources, self.sinks, **how).run()

        begun = 0.0
        try:
            run(backend, main)
        except KilledError:
            return False
        return True

    def after_an_outage(self, now: float, jump: float) -> float:
        """What the clock reads at the next begin. It jumps only for a run that goes on: one that was killed before its first
        commit has left nothing, so that the next is the first one, and by its clock old facts are late."""
        return now if self.store.head() is None else now + jump

    def answers(self) -> list[Record]:
        """What the sinks hold, which is the same."""
        keeping, numbering = self.sinks
        assert [numbering.found[number] for number in sorted(numbering.found)] == keeping.kept
        assert sorted(numbering.found) == list(range(1, len(numbering.found) + 1))
        return keeping.kept


@st.composite
def hands(draw: st.DrawFn, records: Sequence[Record], most: int) -> list[list[list[Record]]]:
    """The records dealt out to so many sources at most, each in order, in batches of drawn sizes."""
    count = draw(st.integers(1, most))
    dealt: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        dealt[draw(st.integers(0, count - 1))].append(record)
    size = draw(st.integers(1, 4))
    return [[dealt[i][at : at + size] for at in range(0, len(dealt[i]), size)] for i in range(count)]


KILLS = st.lists(st.integers(1, 25), min_size=1, max_size=6)
"""At the how many-th of what is written for good each run is killed."""


def answers_of(data: st.DataObject, backend: str, life: Life, *, has_clock: bool) -> list[Record]:
    """What the sinks hold after runs that were killed at drawn moments, and a last one that was not."""
    jumps = st.sampled_from([-YEAR, 0, 0, YEAR])
    now = 5.0
    with patch.object(snapshots, "MOST_REPLAYED", data.draw(st.sampled_from([1, 3, 1000]))):  # how often there is a snapshot
        for left in [*data.draw(KILLS), None]:
            if life.go_on(backend, left, now if has_clock else None):
                break
            now = life.after_an_outage(now, data.draw(jumps))
    return life.answers()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("emit", ["intervals", "final"])
@drawn(40)
@given(data=st.data())
def test_killed_at_drawn_moments_a_run_answers_as_a_session_does(backend: str, emit: EmitMode, data: st.DataObject) -> None:
    """Up to three sources, snapshots, islands, clocks that jump by a year: no answer is lost, and none comes twice."""
    timeline = data.draw(st.sampled_from(["rational", "integer"]))
    program = in_seconds(data.draw(programs(timeline, EVERYTHING if emit == "intervals" else NON_RECURSIVE)))
    facts = data.draw(streams(program))
    plan = compiled(program)
    records = records_of(plan, facts)
    life = Life(plan, data.draw(hands(records, 3)), emit, data.draw(st.sampled_from([None, "islands"])))
    answers = answers_of(data, backend, life, has_clock=data.draw(st.booleans()))
    expected = session_records(plan, records, emit)
    if emit == "final":
        assert multiset(answers) == multiset(expected), show(program, facts)
    else:
        limit = until(program, facts)
        assert _within(plan, answers, limit) == _within(plan, expected, limit), show(program, facts)


@pytest.mark.parametrize("backend", BACKENDS)
@drawn(40)
@given(data=st.data())
def test_killed_at_drawn_moments_a_run_counts_as_a_session_does(backend: str, data: st.DataObject) -> None:
    """Windows of all kinds, tuples among them, times as values: what depends on the order of arrival goes on, too."""
    program = data.draw(lars_programs(EVERY_FORM))
    facts = data.draw(lars_streams())
    plan = compiled_lars(program)
    records = records_of(plan, facts)
    life = Life(plan, data.draw(hands(records, 1)), "points")
    answers = answers_of(data, backend, life, has_clock=False)
    assert multiset(answers) == multiset(session_records(plan, records, "points")), show(program, facts)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("left", range(1, 8))
def test_a_clock_that_jumps_costs_no_fact_wherever_a_run_is_killed(backend: str, left: int) -> None:
    """Also before its first commit: there the clock of the harness jumped a year for a run that had never stood anywhere."""
    text = "timeline integer, unit 1 s. q(X) :- p(X), not r(X). r(X) :- diamondminus[1,2] p(X). output q."
    plan = compile_program(parse(text))
    records = [("p", ("a",), time, time) for time in (1, 2, 5, 6, 9)]
    life = Life(plan, [[[record] for record in records]], "final")
    now = 5.0
    if not life.go_on(backend, left, now):
        assert life.go_on(backend, None, life.after_an_outage(now, YEAR))
    assert multiset(life.answers()) == multiset(session_records(plan, records, "final"))


def in_seconds(program: Program) -> Program:
    """The same program, with a unit, so that it can have a clock."""
    declared = [item for item in program.statements if isinstance(item, TimelineDeclaration)]
    assert len(declared) == 1
    statements = [replace(item, unit=Fraction(1)) if item is declared[0] else item for item in program.statements]
    return replace(program, statements=tuple(statements))

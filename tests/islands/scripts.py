"""Scripts: what several sources and a clock say, step by step, so that a session can be told it twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from oracle.agreement import runs_of
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.ports.interfaces import Batch, EmitMode, Tick
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import Settings

LAYOUTS = (Layout("islands"), Layout("rule"), Layout("islands", shards=2), Layout("islands", shards=3))
MODES: tuple[EmitMode, ...] = ("intervals", "final", "changes", "points")
Say = Callable[[Reasoner], Any]
"""Tells a session something; returns what it refused."""


@dataclass
class Heard:
    """All that a session has told: the answers about each row in their order, what is violated, asked and refused."""

    answers: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    violations: Counter[str] = field(default_factory=Counter)
    asked: list[Any] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)
    holding: list[Any] = field(default_factory=list)
    accepted: int = 0
    unfinished: list[str] = field(default_factory=list)

    def differences(self, other: Heard) -> dict[str, tuple[Any, Any]]:
        """In what another has heard something else, and what both have."""
        pairs = {item.name: (getattr(self, item.name), getattr(other, item.name)) for item in fields(self)}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def pull(self, session: Reasoner) -> None:
        for predicate, row, *rest in session.pull_records():
            self.answers.setdefault((predicate, row), []).append(rest)
        self.violations.update(map(str, session.pull_violations()))
        self.asked += session.pull_hypothetical()

    def look(self, session: Reasoner) -> None:
        """What holds by now, as who keeps it sees it."""
        if session.settings.held:
            now = session.frontier
            self.holding.append(sorted(map(repr, session.holding(now))))
            if session.plan.silent:
                self.holding.append([repr(item) for item in session.open_alarms()])


def plain(state: Any) -> Any:
    """A state after a journey through JSON: it is plain data indeed."""
    return json.loads(json.dumps(state))


def takes(name: str, batch: Batch) -> Say:
    return lambda session: session.take(name, Batch(list(batch.records), watermark=batch.watermark))


@st.composite
def scripts(draw: st.DrawFn, plan: Plan, records: Sequence[Record], sources: Sequence[str]) -> list[Say]:
    """The records in batches, some a little later than they should, from several sources, with ticks of a clock."""
    late = [draw(st.sampled_from((0, 0, 0, 0, 2))) for _ in records]
    order = sorted(range(len(records)), key=lambda i: i + late[i])
    steps: list[Say] = []
    one = plan.timeline.encode_point(Fraction(1)) - plan.timeline.encode_point(Fraction(0))
    has_clock = draw(st.booleans())
    at = 0
    while at < len(order):
        size = draw(st.sampled_from((1, 1, 2, 5, 30)))
        batch = [records[i] for i in order[at : at + size]]
        at += size
        last = batch[-1][2]
        watermark = last - one * draw(st.integers(1, 3)) if draw(st.integers(0, 3)) == 0 and abs(last) < POS // 2 else None
        name = draw(st.sampled_from(sources))
        steps.append(takes(name, Batch(batch, watermark=watermark)))
        if has_clock and abs(last) < POS // 2 and draw(st.booleans()):
            now = last + one * draw(st.integers(-1, 2))
            unheard = draw(st.sampled_from((0, 0, one, POS)))
            tick = Tick(now - one * draw(st.integers(1, 3)), now, unheard=unheard)
            steps.append(lambda session, tick=tick: session.pass_time(tick))  # type: ignore[misc]
        if len(sources) > 1 and draw(st.integers(0, 5)) == 0:
            idle = draw(st.sampled_from(sources))
            steps.append(lambda session, name=idle: session.ignore(name))  # type: ignore[misc]
    if draw(st.integers(0, 3)):
        steps += [lambda session, name=name: session.end(name) for name in draw(st.permutations(sources))]  # type: ignore[misc]
    else:
        steps.append(lambda session: session.rest())
    return steps


@st.composite
def some_settings(draw: st.DrawFn, sources: Sequence[str], modes: Sequence[EmitMode] = MODES) -> Settings:
    """Any emit mode, lateness, and what a session keeps for whoever asks."""
    emit = draw(st.sampled_from(modes))
    return Settings(
        emit=emit,
        sources=tuple(sources),
        lateness=draw(st.sampled_from((0, 0, 1, 3))),
        held=draw(st.booleans()),
        remember=draw(st.sampled_from((0, 0, 40))),
        prospects=draw(st.sampled_from((True, True, False))),
    )


class Moving:
    """Goes on with another layout before some steps, from the state; where none can be had just then, as it was.

    With its own layout a session goes on in its place, with the actors that it has.

    None as a layout is one task.
    """

    def __init__(self, moves: Mapping[int, Layout | None]) -> None:
        self._moves = moves
        self.moved = self.put_off = 0

    def go_on(self, number: int, session: Reasoner, heard: Heard) -> Reasoner:
        """The session that takes the next step."""
        if number not in self._moves:
            return session
        try:
            state = plain(session.state())
        except SnapshotError:
            self.put_off += 1
            return session
        heard.pull(session)  # what has come up for the state is told
        if isinstance(session, SpreadReasoner) and session.layout == self._moves[number]:  # as where facts are taken back
            session.load(state)
            self.moved += 1
            return session
        other = session_of(session.plan, session.settings, self._moves[number])
        other.load(state)
        session.close()
        self.moved += 1
        return other


def session_of(plan: Plan, settings: Settings, layout: Layout | None) -> Reasoner:
    """A session that is spread, or, without a layout, one task."""
    return Reasoner(plan, settings) if layout is None else SpreadReasoner(plan, settings, layout)


def heard_of(session: Reasoner, steps: Sequence[Say], moving: Moving | None = None) -> Heard:
    """What a session tells that is told the steps."""
    heard = Heard()
    for number, say in enumerate(steps):
        if moving is not None:
            session = moving.go_on(number, session, heard)
        heard.refused += say(session) or ()
        heard.pull(session)
        heard.look(session)
    if session.settings.emit == "intervals":  # pieces of one delivery come in the order in which islands have them
        runs = runs_of((*row, lo, hi) for row, found in heard.answers.items() for lo, hi in found)
        heard.answers = {row: list(found) for row, found in runs.items()}
    heard.accepted = session.intake.accepted
    heard.unfinished = sorted(session.unfinished())
    if isinstance(session, SpreadReasoner):
        aside = [actor.aside for actor in session.actors() if actor.aside]
        assert not aside, aside
    session.close()
    return heard


def many(records: Sequence[Record], count: int) -> list[Record]:
    """The records, and as many times each with another first argument."""
    others = [
        (name, (f"{row[0]}~{number}", *row[1:]), lo, hi)
        for name, row, lo, hi in records
        for number in range(count)
        if row and isinstance(row[0], str)
    ]
    return sorted([*records, *others], key=lambda record: record[2])

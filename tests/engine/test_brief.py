"""What objects show of themselves (`repr`): one line, never long, and nothing is walked through for it."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.runtime.ports.interfaces import EmitMode

TEXT = "timeline integer, unit 1 s. input hot(p: text). output alarm. alarm(X) :- boxminus[0,2] hot(X)."
LONGEST = 400


def test_plans() -> None:
    """The name, and how much there is of what."""
    plan = tidelog.compile(TEXT, name="pump.tide")
    assert repr(plan) == "<Plan of pump.tide: 1 output (alarm), 2 steps>"
    many = "".join(f"p{number}(X) :- q(X). " for number in range(2_000))
    assert repr(tidelog.compile_batch(many)) == "<BatchPlan of <program>: 2,001 predicates (q, p0, p1, …), 4,001 steps>"


def test_a_session() -> None:
    """What it has accepted, how far it is complete, what waits."""
    session = tidelog.Session(tidelog.compile(TEXT, name="pump.tide"), emit="changes")
    assert repr(session) == "<Session of pump.tide: emit changes, 0 facts accepted>"
    for time in range(3):
        session.push("hot", ["a"], time)
    assert repr(session).startswith("<Session of pump.tide: emit changes, 3 facts accepted, complete up to ")
    assert repr(session).endswith(", 1 answer to be pulled>")
    session.pull()
    session.finish()
    session.pull()
    assert repr(session) == "<Session of pump.tide: emit changes, 3 facts accepted, finished>"


def test_an_engine() -> None:
    """Moreover its ends."""
    source, sink = tidelog.MemorySource([("hot", ("a",), 1, 1)]), tidelog.MemorySink()
    engine = tidelog.Engine(tidelog.compile(TEXT, name="pump.tide"), [source], [sink])
    ends = "1 source (0:memory), 1 sink (memory)"
    assert repr(engine) == f"<Engine of pump.tide: emit intervals, {ends}, 0 facts accepted>"
    anyio.run(engine.run, backend="trio")
    assert repr(engine) == f"<Engine of pump.tide: emit intervals, {ends}, 1 fact accepted, finished>"


def test_a_materialisation() -> None:
    """How far it has come."""
    plan = tidelog.compile_batch("q(X) :- p(X). bottom :- q(b).", name="p.tide")
    done = tidelog.Materialisation(plan)
    done.load([plan.record("p", ["a"], time=1)])
    assert repr(done) == "<Materialisation of p.tide: 1 fact given, 0 rounds, not begun>"
    done.run()
    assert repr(done) == "<Materialisation of p.tide: 1 fact given, 1 round, at its end>"
    other = tidelog.Materialisation(plan)
    other.load([plan.record("p", ["b"], time=1)])
    other.run()
    assert repr(other).endswith(", inconsistent>")


@pytest.mark.parametrize("emit", ["intervals", "changes"])
@given(text=st.text(max_size=3) | st.integers(0, 10**6).map(lambda number: "x" * number), count=st.integers(1, 30))
def test_answers_are_one_short_line(emit: EmitMode, text: str, count: int) -> None:
    """Whatever constants hold, and however many there are."""
    name = f"n{text}"
    plan = tidelog.compile(TEXT + " ask alarm(X)@T.", name=name)
    session = tidelog.Session(plan, emit=emit)
    for time in range(count):
        session.push("hot", [text], time)
    shown = [plan, session, *session.pull_hypothetical()[:9]]
    session.finish()
    pulled = session.pull()
    shown += [session, *pulled]
    assert all(len(repr(each)) <= LONGEST and repr(each).isprintable() for each in shown)
    assert len(repr(pulled)) <= 6 * LONGEST
    assert repr(pulled).isprintable()
    assert len(pulled) <= 5 or repr(pulled).endswith(f", … {len(pulled) - 5:,} more]")


def test_nothing_is_counted_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What steps store is not walked through, however much it is."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tidelog.runtime.sessions.reasoner.Reasoner.statistics", refuse)
    monkeypatch.setattr("tidelog.runtime.batch.interpretation.Interpretation.records", refuse)
    session = tidelog.Session(tidelog.compile(TEXT))
    session.push("hot", ["a"], 1)
    plan = tidelog.compile_batch("q(X) :- p(X).")
    done = tidelog.Materialisation(plan)
    done.load([plan.record("p", ["a"], time=1)])
    done.run()
    assert "1 fact accepted" in repr(session) and "1 fact given" in repr(done)

"""Answers as intervals: what goes on holding is told now and then, and all of it in the end."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.running import BACKENDS, engine_answers, run
from engine.test_session_equals_oracle import answers_of, compiled, show, until
from oracle.agreement import differences, records_of
from oracle.programs import NON_RECURSIVE, programs, streams
from tidelog import Engine, MemorySink, MemorySource, PushSource, compile
from tidelog.operators import antijoin


@pytest.fixture(autouse=True)
def impatience_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even a single open row wait for its turn."""
    monkeypatch.setattr(antijoin, "PROMPT", 0)


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_patient_answers_are_the_oracles(timeline: str, data: st.DataObject) -> None:
    """Each fact and time is answered once, and rightly, in a session and by actors."""
    program = data.draw(programs(timeline, NON_RECURSIVE))
    facts = data.draw(streams(program))
    found = answers_of(program, facts, batch=data.draw(st.integers(1, 20)))
    assert not differences(program, facts, found, until(program, facts)), show(program, facts)
    plan = compiled(program)
    source = MemorySource(records_of(plan, facts), batch_size=3)
    found = engine_answers(data.draw(st.sampled_from(BACKENDS)), plan, [source])
    assert not differences(program, facts, found, until(program, facts)), show(program, facts)


def test_only_what_leads_to_outputs_alone_is_patient() -> None:
    """Where an open fact has to meet others, or breaks a constraint, it is told at each time."""
    text = "m(X) :- p(X), not n(X). o(X) :- m(X). bottom :- p(X), not q(X)."
    assert {"m", "o"} <= compile(text).patient
    assert "m" not in compile(text + " r(X) :- m(X), s(X).").patient
    assert not {step.id for step in compile(text).steps if step.id.startswith("bottom")} & compile(text).patient


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stopped_engine_tells_the_rest(backend: str) -> None:
    """What is known when the engine is stopped goes to the sinks."""
    plan = compile("timeline integer. m(X) :- p(X), not n(X).")
    source, sink = PushSource(), MemorySink()
    engine = Engine(plan, [source], [sink])

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send([plan.record("p", (f"v{i}",), interval="[0,100]") for i in range(5)])
            for time in (1, 2, 3, 4):
                await source.send([plan.record("n", ("other",), time)])
            await anyio.wait_all_tasks_blocked()
            engine.stop()

    run(backend, main)
    told = {row: max(hi for _, other, _, hi in sink.answers if other == row) for _, row, _, _ in sink.answers}
    assert told == {(f"v{i}",): 3 for i in range(5)}

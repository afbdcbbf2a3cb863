"""Questions on an engine: the session's answers, on both backends, at every sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from engine.running import BACKENDS, run

from ask.turbines import plan_of
from tidelog import Engine, HypotheticalAnswer, MemorySink, MemorySource, OperatorError, Plan, PushSource, Session
from tidelog.connectors import JsonEncoder, TextEncoder
from tidelog.operators.ask.asker import Asker
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch

NEGATED = """\
timeline integer.
input open(door: text).
input shut(door: text).
left(D)@T :- open(D)@T, not shut(D)@T+1, not diamondplus[1,2] shut(D)@T, open(D)@T+3.
output ever.
ever(D) :- open(D).
ask left(D)@T.
ask ever(D)@T.
"""


def session_answers(plan: Plan, records: Sequence[Record], **options: Any) -> list[HypotheticalAnswer]:
    session = Session(plan, **options)
    for record in records:
        session.push_records([record])
    session.finish()
    return session.pull_hypothetical()


def turbine_records() -> list[Record]:
    plan = plan_of()
    times = [("a", 0), ("a", 1), ("b", 1), ("a", 2), ("c", 4), ("a", 5), ("c", 5), ("c", 6), ("b", 9)]
    return [plan.record("temp", [name, "high"], time=time) for name, time in times]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("min_evidence", [0, 2])
def test_an_engine_tells_what_a_session_tells(backend: str, min_evidence: int) -> None:
    """The same lines in the same order, at both sinks; derived facts beside them."""
    plan, records = plan_of(), turbine_records()
    expected = session_answers(plan, records, min_evidence=min_evidence)
    sinks = [MemorySink(), MemorySink()]
    engine = Engine(plan, [MemorySource(records, batch_size=1)], sinks, min_evidence=min_evidence)
    run(backend, engine.run)
    assert len(expected) > 4
    for sink in sinks:
        assert sink.hypothetical == expected
        assert len(sink.answers) == len(records)
    assert engine.statistics().questions["malf"].open == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_questions_each_in_its_order(backend: str) -> None:
    """Each question has an actor of its own; between two, any order will do."""
    plan = plan_of(NEGATED)
    facts = [("open", "d", 0), ("open", "e", 0), ("shut", "e", 1), ("open", "d", 3), ("open", "e", 3), ("open", "f", 4)]
    records = [plan.record(name, [door], time=time) for name, door, time in facts]
    expected, sink = session_answers(plan, records), MemorySink()
    run(backend, Engine(plan, [MemorySource(records, batch_size=1)], [sink]).run)
    for question in plan.questions:
        told = [line for line in sink.hypothetical if line.query == question.name]
        assert told == [line for line in expected if line.query == question.name]
        assert told
    assert len(sink.hypothetical) == len(expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_time_passes_without_facts(backend: str) -> None:
    """A source's own watermark decides what waits, as a session's `advance` does."""
    plan, sink = plan_of(), MemorySink()
    batches = [Batch([plan.record("temp", ["a", "high"], time=0)]), Batch(watermark=1)]
    engine = Engine(plan, [MemorySource(batches)], [sink])
    run(backend, engine.run)
    assert [(line.status, line.at) for line in sink.hypothetical] == [("possible", 0), ("rejected", 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stop_decides_nothing(backend: str) -> None:
    """The stream has not ended: what was open stays open, and what is in flight is told."""
    plan, sink, source = plan_of(), MemorySink(), PushSource()
    engine = Engine(plan, [source], [sink])

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send([plan.record("temp", ["a", "high"], time=0)])
            await anyio.wait_all_tasks_blocked()
            engine.stop()

    run(backend, main)
    assert [line.status for line in sink.hypothetical] == ["possible"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_question_that_fails_stops_the_engine(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names it."""

    def fail(*_: object) -> list[HypotheticalAnswer]:
        raise RuntimeError("cannot do this")

    monkeypatch.setattr(Asker, "receive", fail)
    with pytest.raises(OperatorError, match=r"step malf failed on temp\(a,high\)@0: .* \(rule: ask malf\(X\)@T\.\)"):
        run(backend, Engine(plan_of(), [MemorySource(turbine_records())], [MemorySink()]).run)


class LinesSink(MemorySink):
    """Keeps what encoders make of answers."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._encoders = JsonEncoder(plan.schema), TextEncoder(plan.schema)
        self.written = ["", ""]

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        for i, encoder in enumerate(self._encoders):
            self.written[i] += encoder.encode(answers).decode()


@pytest.mark.parametrize("backend", BACKENDS)
def test_json_lines_hold_both_kinds(backend: str) -> None:
    """Derived facts and hypothetical answers share a sink of JSON lines; text facts are facts alone."""
    plan = plan_of()
    sink = LinesSink(plan)
    run(backend, Engine(plan, [MemorySource(turbine_records()[:1])], [sink]).run)
    in_json, in_text = sink.written
    assert in_text == "flag(a)@0\n"
    assert sorted(line.partition(":")[0] for line in in_json.splitlines()) == ['{"predicate"', '{"query"', '{"query"']

"""A spread reasoner against the oracle, and against one task: the same answers, and each row's in the same order.

With `intervals` a range may come in other pieces, as in one task when facts come in other batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.test_session_equals_oracle import compiled
from hypothesis import given
from hypothesis import strategies as st
from limits import limits, some_limits

from drawing import drawn
from oracle.agreement import differences, records_of, runs_of
from oracle.programs import AWAITING, EVERYTHING, FORWARD, Features, Kind, programs, streams
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.ports.interfaces import Batch, EmitMode
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings

KINDS = st.sampled_from(("rational", "integer"))
LAYOUTS = (Layout("islands"), Layout("rule"), Layout("islands", shards=2), Layout("islands", shards=3))
MODES: tuple[EmitMode, ...] = ("intervals", "final", "changes", "points")


def by_row(answers: Sequence[Record]) -> dict[tuple[str, tuple[object, ...]], list[tuple[int, int]]]:
    """The answers about each row, in their order."""
    found: dict[tuple[str, tuple[object, ...]], list[tuple[int, int]]] = {}
    for predicate, row, lo, hi in answers:
        found.setdefault((predicate, row), []).append((lo, hi))
    return found


def told(session: Reasoner, batches: Sequence[list[Record]]) -> list[Record]:
    """What a session tells of facts that come in these batches."""
    found: list[Record] = []
    for batch in batches:
        session.take(SOURCE, Batch(list(batch)))
        found += session.pull_records()
    session.end(SOURCE)
    return found + session.pull_records()


def cut(data: st.DataObject, records: list[Record]) -> list[list[Record]]:
    """The records one by one, all at once, or in some batches."""
    size = data.draw(st.sampled_from((1, 1, 3, len(records) or 1)))
    return [records[i : i + size] for i in range(0, len(records), size)]


@drawn(60)
@given(st.data(), KINDS, st.sampled_from((FORWARD, EVERYTHING, AWAITING)), st.sampled_from(LAYOUTS), some_limits())
def test_islands_tell_what_the_oracle_says(
    data: st.DataObject, kind: Kind, features: Features, layout: Layout, some: dict[str, int]
) -> None:
    """In all modes, however facts are batched, whatever the limits: the oracle's answers, and one task's order."""
    program = data.draw(programs(kind, features))
    facts = data.draw(streams(program, size=10))
    plan = compiled(program)
    batches = cut(data, records_of(plan, facts))
    for emit in MODES:
        settings = Settings(emit=emit)
        with limits(**some):
            spread = SpreadReasoner(plan, settings, layout)
            found = told(spread, batches)
            alone = told(Reasoner(plan, settings), batches)
            assert runs_of(found) == runs_of(alone) if emit == "intervals" else by_row(found) == by_row(alone), emit
        if emit == "intervals":
            assert differences(program, facts, found) == []


def test_what_shards_send_comes_in_the_order_of_time() -> None:
    """An island behind a spread one is told of a delivery in the order of time, not shard by shard."""
    text = """timeline integer.
        input temp(device, value).
        mean(D, A) :- A = avg(V) over temp(D, V) in [2] by D.
        warm(D) :- mean(D, A), A > 50.
        some :- warm(D).
        output some."""
    plan = compile_program(parse(text))
    records: list[Record] = [("temp", (f"d{i % 7}", 40 + 5 * (i % 5)), i, i) for i in range(200)]
    batches = [records[i : i + 50] for i in range(0, 200, 50)]
    for shards in (2, 3, 5):
        spread = SpreadReasoner(plan, Settings(), Layout(shards=shards))
        assert [island.key is None for island in spread.islands] == [False, True]
        found = told(spread, batches)
        assert runs_of(found) == runs_of(told(Reasoner(plan, Settings()), batches))
        assert found == sorted(found, key=lambda record: record[2])


@drawn(60)
@given(st.data(), KINDS, st.sampled_from((FORWARD, EVERYTHING)), st.sampled_from(LAYOUTS))
def test_points_come_in_order_and_whole(data: st.DataObject, kind: Kind, features: Features, layout: Layout) -> None:
    """Islands told of a point as soon as each knew its own outputs there, so that points came in turns, and in parts."""
    program = data.draw(programs(kind, features))
    plan = compiled(program)
    batches = cut(data, records_of(plan, data.draw(streams(program, size=10))))
    settings = Settings(emit="points")
    alone = told(Reasoner(plan, settings), batches)
    spread, whole = SpreadReasoner(plan, settings, layout), Reasoner(plan, settings)
    found: list[Record] = []
    known: list[Record] = []
    for batch in batches:
        for session, answers in ((spread, found), (whole, known)):
            session.take(SOURCE, Batch(list(batch)))
            answers += session.pull_records()
        assert found == known[: len(found)]
    spread.end(SOURCE)
    assert found + spread.pull_records() == alone


def test_a_point_is_told_when_all_outputs_are_known_there() -> None:
    """An output that waits for what follows holds up the others, wherever they are told."""
    plan = compile_program(
        parse("timeline integer. input p(x). input q(x). a(X) :- p(X). b(X) :- q(X), boxplus[0,2] q(X). output a, b.")
    )
    for layout in LAYOUTS:
        spread = SpreadReasoner(plan, Settings(emit="points"), layout)
        spread.take(SOURCE, Batch([("p", ("y",), 1, 1), ("p", ("x",), 1, 1), ("q", ("z",), 1, 4), ("p", ("w",), 2, 2)]))
        assert spread.pull_records() == []
        spread.take(SOURCE, Batch([("p", ("v",), 4, 4)]))
        told = [f"{name}({row[0]})@{at}" for name, row, at, _ in spread.pull_records()]
        assert told == ["a(x)@1", "a(y)@1", "b(z)@1", "a(w)@2", "b(z)@2"][: len(told)]
        assert len(told) >= 3

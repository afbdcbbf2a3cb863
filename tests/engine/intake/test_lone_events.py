"""A fact that comes alone takes a short way: it is the same fact, it is judged alike, and the same follows from it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.data.facts import Record
from tidelog.plans.data.records import RecordMaker, make_record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, TidelogError
from tidelog.runtime.intake.intake import Intake
from tidelog.runtime.ports.interfaces import Batch, Tick

TYPED = "timeline {}. input t(a: text, b: number, c: integer, d: boolean). input u(a, b). q(X) :- t(X,_,_,_), u(X,_)."
VALUES = st.one_of(
    st.text(max_size=3),
    st.sampled_from(["true", "false", True, False, None, b"x", "\ud800", Decimal("2.0"), Fraction(1, 3), float("nan")]),
    st.integers(),
    st.floats(),
    st.sampled_from([1 << 53, -(1 << 63), (1 << 63) - 1, float(1 << 53), 3.0]),
)
TIMES = st.one_of(st.integers(), st.floats(), st.sampled_from([True, "3", "[1,2]", None, 1 << 62]))


@drawn(60)
@pytest.mark.parametrize("timeline", ["integer", "rational", "rational, resolution 1/3"])
@given(data=st.data())
def test_a_record_is_made_as_by_the_long_way(timeline: str, data: st.DataObject) -> None:
    """Code compiled for a predicate gives the same record, or the same error, as the checks value by value."""
    schema = tidelog.compile(TYPED.format(timeline)).schema
    times = TimeReader(schema.timeline)
    name = data.draw(st.sampled_from(["t", "u", "q", "other"]))
    row = data.draw(st.lists(VALUES, max_size=4)) if data.draw(st.booleans()) else ("a", 1.5, 2, "true")
    time, interval = data.draw(TIMES), data.draw(st.sampled_from([None, None, "[1,2]"]))

    def short() -> Record:
        return RecordMaker(schema, times).make(name, row, time, interval)  # type: ignore[arg-type] # what callers may give

    def long() -> Record:
        return make_record(schema, times, name, row, time, interval)  # type: ignore[arg-type]

    assert _outcome(short) == _outcome(long)


def _outcome(make: object) -> str:
    try:
        return repr(make())  # type: ignore[operator]
    except (TidelogError, TypeError, ValueError, OverflowError) as error:
        return repr(error)


RULES = [
    "o(X) :- boxminus[0,2] p(X). n(X) :- q(X), not diamondminus[0,3] p(X).",
    "o(X) :- p(X) since q(X). boxplus[2,2] o(X) :- o(X), q(X).",
    "o(X) :- p(X)@T in [3]. n(X) :- sometime q(X) in [#2].",
]


@pytest.mark.pure
@drawn(200)
@given(data=st.data())
def test_a_lone_fact_is_judged_as_by_the_long_way(data: st.DataObject) -> None:
    """Lateness, `max_ahead`, a second source, predicates that nobody reads: the same is taken, counted, refused and told."""
    text = data.draw(st.sampled_from(RULES))
    timeline = data.draw(st.sampled_from(["integer", "integer", "rational, resolution 1"]))  # whose gaps are odd
    assume(timeline == "integer" or "#" not in text)
    plan = tidelog.compile(f"timeline {timeline}. {text}")
    options = data.draw(
        st.fixed_dictionaries({"lateness": st.sampled_from([0, 2]), "max_ahead": st.sampled_from([None, 5])})
    )
    sources = data.draw(st.sampled_from([("one",), ("one", "two")]))
    times = data.draw(st.lists(st.sampled_from([1, 2, 3, 0, -3]), min_size=3, max_size=12))
    short, long = (tidelog.Session(plan, emit="final", sources=sources, **options) for _ in range(2))
    at = 5
    for step in times:
        at += step
        if data.draw(st.booleans()):
            tick = Tick(NEG, at, holds=data.draw(st.booleans()))
            for session in (short, long):
                session.pass_time(tick)
        name, source = data.draw(st.sampled_from(["p", "q", "r"])), data.draw(st.sampled_from(sources))
        batch = Batch([(name, (data.draw(st.sampled_from("ab")),), at, at)])
        refused = short.take(source, batch, 1.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Intake, "take_one", lambda *_: None)
            assert long.take(source, batch, 1.0) == refused
        assert short.pull() == long.pull()
        assert short.statistics() == long.statistics()
        assert short.snapshot() == long.snapshot()
    for source in sources:
        assert short.end(source) == long.end(source)
    assert short.pull() == long.pull()


def test_what_cannot_be_taken_is_refused_after_facts_that_could() -> None:
    """The short way ends where a fact is late, and where the stream has: with the errors of before."""
    session = tidelog.Session(tidelog.compile("timeline integer. input p(x: integer). o(X) :- p(X)."))
    session.push("p", [1], 5)
    with pytest.raises(tidelog.LateError):
        session.push("p", [1], 4)
    with pytest.raises(DataError):
        session.push("p", ["one"], 6)
    session.push("p", [2], 6)
    session.finish()
    with pytest.raises(tidelog.LateError, match="the stream has finished"):
        session.push("p", [3], 7)
    assert [str(answer) for answer in session.pull()] == ["o(1)@5", "o(2)@6"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_push_source_is_bounded(backend: str) -> None:
    """`send` hands over at once while there is room, and waits where there is none."""
    source = tidelog.PushSource(capacity=3)
    sent: list[int] = []

    async def produce() -> None:
        for number in range(9):
            await source.send([("p", (), number, number)])
            sent.append(number)

    async def main() -> None:
        async with source, anyio.create_task_group() as tasks:
            tasks.start_soon(produce)
            await anyio.wait_all_tasks_blocked()
            assert sent == [0, 1, 2]
            for number in range(9):
                batch = await source.receive()
                assert batch is not None
                assert batch.records[0][2] == number

    anyio.run(main, backend=backend)

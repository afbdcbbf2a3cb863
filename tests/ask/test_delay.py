"""Inputs with a delay: their facts may come late, and forward answers are those of a session with as much lateness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog import Answer, DataError, Engine, LateError, MemorySink, MemorySource, ProgramError, Session
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.explaining.text import explain
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.intake.intake import MOST_POINTS, Intake
from tidelog.runtime.ports.interfaces import Batch, EmitMode, Rejected

INPUTS = "timeline integer. input a(x){}. input b(x){}. input c(x). "
PROGRAMS = {
    "windows": "p(X) :- diamondminus[0,2] a(X), not b(X). q(X) :- boxminus[0,2] a(X). r(X) :- a(X) since[0,3] c(X).",
    "tuples": "p(X) :- a(X) in [#3]. q(X) :- always b(X) in [#2 of b, c]. r(X,T) :- b(X)@T in [#4].",
    "sleepers": "p(X) :- boxminus[0,3] a(X), b(X). q(X) :- c(X), boxminus[1,2] b(X), not a(X).",
    "start": "p(X) :- always a(X) in [3]. q(X) :- not a(X), c(X). r(X) :- always (a(X), b(X)) in [2].",
    "times": "p(X,T) :- a(X)@T in [4], b(X)@T. q(X)@T :- c(X)@T, not b(X)@T-1. p(X,T)@T+1 :- b(X)@T.",
    "recursion": "p(X) :- a(X). boxplus[1,2] p(X) :- p(X), b(X). q(X) :- p(X), not c(X).",
}


def compiled(rules: str, delay_of_a: str = "", delay_of_b: str = "") -> Plan:
    return tidelog.compile(INPUTS.format(delay_of_a, delay_of_b) + rules)


MOVES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.integers(0, 3), st.sampled_from("uv"), st.integers(0, 1)),
    max_size=20,
)
"""For each fact how time goes on, its predicate, how much later than it could it comes, its row and its length."""
DELAYS = st.fixed_dictionaries({"a": st.integers(0, 3), "b": st.integers(0, 3)})
SIZES = st.lists(st.integers(1, 5), min_size=20, max_size=20)


def stream(moves: Sequence[tuple[int, str, int, str, int]], delays: Mapping[str, int]) -> list[Record]:
    """Facts of three inputs: each in its turn, but up to its delay behind the latest."""
    records: list[Record] = []
    now = 0
    for step, name, back, value, length in moves:
        now += step
        at = now - min(back, delays.get(name, 0))
        records.append((name, (value,), at, at + length))
    return records


def answers(session: Session, records: Sequence[Record], sizes: Iterable[int] = (1,) * 20) -> list[str]:
    """All answers, sorted, to records in batches of these sizes."""
    waiting = list(records)
    for size in sizes:
        session.push_records(waiting[:size])
        del waiting[:size]
    session.finish()
    return sorted(str(answer) for answer in session.pull())


@pytest.mark.parametrize("emit", ["final", "points"])
@pytest.mark.parametrize("name", PROGRAMS)
@drawn(12)
@given(moves=MOVES, delays=DELAYS, sizes=SIZES)
def test_delays_are_a_lateness(name: str, emit: EmitMode, moves: Any, delays: dict[str, int], sizes: list[int]) -> None:
    """Whatever delays inputs have, all is answered as by a session that allows for as much lateness."""
    plan = compiled(PROGRAMS[name], f" delay {delays['a']}", f" delay {delays['b']}")
    records = stream(moves, delays)
    with_delays = Session(plan, emit=emit)
    late = Session(compiled(PROGRAMS[name]), emit=emit, lateness=max(delays.values()))
    assert answers(with_delays, records, sizes) == answers(late, records)
    assert with_delays.statistics().intake.late == 0


@pytest.mark.parametrize("name", PROGRAMS)
@drawn(12)
@given(moves=MOVES, sizes=SIZES)
def test_nothing_sleeps_through_a_late_fact(name: str, moves: Any, sizes: list[int]) -> None:
    """With delays the answers do not depend on whether operators may sleep."""
    plan = compiled(PROGRAMS[name], " delay 3", " delay 1")
    records = stream(moves, {"a": 3, "b": 1})
    asleep, awake = Session(plan, emit="final"), Session(plan, emit="final", prospects=False)
    assert answers(asleep, records, sizes) == answers(awake, records, sizes)


def test_each_input_is_late_by_its_own_delay() -> None:
    """Facts of `a` may lie 3 behind the latest fact, those of `b` 1, those of `c` not at all; the reason says so."""
    session = Session(compiled("p(X) :- a(X), b(X), c(X).", " delay 3", " delay 1"))
    session.push("c", ["u"], time=10)
    session.push("a", ["u"], time=7)
    session.push("b", ["u"], time=9)
    for name, time, reached in (("a", 6, 7), ("b", 8, 9), ("c", 9, 10)):
        with pytest.raises(LateError, match=rf"late: facts of `{name}` before {reached} can no longer come"):
            session.push(name, ["u"], time=time)
    assert session.statistics().intake.late == 3


def test_lateness_adds_to_a_delay() -> None:
    """What the watermark allows for all, a delay allows for one input beyond."""
    session = Session(compiled("p(X) :- a(X), c(X).", " delay 3"), lateness=2)
    session.push("c", ["u"], time=10)
    session.push("a", ["u"], time=5)
    session.push("c", ["u"], time=8)
    with pytest.raises(LateError):
        session.push("a", ["u"], time=4)
    with pytest.raises(LateError):
        session.push("c", ["u"], time=7)


def test_delays_have_units() -> None:
    """`delay 2min` is 120 ticks of a second, and shows as it is written."""
    plan = tidelog.compile("timeline integer, unit 1 s. input a delay 2min. input b delay 1 s. p :- a, b.")
    assert plan.delays == {"a": 120, "b": 1}
    assert "input a delay 2min." in explain(plan, "text")
    assert "input a delay 120." in explain(plan, "normal")


def test_a_delay_on_dense_time() -> None:
    """Where time is dense, a delay may be any time, and the resolution is as fine as it needs."""
    plan = tidelog.compile("timeline rational, resolution 1. input a delay 1/3. input b. p :- a, not b.")
    session = Session(plan, emit="final")
    session.push("b", time="2")
    session.push("a", time="5/3")
    with pytest.raises(LateError, match="facts of `a` before 5/3"):
        session.push("a", time="4/3")
    session.advance("2")
    assert session.pull() == []  # `b` may hold at 5/3 no more, but `a` at 2 is open
    session.advance("7/3")
    assert [str(answer) for answer in session.pull()] == ["p@5/3"]


def test_a_delivery_tells_both_watermarks() -> None:
    """The watermark is the sources', and the frontier lies behind it by the largest delay; infinite ones stay so."""
    intake = Intake(compiled("p(X) :- a(X), b(X).", " delay 3", " delay 1"), ["s"])
    assert (intake.watermark, intake.frontier) == (NEG, NEG)
    delivery = intake.take("s", Batch([("c", ("u",), 10, 10)]))
    assert (delivery.watermark, delivery.frontier, delivery.start) == (9, 6, None)
    delivery = intake.take("s", Batch([("a", ("u",), 8, 8)]))
    assert (delivery.watermark, delivery.frontier, delivery.start) == (9, 6, None)
    delivery = intake.take("s", Batch(watermark=10))
    assert (delivery.watermark, delivery.frontier, delivery.start) == (10, 7, 8)
    last = intake.finish("s")[-1]
    assert (last.watermark, last.frontier) == (POS, POS)


def test_an_intake_goes_on_where_it_was() -> None:
    """A snapshot keeps the watermark; the frontier follows from it."""
    plan = compiled("p(X) :- a(X), b(X).", " delay 3")
    intake, again = Intake(plan, ["s"]), Intake(plan, ["s"])
    intake.take("s", Batch([("b", ("u",), 10, 10)]))
    again.restore(intake.snapshot())
    assert (again.watermark, again.frontier) == (intake.watermark, intake.frontier) == (9, 6)
    assert again.take("s", Batch([("a", ("u",), 6, 6), ("a", ("u",), 7, 7)])).facts == {"a": [(("u",), 7, 7)]}


def test_recursion_is_followed_to_the_last_time() -> None:
    """When the stream ends, what has no end is followed to the last fact's time, as with lateness."""
    rules = "p(X) :- a(X). boxplus[1,1] p(X) :- p(X)."
    records = [("a", ("u",), 5, 5), ("c", ("u",), 9, 9), ("a", ("v",), 7, 7)]
    found = answers(Session(compiled(rules, " delay 2"), emit="final"), records)
    assert found == answers(Session(compiled(rules), emit="final", lateness=2), records)


def test_too_long_a_fact_for_a_question() -> None:
    """A question takes a fact as one at each time point: one at too many is refused, others of the batch are not."""
    text = "timeline integer. input a(x). input b(x). p(X) :- a(X). q(X) :- b(X). output q. ask p(X)@T."
    plan = tidelog.compile(text)
    intake = Intake(plan, ["s"])
    whole, long = ("a", ("u",), 1, MOST_POINTS), ("a", ("v",), 1, MOST_POINTS + 1)
    endless = ("b", ("u",), 1, POS)  # no question reads it
    delivery = intake.take("s", Batch([long, whole, endless], places=["f:1", "f:2", "f:3"]))
    assert delivery.facts == {"a": [whole[1:]], "b": [endless[1:]]}
    (refused,) = delivery.long
    assert (refused.place, refused.raw) == ("f:1", b"a(v)@[1,10001]")
    assert refused.reason == "long: `ask` takes a fact as one at each time point, but 10,000 at most"
    assert (intake.statistics().accepted, intake.statistics().long) == (2, 1)
    with pytest.raises(DataError, match="long: `ask` takes"):
        Session(plan).push_records([long])


class Letters:
    """Keeps the dead letters."""

    def __init__(self) -> None:
        self.letters: list[Rejected] = []

    async def send(self, rejected: list[Rejected]) -> None:
        self.letters += rejected


def test_the_engine_hands_what_is_too_long_to_the_dead_letters() -> None:
    """As any other record that is refused, with its reason."""
    plan = tidelog.compile("timeline integer. input a(x). p(X) :- a(X). ask p(X)@T.", outputs=False)
    letters, sink = Letters(), MemorySink()
    source = MemorySource([("a", ("u",), NEG, 3), ("a", ("v",), 4, 4)])
    anyio.run(Engine(plan, [source], [sink], dead_letters=letters).run)
    assert [(item.raw, item.reason[:5]) for item in letters.letters] == [(b"a(u)@(-inf,3]", "long:")]
    assert [line.answer for line in sink.hypothetical] == [{"X": "v", "T": 4}]


def test_outputs_take_what_is_too_long_for_a_question() -> None:
    """A question beside an output takes nothing from it."""
    plan = tidelog.compile("timeline integer. input a(x). p(X) :- a(X). ask p(X)@T. output p.")
    letters, sink = Letters(), MemorySink()
    source = MemorySource([("a", ("u",), NEG, 3), ("a", ("v",), 4, 4)])
    anyio.run(Engine(plan, [source], [sink], dead_letters=letters).run)
    assert [item.reason[:5] for item in letters.letters] == ["long:"]
    assert [str(plan.answer(record)) for record in sink.answers] == ["p(u)@(-inf,3]", "p(v)@4"]
    assert [line.answer for line in sink.hypothetical] == [{"X": "v", "T": 4}]


def test_without_questions_nothing_is_too_long() -> None:
    """The bound is that of questions alone."""
    session = Session(tidelog.compile("timeline integer. input a(x). p(X) :- a(X)."))
    session.push("a", ["u"], interval="[0,inf)")
    assert [answer.text for answer in session.pull() if isinstance(answer, Answer)] == ["p(u)@[0,inf)"]


@pytest.mark.parametrize("delay", ["-1", "inf", "1/2", "5 min"])
def test_what_is_no_delay(delay: str) -> None:
    """A delay is a whole number of ticks, 0 or more."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(f"timeline integer. input a(x) delay {delay}. p(X) :- a(X).")
    assert {item.code for item in caught.value.diagnostics} <= {"bad-delay", "not-whole", "unit-undeclared"}

"""The online operator by itself: what it tells, what it keeps, and what a fact touches."""

from __future__ import annotations

import json

import msgspec
import pytest

import tidelog
from tidelog.operators.ask.asker import Asker
from tidelog.operators.ask.pending.waiting import WaitingFor
from tidelog.operators.sld.unfold import unfold
from tidelog.operators.stores.room import NoRoomError, Room
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.questions import HypotheticalAnswer


def asker_of(text: str) -> Asker:
    """The operator of a program's only question."""
    plan = tidelog.compile(f"timeline integer.\n{text}", outputs=False)
    (question,) = plan.questions
    return Asker(question, unfold(question, plan.facts))


def feed(asker: Asker, *facts: str, until: int | None = None) -> list[str]:
    """Take facts such as `p(a)@3`, with the watermark just before the last of them, or `until`; what is told, in short."""
    batch: list[Record] = []
    times = []
    for fact in facts:
        atom, _, time = fact.rpartition("@")
        predicate, _, row = atom.rstrip(")").partition("(")
        times.append(int(time))
        values = tuple(int(value) if value.isdigit() else value for value in row.split(",") if value)
        batch.append((predicate, values, int(time), int(time)))
    watermark = max(times, default=0) - 1 if until is None else until
    return [short(line) for line in asker.receive(batch, watermark, min(times, default=None))]


def short(line: HypotheticalAnswer) -> str:
    """A line as `possible a,0: E | H`."""
    values = ",".join(str(value) for value in line.answer.values())
    sides = [" ".join(map(str, side)) for side in (line.evidence, line.hypotheses)]
    failed = "" if line.failed is None else f" ! {line.failed}"
    return f"{line.status} {values}: {' | '.join(side for side in sides if side)}{failed}"


PAIR = "input p(x). input q(x). r(X)@T :- p(X)@T, q(X)@T+1. ask r(X)@T."


def test_facts_of_one_time_point_make_one_line() -> None:
    """What a time point's own facts may still decide is not told before they are complete."""
    asker = asker_of("input p(x). input q(x). r(X) :- p(X), q(X), diamondplus[1,1] p(X). ask r(X)@T.")
    assert feed(asker, "p(a)@0") == []
    assert feed(asker, "q(a)@0") == ["possible a,0: p(a)@0 q(a)@0 | p(a)@1"]
    assert feed(asker, "p(b)@1", until=5) == ["rejected a,0: p(a)@0 q(a)@0 ! p(a)@1"]


def test_repeated_fact_changes_nothing() -> None:
    """The same fact again tells nothing, and completes nothing."""
    asker = asker_of(PAIR)
    assert feed(asker, "p(a)@0") == ["possible a,0: p(a)@0 | q(a)@1"]
    assert feed(asker, "p(a)@0") == []
    assert feed(asker, "q(a)@1", "q(a)@1") == ["certain a,0: p(a)@0 q(a)@1"]
    assert feed(asker, "q(a)@1") == []


def test_later_premise_may_come_first() -> None:
    """As long as an earlier premise can still come, a later one is evidence, too."""
    asker = asker_of(PAIR)
    assert feed(asker, "q(a)@6", until=3) == ["possible a,5: q(a)@6 | p(a)@5"]
    assert feed(asker, "p(a)@5", until=3) == ["certain a,5: p(a)@5 q(a)@6"]


def test_only_minimal_hypotheses_are_told() -> None:
    """A support that needs more than another one is not told, until the other one fails."""
    asker = asker_of(
        "input p(x). input q(x). input s(x).r(X)@T :- p(X)@T, s(X)@T+1. r(X)@T :- q(X)@T, s(X)@T+1, s(X)@T+2. ask r(X)@T."
    )
    assert feed(asker, "p(a)@0", "q(a)@0", until=0) == ["possible a,0: p(a)@0 | s(a)@1"]
    assert feed(asker, "s(a)@1", until=0) == ["certain a,0: p(a)@0 s(a)@1"]


def test_what_needs_no_evidence_is_no_support() -> None:
    """Where hypotheses would do alone, what has come speaks for nothing."""
    asker = asker_of("input p(x). input q(x). r@T :- q(X)@T+1. r@T :- p(X)@T, q(a)@T+1. ask r@T.")
    assert feed(asker, "p(a)@0", until=0) == []


def test_answer_lives_on_in_another_way() -> None:
    """An answer is rejected only when the last way to it is closed, by the premise that closes it."""
    asker = asker_of("input p(x). input q(x). r(X)@T :- p(X)@T, p(X)@T+1. r(X)@T :- q(X)@T+3. ask r(X)@T.")
    assert feed(asker, "p(a)@0") == ["possible a,0: p(a)@0 | p(a)@1"]
    assert feed(asker, until=2) == []
    assert feed(asker, until=3) == ["rejected a,0: p(a)@0 ! q(a)@3"]


def test_negated_query_is_open_while_it_may_come_true() -> None:
    """An absence is not certain for lack of evidence alone: step 3 of the paper's algorithm would say so too early."""
    asker = asker_of("input p(x). input s(x). bad(X)@T :- s(X)@T+2. r(X)@T :- p(X)@T, not bad(X)@T. ask r(X)@T.")
    assert feed(asker, "p(a)@0", "p(b)@0", until=1) == [
        "possible a,0: p(a)@0 | not bad(a)@0",
        "possible b,0: p(b)@0 | not bad(b)@0",
    ]
    assert feed(asker, "s(a)@2", until=1) == ["rejected a,0: p(a)@0 ! not bad(a)@0"]
    assert feed(asker, until=2) == ["certain b,0: p(b)@0 not bad(b)@0"]


def test_absence_through_time() -> None:
    """A predicate may depend on its own absence in the past: a toggle."""
    asker = asker_of("input press(x). on(X)@T :- press(X)@T, not on(X)@T-1. ask on(X)@T.")
    told = [line for time in range(4) for line in feed(asker, f"press(a)@{time}", until=time)]
    assert [line.partition(":")[0] for line in told if not line.startswith("possible")] == [
        "certain a,0",
        "certain a,2",
    ]


def test_open_answer_is_replaced_by_what_fills_it_in() -> None:
    """A column that is open is None; it ends in a line of its own only where nothing has filled it in."""
    text = "input p(x). input q(x). r(X,Y)@T :- p(X)@T, q(Y)@T+1. ask r(X,Y)@T."
    asker = asker_of(text)
    assert feed(asker, "p(a)@0") == ["possible a,None,0: p(a)@0 | q(Y)@1"]
    assert feed(asker, "q(b)@1") == ["certain a,b,0: p(a)@0 q(b)@1"]
    assert feed(asker, until=9) == []
    asker = asker_of(text)
    feed(asker, "p(a)@0")
    assert feed(asker, until=1) == ["rejected a,None,0: p(a)@0 ! q(Y)@1"]


def test_end_of_the_stream_decides_all() -> None:
    """What nothing bounds in time is decided when nothing can come any more."""
    asker = asker_of("input p(x). input q(x). r(X)@T :- p(X)@T, q(X)@S. ask r(X)@T.")
    assert feed(asker, "p(a)@0", until=0) == ["possible a,0: p(a)@0 | q(a)@S"]
    assert feed(asker, until=1000) == []
    assert feed(asker, until=POS) == ["rejected a,0: p(a)@0 ! q(a)@S"]


def test_nothing_is_kept_that_nobody_can_ask_for() -> None:
    """Behind all deadlines neither facts, answers nor partial answers are left."""
    asker = asker_of("input p(x). input s(x). r(X)@T :- p(X)@T, p(X)@T+1, not s(X)@T. ask r(X)@T.")
    most = 0
    for time in range(200):
        feed(asker, *(f"p({name})@{time}" for name in "abc"), f"s(b)@{time}")
        statistics = asker.statistics()
        most = max(most, statistics.open + statistics.facts + statistics.answers)
    assert most < 40
    feed(asker, until=300)
    statistics = asker.statistics()
    assert (statistics.open, statistics.facts, statistics.answers) == (0, 0, 0)


@pytest.mark.pure
def test_fact_touches_those_alone_that_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many partial answers are open, a fact is given to those that it may concern."""
    asker = asker_of(PAIR)
    feed(asker, *(f"p(n{number})@0" for number in range(500)))
    touched = []
    met_by = WaitingFor.met_by
    monkeypatch.setattr(WaitingFor, "met_by", lambda *arguments: touched.append(met_by(*arguments)) or touched[-1])
    feed(asker, "q(n7)@1", "q(other)@1", "p(n7)@1")
    assert sorted(map(len, touched)) == [0, 0, 1]


def test_too_many_open_answers_are_an_error() -> None:
    """What nothing bounds is bounded by the room that there is."""
    asker = asker_of("input p(x). input q(x). r(X)@T :- p(X)@T, q(X)@S. ask r(X)@T.")
    asker.room = Room(10)
    feed(asker, *(f"p(n{number})@0" for number in range(10)))
    with pytest.raises(NoRoomError):
        feed(asker, *(f"p(n{number})@1" for number in range(11)))


@pytest.mark.parametrize("codec", [json, msgspec.msgpack])
def test_snapshot_is_plain_data(codec: object) -> None:
    """A snapshot survives JSON and MessagePack, with more premises than a number has bits."""
    text = "input p(x). input s(x). r(X) :- boxminus[0,99] p(X), not diamondminus[0,3] s(X). ask r(X)@T."
    asker, restored = asker_of(text), asker_of(text)
    for time in range(70):
        feed(asker, f"p(a)@{time}")
    encode = json.dumps if codec is json else msgspec.msgpack.encode
    decode = json.loads if codec is json else msgspec.msgpack.decode
    restored.restore(decode(encode(asker.snapshot())))
    for time in range(70, 110):
        facts = [f"p(a)@{time}"] if time != 105 else []
        assert feed(asker, *facts, until=time - 1) == feed(restored, *facts, until=time - 1)
    assert asker.statistics() == restored.statistics()


def test_one_fact_is_not_two_premises() -> None:
    """A fact that one premise is, and another one could be, counts once."""
    text = "input p(x). input q(x). c(X)@T :- q(k)@T, q(l)@T, q(l)@T+1, q(X)@T+1, p(X)@T+2. ask c(X)@T."
    asker = asker_of(text)
    told = [line for fact in ("q(k)@0", "q(l)@0", "q(l)@1", "p(l)@2") for line in feed(asker, fact)]
    assert told[-1] == "certain l,0: q(k)@0 q(l)@0 q(l)@1 p(l)@2"
    assert not [line for line in told if "q(l)@1 q(l)@1" in line]


def test_negation_two_deep_sees_what_one_fact_begins() -> None:
    """What is negated may begin with the very fact that the rule begins with."""
    text = """input p(x). a(X)@T :- p(X)@T, not b(X)@T. b(X)@T :- p(X)@T, not c(X)@T. c(X)@T :- p(X)@T, p(X)@T+1.
    ask a(X)@T."""
    asker = asker_of(text)
    assert feed(asker, "p(a)@0") == ["possible a,0: p(a)@0 | not b(a)@0"]
    assert feed(asker, "p(a)@1")[0] == "certain a,0: p(a)@0 not b(a)@0"


def test_facts_held_for_the_start_keep_their_order() -> None:
    """What waits until the stream's start is known is taken in the order of its arrival, as if it had not waited."""
    asker = asker_of("input p(x). input r. b(Y) :- p(Y), always r in [1]. ask b(X)@T.")
    for predicate, row, time in (("p", ("l",), 1), ("r", (), 1), ("r", (), 0), ("p", ("l",), 0)):
        assert asker.receive([(predicate, row, time, time)], -2) == []
    told = [short(line) for line in asker.receive([], 3, 0)]
    assert [line.partition(":")[0] for line in told if line.startswith("certain")] == ["certain l,1", "certain l,0"]


def test_comparison_bounds_the_deadline() -> None:
    """Where a comparison bounds an open time, the answer is decided by then, and ends with the evidence that it had."""
    asker = asker_of("input pay(c, s). fraud(C)@T :- pay(C, A)@S, pay(C, B)@T, S < T, T <= S + 10, A != B. ask fraud(C)@T.")
    assert feed(asker, "pay(c,a)@0") == ["possible c,None: pay(c,a)@0 | pay(c,B)@T"]
    assert feed(asker, until=9) == []
    assert feed(asker, until=10) == ["rejected c,None: pay(c,a)@0 ! pay(c,B)@T"]
    assert feed(asker, "pay(c,a)@20") == ["possible c,None: pay(c,a)@20 | pay(c,B)@T"]
    assert feed(asker, "pay(c,b)@25") == [
        "certain c,25: pay(c,a)@20 pay(c,b)@25",
        "possible c,None: pay(c,b)@25 | pay(c,B)@T",
    ]


def test_lateness_counts_in_deadlines() -> None:
    """With a lateness, an answer is decided so much later in the stream."""
    plan = tidelog.compile(f"timeline integer. {PAIR}", outputs=False)
    session = tidelog.Session(plan, lateness=3)
    session.push("p", ["a"], 0)
    session.push("p", ["b"], 5)
    told = [(line.status, line.answer["X"], line.at, line.deadline) for line in session.pull_hypothetical()]
    assert told == [("possible", "a", 0, 4), ("rejected", "a", 4, None), ("possible", "b", 5, 9)]

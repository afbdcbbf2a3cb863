"""How many lines a relevant fact makes: a change of meaning is one, and what only goes on is none."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import tidelog
from tidelog import Session
from tidelog.operators.ask.asker import Asker
from tidelog.operators.ask.premises.partials import Answer
from tidelog.plans.data.facts import Record

MOST = 2.0
"""Lines a relevant fact: it makes an answer possible, and that is decided."""


def lines_a_fact(rules: str, query: str, facts: Sequence[Record], relevant: int, min_evidence: int = 0) -> float:
    """The lines of a question, over the facts that it is about."""
    plan = tidelog.compile(f"timeline integer. {rules}", queries=[query], outputs=False)
    session = Session(plan, min_evidence=min_evidence)
    session.push_records(facts)
    session.finish()
    return len(session.pull_hypothetical()) / relevant


def test_doors_make_few_lines() -> None:
    """A door that is open while the heating is on has a line, and one when it is shut or has wasted heat."""
    draw = random.Random(1)
    facts: list[Record] = []
    for time in range(120):
        for door in ("d1", "d2", "d3"):
            kind = draw.choices(("open", "shut", ""), (1, 2, 7))[0]
            facts += [(kind, (door,), time, time)] if kind else []
        facts += [("heating", (), time, time)] if draw.random() < 0.5 else []
    rules = """input open(d). input shut(d). input heating.
    waste(D) :- open(D), diamondplus[0,1] heating, boxplus[1,3] not shut(D)."""
    assert lines_a_fact(rules, "waste(D)@T", facts, len(facts)) <= MOST


def test_heartbeats_make_few_lines() -> None:
    """A node that was heard may be silent for long: that is told once, and once that it was heard again."""
    draw = random.Random(1)
    facts: list[Record] = [
        ("heard", (f"n{node}",), time, time)
        for time in range(200)
        for node in range(10)
        if (time + node) % 5 == 0 and draw.random() < 0.9
    ]
    rules = "input heard(n). silent(N) :- heard(N), boxplus[1,30] not heard(N)."
    assert lines_a_fact(rules, "silent(N)@T", facts, len(facts)) <= MOST


@pytest.mark.parametrize("stays_hot", [0.8, 0.97])
@pytest.mark.parametrize("reading", ["temp(M, C), C >= 80", "temp(M, 90)"])
def test_overheating_makes_few_lines(reading: str, stays_hot: float) -> None:
    """Each hot reading is in the ten ticks of ten answers: what stays hot goes on, and is no change of meaning."""
    draw = random.Random(1)
    facts: list[Record] = []
    hot = dict.fromkeys(("m1", "m2", "m3"), False)
    for time in range(80):
        for machine in hot:
            hot[machine] = draw.random() < (stays_hot if hot[machine] else 0.05)
            facts.append(("temp", (machine, 90 if hot[machine] else 60), time, time))
    rules = f"input temp(m, c). hot(M) :- {reading}. over(M) :- boxminus[0,9] hot(M)."
    relevant = sum(row[1] == 90 for _, row, _, _ in facts)
    assert lines_a_fact(rules, "over(M)@T", facts, relevant) <= MOST


def test_a_stretch_that_was_told_as_one_has_its_next_line_once_it_is_over() -> None:
    """What else comes has one, too; fewer than three hypotheses in a row were told one by one, and have a line each."""
    rules = "timeline integer. input a. input b. d :- b, boxplus[1,5] a, boxplus[3,3] b. ask d@T."
    session = Session(tidelog.compile(rules, outputs=False))
    session.push_records(
        (name, (), time, time) for time, names in enumerate(["b", "a", "a", "ab", "a", "a"]) for name in names
    )
    lines = [line for line in session.pull_hypothetical() if line.answer["T"] == 0]
    assert [(line.status, line.at, " ".join(map(str, line.hypotheses))) for line in lines] == [
        ("possible", 0, "a@1 a@2 a@3 b@3 a@4 a@5"),
        ("possible", 3, "a@4 a@5"),
        ("possible", 4, "a@5"),
        ("certain", 5, ""),
    ]


def test_a_way_that_went_on_without_a_line_is_told_when_it_is_lost() -> None:
    """The line before told of it; what is left is told with the reason."""
    rules = """timeline integer. input temp(m, c). input back(m). hot(M) :- temp(M, C), C >= 80.
    over(M) :- boxplus[0,4] hot(M).  over(M) :- hot(M), boxplus[6,6] back(M). ask over(M)@T."""
    session = Session(tidelog.compile(rules, outputs=False))
    session.push_records(("temp", ("m1", 80 + time), time, time) for time in range(3))
    session.advance(4)
    lines = [line for line in session.pull_hypothetical() if line.answer["T"] == 0]
    assert [(line.status, line.at, str(line.failed), len(line.hypotheses)) for line in lines] == [
        ("possible", 0, "None", 1),
        ("possible", 0, "None", 4),
        ("possible", 3, "temp(m1,C4)@3", 1),
    ]


def test_a_value_that_the_rest_of_a_stretch_needs_is_told() -> None:
    """The hypotheses become other ones then."""
    rules = "timeline integer. input q. input p(x). d :- q, boxplus[1,5] p(X). ask d@T."
    session = Session(tidelog.compile(rules, outputs=False))
    session.push_records([("q", (), 0, 0), *(("p", (7,), time, time) for time in range(1, 6))])
    assert [(line.status, line.at) for line in session.pull_hypothetical() if line.answer["T"] == 0] == [
        ("possible", 0),
        ("possible", 1),
        ("certain", 5),
    ]


@pytest.mark.pure
def test_what_goes_on_as_it_was_told_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading is in 31 answers, of which it changes none until the first is complete."""
    reviewed = 0
    review = Asker._review_one

    def counted(asker: Asker, answer: Answer) -> None:
        nonlocal reviewed
        reviewed += 1
        review(asker, answer)

    monkeypatch.setattr(Asker, "_review_one", counted)
    rules = "timeline integer. input hot(m). input start(m). long(M) :- hot(M) since[30,60] start(M). ask long(M)@T."
    session = Session(tidelog.compile(rules, outputs=False))
    session.push_records([("start", ("m7",), 0, 0), *(("hot", ("m7",), time, time) for time in range(1, 29))])
    assert len(session.pull_hypothetical()) == 31
    assert reviewed == 31

"""How many lines a relevant fact makes: a change of meaning is one, and what only goes on is none."""

from __future__ import annotations

import random
from collections.abc import Sequence

import tidelog
from tidelog import Session
from tidelog.plans.facts import Record

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


def test_overheating_makes_few_lines_once_much_speaks_for_it() -> None:
    """Each hot reading speaks for all answers whose ten ticks it is in; `min_evidence` tells of those that are near."""
    draw = random.Random(1)
    facts: list[Record] = []
    hot = dict.fromkeys(("m1", "m2", "m3"), False)
    for time in range(80):
        for machine in hot:
            hot[machine] = draw.random() < (0.8 if hot[machine] else 0.05)
            facts.append(("temp", (machine, 90 if hot[machine] else 60), time, time))
    rules = "input temp(m, c). hot(M) :- temp(M, C), C >= 80. over(M) :- boxminus[0,9] hot(M)."
    relevant = sum(row[1] == 90 for _, row, _, _ in facts)
    assert lines_a_fact(rules, "over(M)@T", facts, relevant, min_evidence=5) <= MOST

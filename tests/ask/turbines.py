"""The turbines of Cruz-Filipe, Gaspar and Nunes 2020 (Example 1), as the tests here ask about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tidelog
from tidelog import HypotheticalAnswer, Plan, Session

RULES = """\
timeline integer, unit 1 s.
input temp(sensor: text, level: text).
flag(X)@T :- temp(X, high)@T.
cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.
shdn(X)@T+1 :- cool(X)@T, flag(X)@T+1.
malf(X)@T-2 :- shdn(X)@T.
"""
TURBINES = RULES + "output flag.\nask malf(X)@T.\n"
DEFECTS = (
    "timeline integer. input temp(sensor: text, level: text).\n"
    "defective(X)@T :- temp(X, high)@T, temp(X, broken)@S.\nask defective(X)@T.\n"
)
"""Unbound wait, as in Example 9: nothing says when the second failure has to be."""


def plan_of(text: str = TURBINES, **options: Any) -> Plan:
    return tidelog.compile(text, **options)


def feed(session: Session, times: Iterable[int], turbine: str = "wt25", level: str = "high") -> None:
    """Push a reading at each of these times."""
    for time in times:
        session.push("temp", [turbine, level], time)


def shown(answer: HypotheticalAnswer) -> tuple[object, ...]:
    """What a test says of an answer: its values, status, evidence and hypotheses as text."""
    return (
        tuple(answer.answer.values()),
        answer.status,
        tuple(map(str, answer.evidence)),
        tuple(map(str, answer.hypotheses)),
    )


def pulled(session: Session) -> list[tuple[object, ...]]:
    """The same for all that a session has to say."""
    return [shown(answer) for answer in session.pull_hypothetical()]

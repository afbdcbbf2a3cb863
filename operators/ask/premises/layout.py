"""In which order the premises of a precondition are told, where that is the same for all of its partial answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tidelog.operators.ask.premises.awaited import Awaited
from tidelog.operators.ask.premises.runs import Run
from tidelog.plans.data.facts import Row
from tidelog.plans.plan.questions import GroundLiteral

Segment = Run | int
"""A run whose premises are told one after the other, or one premise: i for the one at i, −1−i for the negated one at i."""

_KEPT_LITERALS, _KEPT_ROWS = 4_096, 512


def layout_of(
    time: int | None, premises: Sequence[Awaited], negated: Sequence[Awaited], runs: Iterable[Run]
) -> list[Segment] | None:
    """The premises in the order in which they are told, whatever the values; None where values decide on that."""
    entries = [(item.offset, item.negated, item.premise.predicate, i) for i, item in enumerate(premises)]
    entries += [(item.offset, item.negated, item.premise.predicate, -1 - i) for i, item in enumerate(negated)]
    if time is None or any(item.time != time for item in (*premises, *negated)):
        return None
    if len({entry[:3] for entry in entries}) < len(entries):
        return None
    return _in_segments([i for *_, i in sorted(entries)], runs)


def _in_segments(order: Sequence[int], runs: Iterable[Run]) -> list[Segment]:
    """The order, with runs in place of their premises, where nothing stands between these."""
    found: list[Segment] = [*order]
    for run in runs:
        members = [*run.places.values()]
        first = order.index(members[0])
        if order[first : first + len(members)] == members and members == [*range(members[0], members[-1] + 1)]:
            place = found.index(members[0])
            found[place : place + len(members)] = [run]
    return found


@lru_cache(_KEPT_LITERALS)
def fact_literal(predicate: str, row: Row, time: int) -> GroundLiteral:
    """The literal that a fact is: there are many partial answers for each."""
    return GroundLiteral(predicate, row, time)


def literals_in_a_row(predicate: str, row: Row, first: int, number: int) -> list[GroundLiteral]:
    """The literals that so many facts are, at times in a row."""
    known = _from(predicate, row, first)
    while len(known) < number:
        known.append(fact_literal(predicate, row, first + len(known)))
    return known[:number]


@lru_cache(_KEPT_ROWS)
def _from(predicate: str, row: Row, first: int) -> list[GroundLiteral]:
    return []


def divide_run(
    literals: list[GroundLiteral], missing: int, evidence: list[GroundLiteral], hypotheses: list[GroundLiteral]
) -> None:
    """Put the literals of a run to the evidence, or to the hypotheses if they are in a set of what is missing."""
    if not missing:
        evidence += literals
        return
    come = (missing & -missing).bit_length() - 1
    if missing >> come == (1 << len(literals) - come) - 1:  # those that come first have come
        evidence += literals[:come]
        hypotheses += literals[come:]
        return
    for i, literal in enumerate(literals):
        (hypotheses if missing >> i & 1 else evidence).append(literal)

"""Premises at one time point after the other, as one: `not heard(n1)@[5,34]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidelog.plans.plan.questions import GroundLiteral, Open

SHORTEST = 3
"""So many in a row are a stretch."""


def in_stretches(literals: Iterable[GroundLiteral]) -> tuple[GroundLiteral, ...]:
    """The literals, those of one fact at three times or more in a row as one: `not heard(n1)@[5,34]`."""
    rows: dict[GroundLiteral, dict[int, GroundLiteral]] = {}
    order: list[GroundLiteral] = []
    for literal in literals:
        base, place = _place(literal)
        rows.setdefault(base, {})[place] = literal
        order.append(literal)
    if len(rows) == len(order):
        return tuple(order)
    lasting = {first: made for times in rows.values() for first, made in _stretches(times)}
    return tuple(lasting[literal] for literal in order if literal in lasting)


def _place(literal: GroundLiteral) -> tuple[GroundLiteral, int]:
    """A literal without its time, and its time as a distance from a variable, if it has one."""
    time = literal.time
    if isinstance(time, Open):
        return replace(literal, time=Open(time.name)), time.offset
    return replace(literal, time=0), time


def _stretches(times: dict[int, GroundLiteral]) -> Iterator[tuple[GroundLiteral, GroundLiteral]]:
    """Each literal that is shown, and as what."""
    places = sorted(times)
    first = 0
    for last, place in enumerate(places):
        if last + 1 < len(places) and places[last + 1] == place + 1:
            continue
        group = [times[each] for each in places[first : last + 1]]
        if len(group) >= SHORTEST:
            yield group[0], replace(group[0], until=group[-1].time)
        else:
            yield from zip(group, group, strict=True)
        first = last + 1

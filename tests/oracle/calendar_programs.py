"""Programs with calendars and aggregates per period, and where these calendars hold, worked out hour by hour.

A tick is six hours, so that a stream of twenty ticks sees days, nights and weekends. All is in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from oracle.evaluate import GroundFact
from oracle.open_programs import UNARY, open_programs, open_streams
from oracle.programs import Kind
from tidelog.plans.tree.syntax import Interval

DECLARED = """\
calendar work = thu-sat 06:00-12:00 18:00-24:00, except feast.
calendar feast = jan 3.
calendar night = 18:00-06:00.
calendar day(D) = each day.
"""
SINGLE = (
    "{p}(X), {f}",
    "{p}(X), not {f}",
    "not {f} since{u} {p}(X)",
    "{f} since{u} {p}(X)",
    "{p}(X), not {n}(X) since{u} {f}",
    "{p}(X), ({q}(X) since{u} {f})",
    "{f} until{i} {p}(X)",
    "not {f} until{i} {p}(X)",
    "{p}(X), boxminus{i} {f}",
    "{p}(X), boxplus{i} {f}",
    "{p}(X), not diamondplus{i} {f}",
    "diamondminus{u} {p}(X), not {f}",
    "{p}(X), day(D), not diamondminus{i} ({p}(X), day(D))",
    "diamondminus{u} {p}(X), day(D), diamondminus{i} ({q}(X), day(D))",
)
CALENDARS = ("work", "night", "diamondminus{i} work", "boxminus{i} night", "diamondplus{i} work", "(work, night)", "day(_)")
COUNTED = (
    "N = count() over {p}(X) per day by X, N >= {k}",
    "N = count() over {p}(X) per work by X, N < {k}",
    "N = count() over ({p}(X), not {q}(X)) per night by X",
    "N = {g}(V) over v(X,V) per day by X, N >= {k}",
    "N = {g}(V) over v(X,V) per work by X",
    "{p}(X), not count() over {q}(X) per night by X >= {k}",
    "count() over ({p}(X), work) in [{w}] by X >= {k}",
    "N = count() over ({p}(X), night) in [{w}] by X, N < {k}",
    "latest v(X,V) by X in [{w}], work, V > {k}",
)
FUNCTIONS = ("sum", "avg", "min", "max", "first", "last", "distinct", "stddev")
LOW, HIGH = -24, 48
"""The ticks for which it is worked out."""


def spells(name: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """The rows of a calendar with the first and the last tick of each of their spells, by looking at each tick."""
    held: list[tuple[tuple[str, ...], int]] = [
        (row, tick) for tick in range(LOW, HIGH) if (row := _row(name, tick)) is not None
    ]
    begin = 0
    for i in range(1, len(held) + 1):
        if i == len(held) or held[i] != (held[begin][0], held[i - 1][1] + 1) or (name == "night" and held[i][1] % 4 == 3):
            yield held[begin][0], held[begin][1], held[i - 1][1]
            begin = i


def _row(name: str, tick: int) -> tuple[str, ...] | None:
    """What a calendar says at a tick: a row, or None where it does not hold. 1970-01-01 is a Thursday."""
    day, part = divmod(tick, 4)
    match name:
        case "day":
            return (_date(day),)
        case "feast":
            return () if day == 2 else None
        case "night":
            return () if part in (3, 0) else None
        case _:
            return () if (3 + day) % 7 in (3, 4, 5) and part in (1, 3) and day != 2 else None


def _date(day: int) -> str:
    lengths = {1969: (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)}
    if day < 0:
        return f"1969-12-{32 + day:02}"
    assert day < lengths[1969][0]
    return f"1970-01-{day + 1:02}"


def calendar_facts() -> list[GroundFact]:
    """All calendars as facts."""
    return [
        (name, row, Interval(Fraction(lo), Fraction(hi + 1), right_open=True))
        for name in ("work", "feast", "night", "day")
        for row, lo, hi in spells(name)
    ]


def periods() -> dict[str, list[tuple[int, int]]]:
    """What `per` names: the first and the last tick of each period."""
    return {name: [(lo, hi) for _, lo, hi in spells(name)] for name in ("work", "night", "day")}


@st.composite
def calendar_programs(draw: st.DrawFn, kind: Kind) -> tuple[str, str]:
    """The text of a program whose rules read calendars: without what declares them, and what declares them."""
    text = draw(open_programs(kind, single=True, levels=2)).splitlines()
    known = [f"q{level}" for level in range(2)]
    bodies = [*SINGLE, *SINGLE, *(COUNTED if kind == "integer" else ())]
    rules = []
    heads = [f"c{number}" for number in range(draw(st.integers(1, 3)))]
    for head in heads:
        form = draw(st.sampled_from(CALENDARS)).format(i=draw(_metric()))
        body = draw(st.sampled_from(bodies)).format(
            p=draw(st.sampled_from([*UNARY, *known])),
            q=draw(st.sampled_from([*UNARY, *known])),
            n=draw(st.sampled_from([*UNARY, *known])),
            f=form,
            i=draw(_metric()),
            u=draw(st.sampled_from(["", "[0,3]", "[1,5]", "[2,2]"])),
            w=draw(st.integers(0, 6)),
            k=draw(st.integers(1, 3)),
            g=draw(st.sampled_from(FUNCTIONS)),
        )
        rules.append(f"{head}(X) :- {body}.")
        known.append(head)
    return "\n".join([text[0], *text[1:-1], *rules, f"output {', '.join(heads)}."]), DECLARED


def with_calendars(text: str, declared: str) -> str:
    """The program with a unit and its calendars."""
    first, rest = text.split(".\n", 1)
    return f"{first}, unit 6 h.\n{declared}{rest}"


@st.composite
def _metric(draw: st.DrawFn) -> str:
    low = draw(st.integers(0, 3))
    return f"[{low},{low + draw(st.integers(0, 5))}]"


def begin_of(facts: Sequence[GroundFact]) -> Fraction:
    """When the stream starts: at the first time that its facts mention."""
    return min(Fraction(time) for _, _, when in facts for time in (when.low, when.high) if abs(time) < math.inf)


@st.composite
def calendar_streams(draw: st.DrawFn, kind: Kind, text: str) -> list[GroundFact]:
    """Facts for a program over calendars, of which some have no begin, and come first.

    Not where it counts per period: how much of what has no begin falls into the first period is defined by the start.
    """
    facts = draw(open_streams(kind))
    number = 0 if " per " in text else draw(st.sampled_from([0, 0, 1, 2]))
    endless = [(name, row, replace(when, low=-math.inf, left_open=False)) for name, row, when in facts[:number]]
    return [*endless, *facts[number:]]

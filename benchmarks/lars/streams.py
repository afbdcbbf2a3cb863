"""The papers' streams: what comes at a time point, the same in each run."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from tidelog.plans.data.facts import Record, Row

Stream = Callable[[int], list[Record]]
"""The facts of a time point."""

PARTNERS = 40
"""A join's rows are drawn from so many names for each fact of a time point: with a window of `n`, one meets n/20 others."""
COLDEST, HOTTEST = -20, 180


def same(predicate: str, rate: int) -> Stream:
    """p(a1,a1) … at each time point, as in Laser2."""
    return partial(_at, predicate, [(f"a{i}", f"a{i}") for i in range(rate)])


def unique(predicate: str, rate: int) -> Stream:
    """Facts that no other time point has, as in Laser."""
    return lambda tick: _at(predicate, [(f"a{i}", f"b{i}") for i in range(tick * rate, (tick + 1) * rate)], tick)


def pairs(predicate: str, rate: int) -> Stream:
    """Random pairs of names, hardly any twice."""

    def at(tick: int) -> list[Record]:
        chance = random.Random(tick)
        names = [f"n{chance.randrange(PARTNERS * rate)}" for _ in range(2 * rate)]
        return _at(predicate, list(zip(names[::2], names[1::2], strict=True)), tick)

    return at


def readings(rate: int) -> Stream:
    """Random temperatures, with two decimals."""

    def at(tick: int) -> list[Record]:
        chance = random.Random(tick)
        return _at("temp", [(chance.randrange(COLDEST * 100, HOTTEST * 100) / 100,) for _ in range(rate)], tick)

    return at


def absent_at(period: int, stream: Stream) -> Stream:
    """The same stream without its facts at each multiple of a period, the first time point included."""
    return lambda tick: stream(tick) if tick % period else []


def together(*streams: Stream) -> Stream:
    """Several streams in one."""
    return lambda tick: [fact for stream in streams for fact in stream(tick)]


def _at(predicate: str, rows: list[Row], tick: int) -> list[Record]:
    return [(predicate, row, tick, tick) for row in rows]

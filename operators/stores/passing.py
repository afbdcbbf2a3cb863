"""Passing on: what stands at the ports of an operator, moved and united, stands of its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.pieces import Range
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

Key = tuple[int, Row]
"""A port, and a standing row there."""


class Passing:
    """The standing rows of an operator that passes on what it takes: those of its ports, and what stands of its output.

    `image` gives the rows of the output that a row at a port stands for, `moved` the range over which these hold where it
    holds over another. An output row stands as long as rows stand for it that leave no gap. Where one of these turns out to
    begin earlier, so does the output row: it ends, where it held nowhere, and begins again.

    >>> rows = Passing(lambda port, row: [row])
    >>> notices, facts = Notices(), []
    >>> rows.take(0, Notices([(("a",), 3)]), notices, facts), rows.take(1, Notices([(("a",), 1)]), notices, facts)
    ({}, {})
    >>> notices.begun, facts
    ({('a',): 1}, [])
    """

    __slots__ = ("_image", "_known", "_moved", "_told")

    def __init__(
        self, image: Callable[[int, Row], Sequence[Row]], moved: Callable[[int, int], tuple[int, int]] | None = None
    ) -> None:
        self._image = image
        self._moved = moved
        self._known: dict[Row, dict[Key, int]] = {}
        self._told: dict[Row, int] = {}

    def take(self, port: int, notices: Notices, out: Notices, facts: list[Fact]) -> dict[Row, list[Range]]:
        """Take notices; add those that follow to `out`, and to `facts` what both begins and ends with them.

        Returns the ranges of output rows that have ended by these notices: as facts, they need not be told again.
        """
        told: dict[Row, list[Range]] = {}
        for row, lo, hi in notices.ended:
            if self._moved is not None and lo <= hi:
                lo, hi = self._moved(lo, hi)
            elif self._moved is not None:  # it held nowhere
                lo, _ = self._moved(lo, POS)
                hi = lo - 1
            for image in self._image(port, row):
                self._end(image, (port, row), hi, out, facts, told)
        for row, lo in notices.begun.items():
            if self._moved is not None:
                lo, _ = self._moved(lo, POS)
            for image in self._image(port, row):
                self._begin(image, (port, row), lo, out, facts)
        return told

    def _begin(self, image: Row, key: Key, lo: int, out: Notices, facts: list[Fact]) -> None:
        self._known.setdefault(image, {})[key] = lo
        since = self._told.get(image)
        if since is not None and lo < since:  # it is not certain yet that it holds as far as it was told to begin
            out.end(image, since, lo - 1, facts)
        if since is None or lo < since:
            self._told[image] = lo
            out.begin(image, lo)

    def _end(self, image: Row, key: Key, hi: int, out: Notices, facts: list[Fact], told: dict[Row, list[Range]]) -> None:
        known = self._known[image]
        del known[key]
        least = min(known.values(), default=None)
        if least is not None and least <= hi + 1:
            return
        since = self._told.pop(image)
        out.end(image, since, hi, facts)
        told.setdefault(image, []).append((since, hi))
        if least is None:
            del self._known[image]
        else:
            self._told[image] = least
            out.begin(image, least)

    def entries(self) -> int:
        """How many rows stand."""
        return len(self._told)

    def standing(self) -> list[tuple[Row, int]]:
        """The rows of the output that stand, and since when."""
        return list(self._told.items())

    def state(self) -> dict[str, Any]:
        """What stands, as plain data."""
        known = [
            [list(image), port, list(row), lo] for image, known in self._known.items() for (port, row), lo in known.items()
        ]
        return {"known": known, "told": [[list(image), since] for image, since in self._told.items()]}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        self._known.clear()
        for image, port, row, lo in state["known"]:
            self._known.setdefault(tuple(image), {})[port, tuple(row)] = lo
        self._told = {tuple(image): since for image, since in state["told"]}

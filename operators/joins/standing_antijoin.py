"""Anti-join where rows of its sides stand: it goes through time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tidelog.operators.standing.meeting import Meeting
from tidelog.operators.standing.sweeping import Place
from tidelog.operators.stores.coverage import Bounds, subtract
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

POSITIVE: Final = 0
NEGATIVE: Final = 1


class StandingAntiJoin(Meeting):
    """`M' ← M ∧ not N`, where its ports take notices, and it tells what follows by notices, too.

    Intervals: those of `AntiJoin`, as far as both ports are known. Port 0 is M, port 1 is N; `key` and `match` as there. A
    row of M begins to stand when it has begun and nothing speaks against it, and ends when it has ended or something does;
    a fact of M that passes is cut by what has spoken against it. State, beyond that of `Meeting`: the rows of M that hold
    now, by key. Final: as far as both ports.
    """

    __slots__ = ("_key", "_match", "_positive")

    def __init__(self, key: Callable[[Row], Row], match: Callable[[Row], Row | None], slowest: int) -> None:
        super().__init__(2, slowest)
        self._key = key
        self._match = match
        self._positive: dict[Row, Row | dict[Row, None]] = {}
        """The rows of M that hold now, by key: most often there is one."""

    def narrow(self, port: int, fact: Fact) -> Row | None:
        return fact[0] if port == POSITIVE else self._match(fact[0])

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == NEGATIVE:
            return super().feed(port, facts)
        self.take_facts(port, facts)
        return []

    def let_pass(self, passing: Sequence[Sequence[Fact]], out: list[Fact]) -> None:
        before, now, key_of, room = dict[Row, Bounds](), self.holding[NEGATIVE], self._key, self.room.rows
        for row, lo, hi in self.ended[NEGATIVE]:
            before.setdefault(row, []).extend((lo, hi))
        for row, bounds in before.items():
            bounds += now.get(row, ())
        whole: Sequence[Any] = list(dict.fromkeys(passing[POSITIVE]))  # as in `Coverage.insert`
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            key = key_of(row)
            negated = now.get(key)
            since = POS if negated is None else negated[0]
            if key in before:
                subtract(before[key], row, lo, hi, out)
                if len(out) > room:
                    raise NoRoomError(len(out))
            elif since > hi or negated is None:
                out.append(fact)
            elif since > lo:
                out.append((row, lo, since - 1))

    def presume(self, until: int) -> None:
        """What of N holds behind what has been gone through does so without a gap, up to `until`."""
        self.lengthen(NEGATIVE, until)

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.enter(place)
        if port == NEGATIVE:
            for other in self._under(row):
                self.lose(other, held)
            return
        key = self._key(row)
        found = self._positive.get(key)
        if found is None:
            self._positive[key] = row
        elif isinstance(found, dict):
            found[row] = None
        else:
            self._positive[key] = {found: None, row: None}
        if key not in self.holding[NEGATIVE]:
            self.gain(row, held)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.leave(place)
        if port == NEGATIVE:
            for other in self._under(row):
                self.gain(other, held)
            return
        key = self._key(row)
        found = self._positive[key]
        if isinstance(found, dict) and len(found) > 1:
            del found[row]
        else:
            del self._positive[key]
        if key not in self.holding[NEGATIVE]:
            self.lose(row, held)

    def _under(self, key: Row) -> Iterable[Row]:
        found = self._positive.get(key)
        return () if found is None else found if isinstance(found, dict) else (found,)

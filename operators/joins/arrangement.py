"""Arrangement: what several joins store of one channel by one key, stored once for all of them.

Its feeder enters new coverage, after those of its readers have met the others that must not yet find it there, and before
those that must (`runtime/network/readers.py`). Each reader tells what it needs; what none of them needs any more is
forgotten. A reader may so find pieces that it needs no more: what is new to it begins behind them, and does not meet them.

A snapshot has each arrangement once, by its name; where a reader's state has a store, there is this name. States that go
another way have everything themselves (`with_own_stores`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.operators.joins.join_code import JoinCode
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.time_index import TimeIndex
from tidelog.plans.analysis.physical.lookups import Key
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS


class Arrangement:
    """A `store` of coverage with several readers, each with a number; its `name` stands for it in their states.

    >>> shared = Arrangement("temp by 0", (0,))
    >>> short, long = shared.reader(), shared.reader()
    >>> shared.enter([(("a", 1), 0, 9)])
    >>> shared.needs_behind(short, 20), shared.store.entries()
    (None, 1)
    """

    __slots__ = ("_bounds", "_least", "_restored", "name", "store")

    def __init__(self, name: str, key: Key) -> None:
        self.name = name
        self.store: TimeIndex | Coverage = Coverage() if key is None else TimeIndex(key)
        self._bounds: dict[int, int] = {}
        self._least = NEG
        self._restored: list[Any] | None = None

    def reader(self) -> int:
        """The number of one reader more, which needs everything as yet."""
        number = len(self._bounds)
        self._bounds[number] = NEG
        return number

    def counts_for(self, reader: int) -> bool:
        """Whether what is stored counts for this reader: it does for the first."""
        return reader == next(iter(self._bounds))

    def enter(self, facts: Sequence[Fact]) -> None:
        """Store new coverage, as far as some reader needs it."""
        bound, store = self._least, self.store
        self._restored = None
        if bound >= POS:
            return
        lasting = facts if bound <= NEG else [fact for fact in facts if fact[2] > bound]
        if isinstance(store, TimeIndex):
            store.add(lasting)
        else:
            store.extend(lasting)

    def needs_behind(self, reader: int, bound: int) -> None:
        """A reader needs only what ends behind `bound`."""
        self._bounds[reader] = bound
        self._least = min(self._bounds.values())

    def tidy(self) -> None:
        """Let go of what nobody needs, a portion at a time."""
        self.store.forget(self._least)

    def clear(self) -> None:
        """Forget everything: states are to be restored."""
        self.store.restore([])
        self._restored = None

    def restore(self, reader: int, data: list[Any], bound: int) -> bool:
        """Take over what a reader stored; false if others have stored something else, so that this one leaves.

        It may have been filled from the journal, and know less than those that were kept.
        """
        if self._restored is None:
            self.store.restore(data)
            self._restored = data
        if data is not self._restored and data != self._restored:
            del self._bounds[reader]
            return False
        self._bounds[reader] = bound
        self._least = min(self._bounds.values())
        return True


@dataclass(frozen=True, slots=True)
class Arranged:
    """The code of a join, and the arrangements that it reads, by port and key; all else it stores by itself."""

    code: JoinCode
    shared: Mapping[tuple[int, Key], Arrangement]


def with_own_stores(state: dict[str, Any], stored: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The state of a join as if it shared nothing: what is `stored` of arrangements in place of their names.

    >>> state = {"stores": [[]], "indexes": [{"index0_0": "temp by 0"}]}
    >>> with_own_stores(state, {"temp by 0": [[["a", 1], 0, 9]]})
    {'stores': [[]], 'indexes': [{'index0_0': [[['a', 1], 0, 9]]}]}
    """

    def own(data: list[Any] | str) -> list[Any]:
        return stored[data] if isinstance(data, str) else data

    indexes = [{name: own(data) for name, data in indexed.items()} for indexed in state["indexes"]]
    return {**state, "stores": [own(data) for data in state["stores"]], "indexes": indexes}

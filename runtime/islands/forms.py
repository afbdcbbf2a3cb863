"""Forms: how plain data of a state is divided among shards, and put together again.

A form says of a part of a state where rows stand in it, and how to find the key of a row. What a shard has of keys that it
does not own is nothing to anybody, and goes: it follows from facts that all shards have, such as the program's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tidelog.operators.stores.coverage import merge
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.tree.syntax import Value


class _Everybody:
    """In place of a key: what all shards have alike."""


EVERYBODY: Final = _Everybody()

KeyOf = Callable[[Any], "Value | _Everybody"]
"""The key of an entry of a list, or that all shards have the entry."""
Place = Callable[[Sequence[Any]], "Value | _Everybody"] | None
"""The key of a row; None where all shards have the rows alike."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many shards there are, and which of them owns a key."""

    owner: Callable[[Value], int]
    count: int

    def owns(self, shard: int, key: Value | _Everybody) -> bool:
        """Whether a shard has what belongs to a key."""
        return isinstance(key, _Everybody) or self.owner(key) == shard

    def copies(self, state: Any) -> list[Any]:
        """The same for each shard."""
        return [state] * self.count


class Form(ABC):
    """How a part of a state is divided, and put together."""

    __slots__ = ()

    @abstractmethod
    def divide(self, state: Any, shares: Shares) -> list[Any]:
        """What of it each shard has."""

    @abstractmethod
    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        """What the shards have together. Raises SnapshotError where they do not agree on what has to be the same."""


@dataclass(frozen=True, slots=True)
class Agreed(Form):
    """What is the same in all shards, such as how far all is known."""

    what: str

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return shares.copies(state)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        for number, state in enumerate(states):
            if state != states[0]:
                raise SnapshotError(
                    f"the states of the shards do not belong together: {self.what} is {states[0]} in shard 0, and {state} "
                    f"in shard {number}; bring all shards to the same watermark, and let all of them catch up, before their "
                    "states are taken"
                )
        return states[0]


@dataclass(frozen=True, slots=True)
class Alike(Form):
    """Rows that all shards have, in any order."""

    what: str

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return shares.copies(state)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        Agreed(self.what).unite([sorted(map(repr, state)) for state in states], shares)
        return states[0]


@dataclass(frozen=True, slots=True)
class Folded(Form):
    """A number of which each shard has a bound, that of all being the `best`: the greatest, say."""

    best: Callable[[Iterable[Any]], Any]

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return shares.copies(state)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        return self.best(states)


GREATEST: Final = Folded(max)
LEAST: Final = Folded(min)
EITHER: Final = Folded(any)


class Counted(Form):
    """A number that counts what was done: the first shard has what was done before."""

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return [state, *[0] * (shares.count - 1)]

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        return sum(states)


COUNTED: Final = Counted()


class First(Form):
    """What all shards have alike, though perhaps not in the same words: that of the first is as good as any."""

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return shares.copies(state)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        return states[0]


FIRST: Final = First()


@dataclass(frozen=True, slots=True)
class Fields(Form):
    """The parts of a state by name: all of them, so that none is forgotten; `more` are those that may be missing."""

    parts: Mapping[str, Form]
    more: Mapping[str, Form] = field(default_factory=dict)

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        self._check(state)
        divided = {name: self._form(name).divide(part, shares) for name, part in state.items()}
        return [{name: parts[i] for name, parts in divided.items()} for i in range(shares.count)]

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        for state in states:
            self._check(state)
        Agreed("which parts there are").unite([[*state] for state in states], shares)
        return {name: self._form(name).unite([state[name] for state in states], shares) for name in states[0]}

    def _form(self, name: str) -> Form:
        return self.parts[name] if name in self.parts else self.more[name]

    def _check(self, state: Mapping[str, Any]) -> None:
        odd = {*state} - {*self.more} ^ {*self.parts}
        if odd:
            raise SnapshotError(f"a state has parts of which no form is known, or lacks some: {', '.join(sorted(odd))}")


@dataclass(frozen=True, slots=True)
class Named(Form):
    """A state by names of which each shard may have others."""

    form: Callable[[str], Form]

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        divided = {name: self.form(name).divide(part, shares) for name, part in state.items()}
        return [{name: parts[i] for name, parts in divided.items()} for i in range(shares.count)]

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        found = {}
        for name in dict.fromkeys(name for state in states for name in state):
            empty = _emptied(next(state[name] for state in states if name in state))
            found[name] = self.form(name).unite([state.get(name, empty) for state in states], shares)
        return found


def _emptied(part: Any) -> Any:
    return [] if isinstance(part, list) else part


@dataclass(frozen=True, slots=True)
class Each(Form):
    """A list of so many parts, each with a form of its own."""

    parts: Sequence[Form]

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        divided = [form.divide(part, shares) for form, part in zip(self.parts, state, strict=True)]
        return [[parts[i] for parts in divided] for i in range(shares.count)]

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        return [form.unite(parts, shares) for form, *parts in zip(self.parts, *states, strict=True)]


@dataclass(frozen=True, slots=True)
class Every(Form):
    """A list of parts that have one form."""

    form: Form

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return Each([self.form] * len(state)).divide(state, shares)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        return Each([self.form] * len(states[0])).unite(states, shares)


@dataclass(frozen=True, slots=True)
class Perhaps(Form):
    """A part that may not be there: then it is in no shard."""

    form: Form

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return shares.copies(None) if state is None else self.form.divide(state, shares)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        there = [state is not None for state in states]
        Agreed("whether something is kept").unite(there, shares)
        return self.form.unite(states, shares) if there[0] else None


@dataclass(frozen=True, slots=True)
class Entries(Form):
    """A list of entries, each of which belongs to a key, or to all shards; `order` is that of its entries, if it has one.

    What belongs to all shards is put together as `every` says: what any of them has, or what the first has.
    """

    key: KeyOf
    order: Callable[[Any], Any] | None = None
    every: bool = True

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        keys = [self.key(entry) for entry in state]
        return [
            [entry for key, entry in zip(keys, state, strict=True) if shares.owns(shard, key)]
            for shard in range(shares.count)
        ]

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        found: list[Any] = []
        common: dict[str, Any] = {}
        for shard, state in enumerate(states):
            for entry in state:
                key = self.key(entry)
                if not isinstance(key, _Everybody):
                    found += [entry] if shares.owner(key) == shard else []
                elif shard == 0 or self.every:
                    common.setdefault(repr(entry), entry)
        found = [*common.values(), *found]
        return found if self.order is None else sorted(found, key=self.order)


def rows_at(place: Place, at: int | None = 0, order: int | None = None) -> Entries:
    """Entries with a row as their part `at`, or that are rows; in order of their part `order`, where there is one."""

    def key(entry: Any) -> Value | _Everybody:
        return EVERYBODY if place is None else place(entry if at is None else entry[at])

    return Entries(key, None if order is None else lambda entry: entry[order])


@dataclass(frozen=True, slots=True)
class Grouped(Form):
    """Entries with a list as their part `at`, which `inner` divides; entries with the same other parts are one.

    With `keeps`, an entry of which nothing is left in a shard is there all the same.
    """

    at: int
    inner: Form
    order: Callable[[Any], Any] | None = None
    keeps: bool = False

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        found: list[list[Any]] = [[] for _ in range(shares.count)]
        for entry in state:
            for shard, part in enumerate(self.inner.divide(entry[self.at], shares)):
                if part or self.keeps:
                    found[shard].append(self._with(entry, part))
        return found

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        groups: dict[str, Any] = {}
        parts: dict[str, list[Any]] = {}
        for shard, state in enumerate(states):
            for entry in state:
                name = repr(self._with(entry, None))
                groups.setdefault(name, entry)
                own = parts.setdefault(name, [[] for _ in states])
                own[shard] = [*own[shard], *entry[self.at]]
        found = [
            self._with(entry, part)
            for name, entry in groups.items()
            if (part := self.inner.unite(parts[name], shares)) or self.keeps
        ]
        return found if self.order is None else sorted(found, key=self.order)

    def _with(self, entry: Any, part: Any) -> Any:
        return [*entry[: self.at], part, *entry[self.at + 1 :]]


@dataclass(frozen=True, slots=True)
class Covered(Form):
    """Coverage: for each row its ranges, as `Coverage.snapshot` has it. Where all have it, what any of them knows holds."""

    place: Place

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return rows_at(self.place).divide(state, shares)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        if self.place is not None:
            return rows_at(self.place).unite(states, shares)
        return states[0] if all(state == states[0] for state in states) else self._merged(states)

    def _merged(self, states: Sequence[Any]) -> list[Any]:
        return _coverage((row, bounds[i], bounds[i + 1]) for state in states for row, bounds in state for i in _even(bounds))


@dataclass(frozen=True, slots=True)
class Pieced(Covered):
    """The same piece by piece, as `TimeIndex.snapshot` has it: rows, each with a begin and an end."""

    def _merged(self, states: Sequence[Any]) -> list[Any]:
        merged = _coverage((row, lo, hi) for state in states for row, lo, hi in state)
        return [[row, bounds[i], bounds[i + 1]] for row, bounds in merged for i in _even(bounds)]


def _coverage(facts: Iterable[tuple[Any, int, int]]) -> list[Any]:
    rows: dict[Any, list[int]] = {}
    for row, lo, hi in facts:
        merge(rows.setdefault(tuple(row), []), lo, hi, 1, tuple(row), [])
    return [[list(row), bounds] for row, bounds in rows.items()]


def _even(bounds: Sequence[int]) -> range:
    return range(0, len(bounds), 2)


@dataclass(frozen=True, slots=True)
class Best(Form):
    """Numbers of rows: rows that all shards have, of which each may know another number, have the `best`."""

    place: Place
    best: Callable[[Iterable[int]], int]

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return rows_at(self.place).divide(state, shares)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        if self.place is not None:
            return rows_at(self.place).unite(states, shares)
        found: dict[Any, list[Any]] = {}
        for state in states:
            for row, *numbers in state:
                found.setdefault(tuple(row), []).append(numbers)
        return [[list(row), *map(self.best, zip(*every, strict=True))] for row, every in found.items()]

"""Choosing: which of the ports that read a predicate a row concerns, found without asking each of them.

A join can do nothing with a row that has other constants than its atom names, as in `temp(S, c7, V)`, or that one of its
comparisons refuses, as in `temp(S, V), V > 70`. So such ports stand in tables: by the constants (the alpha network of Rete,
Forgy 1982), and in the order of their limits. A row costs what it concerns, however many rules there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Constant, Value, Variable

R = TypeVar("R", bound=Hashable)
Limit = tuple[int, str]
"""A column, and how its value is compared with a constant: `<`, `<=`, `>` or `>=`."""
_MIRRORED: Mapping[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Choice(ABC, Generic[R]):
    """Some of the readers of a predicate, of which a row concerns those that its values choose."""

    @abstractmethod
    def of(self, row: Row) -> Sequence[R]:
        """The readers that a row concerns."""

    def of_facts(self, facts: Sequence[Fact]) -> Iterator[tuple[R, list[Fact]]]:
        """The same for each of several facts: each reader with those that concern it."""
        chosen: dict[R, list[Fact]] = {}
        whole: Sequence[Any] = facts  # as in `Coverage.insert`
        for fact in whole:
            for reader in self.of(fact[0]):
                chosen.setdefault(reader, []).append(fact)
        yield from chosen.items()

    def of_notices(self, notices: Notices) -> Iterator[tuple[R, Notices]]:
        """The same for notices."""
        chosen: dict[R, Notices] = {}
        for fact in notices.ended:
            for reader in self.of(fact[0]):
                chosen.setdefault(reader, Notices()).ended.append(fact)
        for row, lo in notices.begun.items():
            for reader in self.of(row):
                chosen.setdefault(reader, Notices()).begin(row, lo)
        yield from chosen.items()


class ByConstants(Choice[R]):
    """Readers by the constants in their atoms, at the same columns.

    >>> by_constants = ByConstants((1,), [(("c7",), "seven"), (("c8",), "eight")])
    >>> by_constants.of(("a", "c7")), by_constants.of(("a", "c9"))
    (['seven'], ())
    """

    __slots__ = ("_key_of", "_readers")

    def __init__(self, columns: Sequence[int], readers: Sequence[tuple[tuple[Value, ...], R]]) -> None:
        self._key_of: Callable[[Row], Any] = itemgetter(*columns)
        self._readers: dict[Any, list[R]] = {}
        for values, reader in readers:
            self._readers.setdefault(values if len(values) > 1 else values[0], []).append(reader)

    def of(self, row: Row) -> Sequence[R]:
        return self._readers.get(self._key_of(row), ())

    def of_facts(self, facts: Sequence[Fact]) -> Iterator[tuple[R, list[Fact]]]:
        readers, key_of = self._readers, self._key_of
        chosen: dict[Any, list[Fact]] = {}
        whole: Sequence[Any] = facts
        for fact in whole:
            key = key_of(fact[0])
            if key in readers:
                chosen.setdefault(key, []).append(fact)
        for key, some in chosen.items():
            for reader in readers[key]:
                yield reader, some


class ByLimit(Choice[R]):
    """Readers by the constant with which their rules compare a column, all in the same way.

    Numbers and texts are not compared with each other: a value of the other kind passes no limit.

    >>> by_limit = ByLimit((0, ">"), [(70, "warm"), (95, "hot"), (70, "mild"), ("m", "late")])
    >>> [by_limit.of((value,)) for value in (70, 80, 96, "n")]
    [[], ['warm', 'mild'], ['warm', 'mild', 'hot'], ['late']]
    """

    __slots__ = ("_column", "_is_above", "_numbers", "_place", "_texts")

    def __init__(self, limit: Limit, readers: Sequence[tuple[Value, R]]) -> None:
        self._column, operator = limit
        self._is_above = operator in (">", ">=")  # then a value passes the limits before its place, else those behind it
        self._place: Callable[[Any, Any], int] = bisect_right if operator in (">=", "<") else bisect_left
        self._numbers = _sorted([(value, reader) for value, reader in readers if value.__class__ is not str])
        self._texts = _sorted([(value, reader) for value, reader in readers if value.__class__ is str])

    def of(self, row: Row) -> Sequence[R]:
        value = row[self._column]
        limits, readers = self._texts if value.__class__ is str else self._numbers
        place = self._place(limits, value)
        return readers[:place] if self._is_above else readers[place:]


def _sorted(readers: Sequence[tuple[Any, R]]) -> tuple[list[Any], list[R]]:
    """The limits in order, and who has them."""
    ordered = sorted(readers, key=itemgetter(0))
    return [value for value, _ in ordered], [reader for _, reader in ordered]


def constants_of(shape: object, atom: int) -> dict[int, Value]:
    """The constants in an atom of a join, by their positions; no other step has any."""
    if not isinstance(shape, JoinShape):
        return {}
    return {i: term.value for i, term in enumerate(shape.atoms[atom]) if isinstance(term, Constant)}


def limit_of(shape: object, atom: int) -> tuple[Limit, Value] | None:
    """A column of an atom that its rule compares with a constant, how, and with which; None where it does not.

    >>> from tidelog.plans.tree.syntax import Comparison
    >>> v = Variable("V")
    >>> limit_of(JoinShape((v,), ((v,),), (Comparison("<", Constant(70), v),)), 0)
    ((0, '>'), 70)
    """
    if not isinstance(shape, JoinShape):
        return None
    names = [term.name if isinstance(term, Variable) else None for term in shape.atoms[atom]]
    for comparison in shape.comparisons:
        left, right, operator = comparison.left, comparison.right, str(comparison.operator)
        if isinstance(left, Constant):
            left, right, operator = right, left, _MIRRORED.get(operator, "")
        if operator in _MIRRORED and isinstance(left, Variable) and isinstance(right, Constant) and left.name in names:
            return (names.index(left.name), operator), right.value
    return None

"""What a machine holds in place of what was asked for, and which rule assigned it when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG
from tidelog.plans.language.printing import format_term
from tidelog.plans.tree.declared.machines import NOTHING, assigned_of
from tidelog.plans.tree.syntax import Constant
from tidelog.runtime.why.evidence.clauses import Clause, Clauses
from tidelog.runtime.why.evidence.following import Follower
from tidelog.runtime.why.evidence.matching import TooManyRows, unified
from tidelog.runtime.why.evidence.model import Model
from tidelog.runtime.why.proofs.certificate import Writer


@dataclass(frozen=True, slots=True)
class Instead:
    """What is told of the key in place of a value; `since` is from when on another assignment would have been needed."""

    lines: tuple[str, ...]
    since: int


class Assignments:
    """Looks for what was assigned in place of a value."""

    def __init__(self, model: Model, clauses: Clauses, follower: Follower, writer: Writer) -> None:
        self._model = model
        self._clauses = clauses
        self._follower = follower
        self._writer = writer

    def is_machine(self, predicate: str) -> bool:
        """Whether rules assign to a predicate."""
        return bool(self._clauses.of(assigned_of(predicate)))

    def instead(self, predicate: str, row: Row, time: int) -> Instead:
        """What the machine holds at a time at which it does not hold a row."""
        key = row[:-1]
        shown = self._writer.atom(predicate, key)
        last = max((hi for lo, hi in self._model.ranges(predicate, row, NEG, time - 1, exact=False)), default=NEG)
        found = list(self._held(predicate, key, time))
        if found:
            told = [self._assigned(predicate, each, max(last, begin - 1), time) for each, begin in found]
            lines = [f"{shown} is {_value(each)}{by}" for (each, _), (by, _) in zip(found, told, strict=True)]
            return Instead(tuple(lines), max(at for _, at in told))
        by, at = self._assigned(predicate, (*key, NOTHING), self._left(predicate, key, time), time)
        if by:
            return Instead((f"{shown} has no value: {_value((NOTHING,))} was{by.removeprefix(',')}",), at)
        return Instead((f"{shown} has no value: nothing was assigned to it before",), NEG)

    def _rows(self, predicate: str, key: Row) -> Iterator[Row]:
        yield from self._model.matching(predicate, tuple(range(len(key))), key)

    def _held(self, predicate: str, key: Row, time: int) -> Iterator[tuple[Row, int]]:
        """What holds of a key at a time, and since when."""
        for row in self._rows(predicate, key):
            if self._model.ranges(predicate, row, time, time, exact=False):
                yield row, self._model.ranges(predicate, row, NEG, time, exact=False)[-1][0]

    def _left(self, predicate: str, key: Row, time: int) -> int:
        """When the last value of a key was lost."""
        ranges = (self._model.ranges(predicate, row, NEG, time - 1, exact=False) for row in self._rows(predicate, key))
        return max((each[-1][1] for each in ranges if each), default=NEG)

    def _assigned(self, predicate: str, row: Row, earliest: int, time: int) -> tuple[str, int]:
        """When a value was first assigned from a time on, and by which rule, as text; nothing where that is not known."""
        name = assigned_of(predicate)
        ranges = self._model.ranges(name, row, earliest, time - 1, exact=False)
        if not ranges:
            return "", earliest
        at = ranges[0][0]
        by = next((each for each in self._clauses.of(name) if self._derives(each, row, at)), None)
        line = f" in line {by.line}" if by is not None and by.line else ""
        rule = f" by the rule{line}: {by.text}" if by is not None else ""
        return f", assigned at {self._writer.times(at, at)}{rule}", at

    def _derives(self, clause: Clause, row: Row, time: int) -> bool:
        start = unified(clause.head.arguments, row, {})
        try:
            return start is not None and self._follower.failure(clause.body, start, time, time, anywhere=True) is None
        except TooManyRows:
            return False


def _value(row: Row) -> str:
    return f"`{format_term(Constant(row[-1]))}`"

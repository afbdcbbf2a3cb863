"""The measures of a predicate: which of its arguments are values over time, and which lines have a scale in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.data.facts import Fact, PredicateSchema, Row, format_constant
from tidelog.plans.explaining.showing.usage import Usage
from tidelog.plans.pictures.lanes import Threshold
from tidelog.plans.tree.syntax import Value

_KINDS = frozenset({"kind", "measure", "metric", "property", "quantity", "type", "unit"})
"""Fields that say of what a value is."""
_FLAT = 5
"""A line that takes less than this part of a scale is flat on it."""

Groups = dict[Row, list[Fact]]


@dataclass(frozen=True, slots=True)
class Scale:
    """Lines that have a scale in common: its name, and the facts of each line, of which the argument at `position` is the
    value. `thresholds` are the numbers that rules compare it with."""

    name: str
    position: int
    lines: Mapping[Row, Sequence[Fact]]
    thresholds: Sequence[Threshold]


class Measures:
    """What of a predicate's facts, which come in the order of their begins, is a value over time."""

    def __init__(self, predicate: str, facts: Sequence[Fact], known: PredicateSchema | None, usage: Usage) -> None:
        self._predicate, self._facts, self._usage = predicate, facts, usage
        self._fields = known.fields if known is not None else ()
        self._types = known.types if known is not None else ()
        self.positions = self._positions()
        """The arguments that are values; none where lines would say nothing."""

    def scales(self, most: int) -> Iterator[Scale]:
        """A scale for each value; and for each measure, where another argument says of what the value is (`_kind`)."""
        for position in self.positions:
            kind = self._kind(position, most)
            told = () if kind is None else (kind,)
            measures = _grouped(self._facts, told)
            for measure in sorted(measures, key=name_of):
                lines = _grouped(measures[measure], self._beside({*self.positions, *told}))
                yield Scale(self._title(position, measure), position, lines, self._thresholds(position, kind, measure))

    def _positions(self) -> Sequence[int]:
        """The last argument, if it is a number that changes; and other numbers that rules order by size or reckon with, or
        that have fractions, where no two rows of the rest begin at once."""
        last = len(self._facts[0][0]) - 1 if self._facts else -1
        if last < 0 or not self._is_number(last):
            return ()
        several = [i for i in range(last) if self._is_number(i) and self._is_measured(i)] + [last]
        rows = self._rows(several)
        one_at_once = all(len({lo for _, lo, _ in facts}) == len(facts) for facts in rows.values())
        found = _changing(rows, several) if one_at_once else []
        found = found or _changing(self._rows([last]), [last])
        return sorted({*found, last}) if found else ()

    def _rows(self, hidden: Collection[int]) -> Groups:
        return _grouped(self._facts, self._beside(hidden))

    def _beside(self, hidden: Collection[int]) -> list[int]:
        return [i for i in range(len(self._facts[0][0])) if i not in hidden]

    def _is_number(self, position: int) -> bool:
        """Whether an argument is a number in all rows, which all have so many arguments."""
        if position < len(self._types) and self._types[position] not in ("number", "integer", "any"):
            return False
        width = len(self._facts[0][0])
        return all(len(row) == width and not isinstance(row[position], str) for row, _, _ in self._facts)

    def _is_measured(self, position: int) -> bool:
        if (self._predicate, position) in self._usage.measured:
            return True
        return any(isinstance(row[position], float) and row[position] % 1 for row, _, _ in self._facts)

    def _kind(self, position: int, most: int) -> int | None:
        """Which argument says of what a value is: one whose field is called `kind`, or like that; one that has a constant in
        a rule that compares the value with a number; or, of two and more, one without which a line would be flat."""
        others = self._beside(self.positions)
        groups = {i: _grouped(self._facts, [i]) for i in others}
        several = [i for i in others if len(groups[i]) > 1]
        named = [i for i in several if i < len(self._fields) and self._fields[i].lower() in _KINDS]
        limits = self._usage.limits.get((self._predicate, position), ())
        compared = [i for i in several if any(i == place for limit in limits for place, _ in limit.where)]
        tried = several if len(others) > 1 else compared  # a single one says whose value it is
        flat = [i for i in tried if len(groups[i]) <= most and _has_flat(groups[i].values(), position)]
        return next(iter([*named, *(i for i in compared if i in flat), *compared, *flat]), None)

    def _title(self, position: int, measure: Row) -> str:
        name = " ".join([self._predicate, *map(format_constant, measure)])
        return f"{name}: {self._fields[position]}" if position < len(self._fields) else name

    def _thresholds(self, position: int, kind: int | None, measure: Row) -> list[Threshold]:
        limits = self._usage.limits.get((self._predicate, position), ())
        fitting = (limit for limit in limits if all(i != kind or (value,) == measure for i, value in limit.where))
        return list(dict.fromkeys(limit.threshold for limit in fitting))


def name_of(key: Row) -> str:
    """What a line or a measure is called."""
    return ", ".join(map(format_constant, key))


def _grouped(facts: Iterable[Fact], arguments: Sequence[int]) -> Groups:
    """The facts by these arguments of their rows."""
    found: Groups = {}
    for fact in facts:
        found.setdefault(tuple(fact[0][i] for i in arguments), []).append(fact)
    return found


def _changing(rows: Groups, positions: Sequence[int]) -> list[int]:
    """The arguments that are not always the same in some row of the others."""
    return [i for i in positions if any(len(_values(facts, i)) > 1 for facts in rows.values())]


def _values(facts: Iterable[Fact], position: int) -> set[Value]:
    return {row[position] for row, _, _ in facts}


def _has_flat(groups: Iterable[Sequence[Fact]], position: int) -> bool:
    """Whether the values of one group, which do change, take a small part of the scale of all."""
    ends = [(min(values), max(values)) for values in (_numbers(facts, position) for facts in groups)]
    whole = max(high for _, high in ends) - min(low for low, _ in ends)
    return any(0 < (high - low) * _FLAT < whole for low, high in ends)


def _numbers(facts: Iterable[Fact], position: int) -> list[float]:
    return [float(value) for row, _, _ in facts if not isinstance(value := row[position], str)]

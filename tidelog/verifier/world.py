"""What is known of rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.plans.tree.syntax import Aggregate, Atom, Constant, Formula, Value, Wildcard
from tidelog.verifier.terms import ANY, Row
from tidelog.verifier.times import Times, complement, union


@dataclass
class World:
    """What is known of rows: when they hold, and, where not everything is known (`is_open`), what is absent
    (a formula, when, and the values of the time variables left in it), and the values of aggregates."""

    is_open: bool
    held: dict[str, dict[Row, Times]] = field(default_factory=dict)
    absent: list[tuple[Formula, Times, dict[str, Value]]] = field(default_factory=list)
    totals: list[tuple[Aggregate, Value | None, Times]] = field(default_factory=list)
    indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = field(default_factory=dict)

    def add(self, predicate: str, row: Row, times: Times) -> bool:
        """Let a row hold; whether that is news."""
        rows = self.held.setdefault(predicate, {})
        if row not in rows:
            for (name, columns), index in self.indexes.items():
                if name == predicate and max(columns, default=-1) < len(row):
                    index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        before = rows.get(row, [])
        rows[row] = union([*before, *times])
        return rows[row] != before

    def rows(self, predicate: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        """The rows that have these values in these columns."""
        index = self.indexes.get((predicate, columns))
        if index is None:
            index = self.indexes[predicate, columns] = {}
            for row in self.held.get(predicate, {}):
                if max(columns, default=-1) < len(row):
                    index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        return list(index.get(key, ()))

    def times(self, predicate: str, row: Row, *, least: bool) -> Times:
        """When a row surely holds (`least`), or when it may."""
        if least or not self.is_open:
            return self.held.get(predicate, {}).get(row, [])
        gone = [times for formula, times, _ in self.absent if isinstance(formula, Atom) and _denies(formula, predicate, row)]
        return complement(union(stretch for times in gone for stretch in times))


def _denies(absent: Atom, predicate: str, row: Row) -> bool:
    """Whether the absence of an atom is that of a row."""
    return (
        absent.predicate == predicate
        and len(absent.arguments) == len(row)
        and all(
            isinstance(term, Wildcard) or (value != ANY and term == Constant(value))
            for term, value in zip(absent.arguments, row, strict=True)
        )
    )

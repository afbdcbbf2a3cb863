"""Answers of outputs that name their arguments, as objects: `{"alarm":{"room":"hall"},"begins":3}`."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tidelog.plans.data.facts import PredicateSchema, Row, Schema
from tidelog.plans.tree.syntax import Value

_MEMBERS = frozenset(["predicate", "args", "time", "interval", "begins", "ends", "retract", "retracted", "because", "id"])
"""What else a line may have: an output of such a name is written with `predicate` and `args`."""


def names_of(schema: Schema) -> dict[str, Names]:
    """How the outputs are written that name their arguments."""
    return {name: Names.of(known) for name, known in schema.predicates.items() if known.is_named and name not in _MEMBERS}


@dataclass(frozen=True, slots=True)
class Names:
    """How one output is written."""

    fields: tuple[str, ...]
    booleans: frozenset[int]
    """The places of arguments that are truth values."""

    @classmethod
    def of(cls, known: PredicateSchema) -> Names:
        """Those of an output that names its arguments."""
        return cls(known.fields, frozenset(i for i, kind in enumerate(known.types) if kind == "boolean"))

    def values(self, row: Row) -> Row:
        """The arguments; truth values are those of JSON."""
        if not self.booleans:
            return row
        return tuple(
            value == "true" if place in self.booleans and value in ("true", "false") else value
            for place, value in enumerate(row)
        )

    def arguments(self, row: Row) -> dict[str, Value]:
        """The arguments by name."""
        return dict(zip(self.fields, self.values(row), strict=False))

    def line(self, plain: msgspec.Struct) -> dict[str, object]:
        """A line with `predicate` and `args` as one that names the arguments; its other members stay."""
        members = msgspec.structs.asdict(plain)
        head = {str(members.pop("predicate")): self.arguments(members.pop("args"))}
        return {**head, **{name: value for name, value in members.items() if value is not msgspec.UNSET}}

"""A fact's arguments as columns: texts of JSON, or a struct where their fields are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tidelog.connectors.outbox.file import OutboxPredicate
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.frames.exact import typed

TYPES = ("text", "number", "integer", "boolean", "any")
"""What a field may be; what may be `any` is kept as a text of JSON."""

_DECLARATION = re.compile(r"\s*(?:'([^']+)'|([^\s('\"]+))\s*\((.*)\)\s*\Z", re.DOTALL)
_FIELD = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::\s*(\w+)\s*)?\Z", re.ASCII)

_decode_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_values = msgspec.json.Decoder(list[Any]).decode


@dataclass(frozen=True, slots=True)
class ArgumentColumn:
    """How the arguments of one predicate become a column; without fields they are an array of JSON texts.

    `fields` and `types` are as a program declares them. Plain data: it can be sent elsewhere.
    """

    fields: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def converter(self) -> Callable[[str], Any]:
        """From the JSON array of a fact to the column's value.

        The converter raises ConnectorError where an argument is not of its declared type.
        """
        if not self.fields:
            return lambda text: [bytes(raw).decode() for raw in _decode_texts(text)]
        return self._struct

    def _struct(self, text: str) -> dict[str, Any]:
        values = _decode_values(text)
        if len(values) != len(self.fields):
            raise ConnectorError(f"expected {len(self.fields)} arguments, got {shorten(text)}")
        triples = zip(self.fields, self.types, values, strict=True)
        return {name: typed(name, kind, value) for name, kind, value in triples}


PLAIN = ArgumentColumn()
"""Arguments of any predicate."""


def column_of(predicate: OutboxPredicate) -> ArgumentColumn:
    """The column of a predicate, by what its program declares."""
    return ArgumentColumn(predicate.fields, predicate.types) if predicate.fields else PLAIN


def parse_fields(text: str) -> ArgumentColumn:
    """The column that a user declares, such as `sensor: text, value: number`; SpecError if it is not of that form.

    >>> parse_fields("sensor: text, value: number").types
    ('text', 'number')
    """
    fields, types = [], []
    for part in text.split(","):
        match = _FIELD.match(part)
        if match is None:
            raise SpecError(f"expected fields such as `sensor: text, value: number`, got `{shorten(part.strip())}`")
        kind = match[2] or "any"
        if kind not in TYPES:
            raise SpecError(f"`{shorten(kind)}` is no type: {', '.join(TYPES)}")
        if match[1] in fields:
            raise SpecError(f"field `{match[1]}` is there twice")
        fields.append(match[1])
        types.append(kind)
    return ArgumentColumn(tuple(fields), tuple(types))


def parse_declaration(text: str) -> tuple[str, ArgumentColumn]:
    """A predicate and the fields that a user declares for it; SpecError if it is not of that form.

    >>> parse_declaration("hot(sensor: text, value: number)")
    ('hot', ArgumentColumn(fields=('sensor', 'value'), types=('text', 'number')))
    """
    match = _DECLARATION.match(text)
    if match is None:
        raise SpecError(f"expected fields such as `hot(sensor: text, value: number)`, got `{shorten(text)}`")
    return match[1] or match[2], parse_fields(match[3])


def agreed(predicate: str, columns: Sequence[ArgumentColumn]) -> ArgumentColumn:
    """The column that several outboxes agree on for a predicate; SpecError where they do not."""
    first, *others = columns
    for other in others:
        if other != first:
            raise SpecError(f"the gateways do not agree on the fields of `{predicate}`: {shown(first)} and {shown(other)}")
    return first


def shown(column: ArgumentColumn) -> str:
    """The fields of a column, as people declare them."""
    if not column.fields:
        return "none"
    return "(" + ", ".join(f"{name}: {kind}" for name, kind in zip(column.fields, column.types, strict=True)) + ")"

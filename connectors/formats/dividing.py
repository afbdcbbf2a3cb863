"""One source, many devices: a decoder that says of each fact which device it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.lines import LineFramer
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.runtime.ports.interfaces import Batch


class DividingDecoder:
    """Decodes as another decoder does, and names the part of each fact: the value of a field of its predicate.

    A fact of a predicate without this field belongs to the source as a whole.
    """

    def __init__(self, decoder: Decoder, positions: Mapping[str, int]) -> None:
        self.name = decoder.name
        self.header = decoder.header
        self._decoder = decoder
        self._positions = positions

    @property
    def framer(self) -> Callable[[str, int], LineFramer]:
        """What cuts the bytes of the other decoder's format into records."""
        return self._decoder.framer

    def for_stream(self, name: str) -> DividingDecoder:
        """The same for another stream."""
        return DividingDecoder(self._decoder.for_stream(name), self._positions)

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        """The facts of these lines, each with its part; raises what the decoder raises."""
        batch = self._decoder.decode(lines, first_line)
        self.header = self._decoder.header
        positions = self._positions
        batch.parts = [row[positions[name]] if name in positions else None for name, row, _, _ in batch.records]
        return batch


def positions_of(field: str, schema: Schema, predicate: str | None, spec: str) -> dict[str, int]:
    """Where the field stands in the rows of each input that has it; SpecError where none has."""
    inputs = [item for item in schema.predicates.values() if item.accepts_input and predicate in (None, item.name)]
    positions = {item.name: item.fields.index(field) for item in inputs if field in item.fields}
    if positions:
        return positions
    known = {name for item in inputs for name in item.fields}
    if not known:
        raise SpecError(f"`{spec}`: `by` needs inputs with fields: declare them, such as `input temp({field}, value).`")
    raise SpecError(f"`{spec}`: no input has a field `{field}`{suggest(field, known)}")

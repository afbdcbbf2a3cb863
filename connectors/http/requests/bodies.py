"""The body of a request to facts: JSON lines, a JSON array, or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio.lowlevel
import msgspec

from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.connectors.http.watching.ingest import Posted, Ticket
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Batch

BodyKind = Literal["jsonl", "json", "csv"]
NAME = "http"
"""What places begin with: `http:3` is line 3, or of an array the third element."""
_CHUNK, _ELEMENTS = 1 << 16, 500
"""So many bytes, or elements, are read before other tasks get their turn."""
_KINDS: dict[str, BodyKind] = {
    "text/csv": "csv",
    "application/x-ndjson": "jsonl",
    "application/ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/jsonlines": "jsonl",
}
_TOLD_BY_TEXT = ("", "application/json", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream")
"""Types of which the text tells what it is; some are what clients say if they are not told what to say."""
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def kind_of(content_type: str, body: bytes) -> BodyKind | None:
    """What a body holds; None for a type that is none of facts.

    >>> kind_of("text/csv; charset=utf-8", b""), kind_of("", b' [{"a":1}]'), kind_of("image/png", b"")
    ('csv', 'json', None)
    """
    name = content_type.partition(";")[0].strip().lower()
    if name in _TOLD_BY_TEXT:
        return "json" if body.lstrip()[:1] == b"[" else "jsonl"
    return _KINDS.get(name)


@dataclass(slots=True)
class BodyDecoder:
    """Reads bodies; what one has cached serves the next. A line longer than `max_line` bytes is refused."""

    schema: Schema
    max_line: int
    _json: JsonDecoder | None = None

    async def read(self, body: bytes, kind: BodyKind, predicate: str | None) -> Posted:
        """The facts of a body, with what could not be read; DataError where nothing of it can be understood."""
        batch = Posted(places=[], ticket=Ticket())
        parts = self._array(body, predicate) if kind == "json" else self._lines(body, self._decoder(kind, predicate))
        for part in parts:
            batch.records += part.records
            batch.rejected += part.rejected
            batch.places = [*(batch.places or ()), *(part.places or ())]
            await anyio.lowlevel.checkpoint()
        batch.count = len(batch.records)
        return batch

    def _decoder(self, kind: BodyKind, predicate: str | None) -> Decoder:
        if kind == "csv":
            if predicate is None:
                raise DataError("CSV does not say which predicate its rows are: append `?predicate=NAME` to the address")
            return CsvDecoder(self.schema, NAME, predicate)
        if predicate is not None:
            return JsonDecoder(self.schema, NAME, predicate)
        self._json = self._json or JsonDecoder(self.schema, NAME)
        return self._json

    def _lines(self, body: bytes, decoder: Decoder) -> Iterator[Batch]:
        reader = LineReader(decoder, self.max_line, goes_on=True)
        for start in range(0, len(body), _CHUNK):
            yield reader.feed(body[start : start + _CHUNK])
        yield reader.finish()

    def _array(self, body: bytes, predicate: str | None) -> Iterator[Batch]:
        try:
            elements: Sequence[bytes] = [bytes(element) for element in _elements(body)]
        except RecursionError:
            raise DataError("not a JSON array: nested too deeply") from None
        except msgspec.MsgspecError as error:
            raise DataError(f"not a JSON array: {str(error)[:1].lower()}{str(error)[1:]}") from None
        decoder = self._decoder("json", predicate)
        for start in range(0, len(elements), _ELEMENTS):
            yield decoder.decode(elements[start : start + _ELEMENTS], start + 1)

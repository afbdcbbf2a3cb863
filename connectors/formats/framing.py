"""Bytes to batches: what every transport does with the chunks that it receives."""

from __future__ import annotations

from typing import Any

from tidelog.connectors.formats.decoding import Decoder, RefusingDecoder
from tidelog.connectors.formats.lines import MAX_LINE, RAW_LIMIT, Lines
from tidelog.plans.data.saved import Saved, read_saved
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Batch, Rejected

__all__ = ["MAX_LINE", "LineReader", "is_empty"]


class _State(Saved):
    """Where a reader stands between two chunks."""

    framer: dict[str, Any]
    header: bytes | None


class LineReader:
    """One stream from its bytes to its batches: a framer and a decoder. Raises what the decoder raises.

    With `goes_on`, a stream of which nothing can be understood is no error: each of its lines is rejected for that reason.
    """

    def __init__(self, decoder: Decoder, max_line: int = MAX_LINE, *, goes_on: bool = False) -> None:
        self._decoder = decoder
        self._goes_on = goes_on
        self._framer = decoder.framer(decoder.name, max_line)

    def feed(self, chunk: bytes) -> Batch:
        """What this chunk completes."""
        return self._decode(self._framer.push(chunk))

    def finish(self) -> Batch:
        """What is left at the end of the stream."""
        return self._decode(self._framer.finish())

    def abandon(self, reason: str = "connection lost before the line's end") -> Batch:
        """What is left where the stream broke: the beginning of a line is rejected, since its end is lost."""
        tail, place = self._framer.tail, self._framer.place
        self._framer.finish()
        return Batch(rejected=[Rejected(place, reason, tail[:RAW_LIMIT])] if tail else [])

    def snapshot(self) -> dict[str, Any]:
        """The state between two chunks, as plain data."""
        return {"framer": self._framer.snapshot(), "header": self._decoder.header}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue, with a decoder that has read nothing yet, where a snapshot was taken.

        SnapshotError where it is none, and DataError where its header is wrong.
        """
        state = read_saved(data, _State)
        if state.header is not None:
            self._decoder.decode([state.header], 1)
        self._framer.restore(state.framer)

    def start_behind(self, header: bytes | None) -> None:
        """Begin in the middle of a file, at the beginning of a record, with a decoder that has read nothing yet.

        DataError where the header is wrong.
        """
        if header is not None:
            self._decoder.decode([header], 1)
        self._framer.start_at(2)

    @property
    def spans_lines(self) -> bool:
        """Whether there has been a line end within a record so far."""
        return self._framer.spans_lines

    def _decode(self, framed: Lines) -> Batch:
        try:
            batch = self._decoder.decode(framed.lines, framed.first)
        except DataError as error:
            if not self._goes_on:
                raise
            self._decoder = RefusingDecoder(self._decoder.name, error.reason)
            batch = self._decoder.decode(framed.lines, framed.first)
        batch.rejected[:0] = framed.rejected
        return batch


def is_empty(batch: Batch) -> bool:
    """Whether a batch says nothing at all."""
    return not (batch.records or batch.rejected or batch.retractions) and batch.watermark is None

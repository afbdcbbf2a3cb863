"""Bytes to CSV records, as RFC 4180 has them: a quoted field may hold line ends, and then its record has several lines.

Where a field is quoted is told as the standard library's reader tells it: a quote opens a field if nothing but spaces stands
before it there, and closes it unless it is doubled. What stands in an open field is never taken for a record, however long
the field is, and wherever chunks are cut.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec

from tidelog.connectors.formats.lines import BOM, MAX_LINE, LineFramer, Lines
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.runtime.ports.interfaces import Rejected

_NEW, _START, _BARE, _QUOTED, _CLOSING = range(5)
"""Where a text ends: before anything, at a field's start, in a field without quotes, in quotes, behind a quote in quotes."""
_QUOTE, _NEWLINE, _SPACE = ord('"'), ord("\n"), ord(" ")


class _Quotes(Saved):
    state: Annotated[int, msgspec.Meta(ge=_NEW, le=_CLOSING)]
    scanned: Natural
    began: Natural


class _Saved(Saved):
    lines: dict[str, Any]
    quotes: _Quotes


class _Patterns(NamedTuple):
    """What ends a field, and a whole record with its newline."""

    field_end: re.Pattern[bytes]
    record: re.Pattern[bytes]


@lru_cache(maxsize=8)
def _patterns(separator: str) -> _Patterns:
    border = re.escape(separator).encode()
    field = rb' *+(?:"[^"]*+(?:""[^"]*+)*+"[^%b\n]*+|(?!")[^%b\n]*+)' % (border, border)
    return _Patterns(re.compile(rb"[%b\n]" % border), re.compile(field + rb"(?:%b" % border + field + rb")*+\n"))


class CsvFramer(LineFramer):
    """Splits chunks into records, whatever the chunks' borders. At most `max_line` bytes wait for the end of their record.

    A longer record is rejected once, and what follows of it is passed over without being kept, as far as its end: where its
    quoted field has none, everything is, and that is told at the stream's end.
    """

    what = "record"
    _mark = b""  # it is gone before anything is scanned

    def __init__(self, name: str, max_line: int = MAX_LINE, separator: str = ",") -> None:
        super().__init__(name, max_line)
        self._patterns = _patterns(separator)
        self._state = _NEW
        self._scanned = 0  # so much of the tail is what the state speaks of: nothing of one that has no quotes
        self._began = 0

    def push(self, chunk: bytes) -> Lines:
        if self._state == _NEW:
            chunk = self._without_mark(chunk)
        if self._is_skipping:
            chunk = self._skip(chunk)
        if not self._scanned and b'"' not in chunk:
            return super().push(chunk)
        self._tail += chunk
        end, state = _scan(self._tail, self._scanned, self._state, self._patterns)
        if end >= 0:
            return self._cut(bytes(self._tail))
        self._scanned, self._state = len(self._tail), state
        self.spans_lines = self.spans_lines or b"\n" in chunk
        return self._grow(b"")

    def finish(self) -> Lines:
        framed = super().finish()
        if self._is_skipping and self._state == _QUOTED:
            reason = f"a quoted field has no end: all that follows, as far as line {self._next - 1}, was passed over"
            framed.rejected.append(Rejected(f"{self._name}:{self._began}", reason, b""))
        return framed

    def start_at(self, line: int) -> None:
        super().start_at(line)
        self._state = _START

    def snapshot(self) -> dict[str, Any]:
        quotes = {"state": self._state, "scanned": self._scanned, "began": self._began}
        return {"lines": super().snapshot(), "quotes": quotes}

    def restore(self, data: dict[str, Any]) -> None:
        saved = read_saved(data, _Saved)
        super().restore(saved.lines)
        quotes = saved.quotes
        if quotes.scanned > len(self._tail):
            raise SnapshotError("the snapshot is damaged: more was scanned than there is")
        self._state, self._scanned, self._began = quotes.state, quotes.scanned, quotes.began

    def _without_mark(self, chunk: bytes) -> bytes:
        """The stream's beginning without its byte order mark, once enough of it has come to tell."""
        text = self.tail + chunk
        if len(text) < len(BOM) and BOM.startswith(text):
            self._tail[:] = text
            return b""
        self._tail.clear()
        self._state = _START
        return text.removeprefix(BOM)

    def _cut(self, text: bytes) -> Lines:
        """The records of this text, of which the first one's end has come."""
        records: list[bytes] = []
        begin, at, state = 0, self._scanned, self._state
        while True:
            if at == begin:
                begin = at = _cut_plain(text, begin, records)
            whole = self._patterns.record.match(text, begin) if at == begin else None
            end, state = (whole.end() - 1, _START) if whole else _scan(text, at, state, self._patterns)
            if end < 0:
                break
            self._append(records, text[begin:end])
            begin = at = end + 1
        self._tail = bytearray(text[begin:])
        self._scanned, self._state = (len(self._tail), state) if b'"' in self._tail else (0, _START)
        self.spans_lines = self.spans_lines or b"\n" in self._tail
        framed = self._take(records, text)
        framed.rejected += self._grow(b"").rejected
        return framed

    def _append(self, records: list[bytes], record: bytes) -> None:
        records.append(record)
        further = record.count(b"\n")
        if further:
            self.spans_lines = True
            records += [b""] * further

    def _pass_over(self) -> None:
        _, self._state = _scan(self._tail, self._scanned, self._state, self._patterns)
        self._scanned = 0
        self._began = self._next
        self._next += self._tail.count(b"\n")
        super()._pass_over()

    def _skip(self, chunk: bytes) -> bytes:
        """The part of a chunk behind the record that is passed over."""
        end, self._state = _scan(chunk, 0, self._state, self._patterns)
        self._is_skipping = end < 0
        passed = len(chunk) if end < 0 else end
        further = chunk.count(b"\n", 0, passed)
        self._next += further
        self.spans_lines = self.spans_lines or further > 0
        return chunk[passed + 1 :]


def _cut_plain(text: bytes, begin: int, records: list[bytes]) -> int:
    """Append the lines before the next one with a quote, and return where that one begins."""
    quote = text.find(b'"', begin)
    newline = text.rfind(b"\n", begin, quote if quote >= 0 else len(text))
    if newline < 0:
        return begin
    records += text[begin:newline].split(b"\n")
    return newline + 1


def _scan(text: bytes | bytearray, at: int, state: int, patterns: _Patterns) -> tuple[int, int]:
    """Which newline ends the record, or -1, and the new state; the record's text before `at` has led to `state`."""
    while at < len(text):
        if state == _QUOTED:
            quote = text.find(b'"', at)
            if quote < 0:
                break
            at, state = quote + 1, _CLOSING
        elif state == _BARE:
            end = patterns.field_end.search(text, at)
            if end is None:
                break
            if text[end.start()] == _NEWLINE:
                return end.start(), _START
            at, state = end.end(), _START
        elif text[at] == _QUOTE:
            at, state = at + 1, _QUOTED
        elif state == _START and text[at] == _SPACE:
            at += 1
        else:
            state = _BARE
    return -1, state

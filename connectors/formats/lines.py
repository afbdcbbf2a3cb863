"""Bytes to lines: what comes first of what a transport receives, in formats whose records are lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.runtime.ports.interfaces import Rejected

MAX_LINE = 1 << 20
"""The longest line (bytes, without its newline) that is read unless told otherwise."""
RAW_LIMIT = 500
"""How many bytes of a rejected record are kept."""
BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Lines:
    """Complete records without the newlines at their ends; `first` is the number of the first one's line.

    A record of one line is one entry. One of more is an entry, too, and each of its further lines an empty entry behind it,
    so that an entry's index tells its line. A refused record is left empty.
    """

    lines: list[bytes]
    first: int
    rejected: list[Rejected] = field(default_factory=list)


class _State(Saved):
    """What a framer keeps between two chunks."""

    tail: bytes
    next: Natural
    skipping: bool


class LineFramer:
    """Splits chunks into lines, whatever the chunks' borders. At most `max_line` bytes wait for their newline.

    A longer line is rejected once, and what follows of it is passed over without being kept. CRLF ends a line as LF
    does, a last line needs neither, and a UTF-8 byte order mark before the first line is dropped.
    """

    what = "line"
    """What a record is called in messages."""
    _mark = BOM
    spans_lines = False
    """Whether there has been a line end within a record so far."""

    def __init__(self, name: str, max_line: int = MAX_LINE) -> None:
        self._name = name
        self._max_line = max_line
        self._tail = bytearray()
        self._next = 1
        self._is_skipping = False

    @property
    def tail(self) -> bytes:
        """What has come of a record whose end has not."""
        return bytes(self._tail)

    @property
    def is_between(self) -> bool:
        """Whether what comes next is the beginning of a record."""
        return not self._tail and not self._is_skipping

    @property
    def next(self) -> int:
        """The number of the line in which the record stands whose end has not come, or the next one."""
        return self._next

    @property
    def place(self) -> str:
        """`name:line` of the record whose end has not come."""
        return f"{self._name}:{self._next}"

    def push(self, chunk: bytes) -> Lines:
        """The records that this chunk completes."""
        if self._is_skipping:
            _, newline, chunk = chunk.partition(b"\n")
            self._is_skipping = not newline
        if b"\n" not in chunk:
            return self._grow(chunk)
        text = bytes(self._tail) + chunk if self._tail else chunk
        self._tail = bytearray()
        lines = text.split(b"\n")
        last = lines.pop()
        framed = self._take(lines, text)
        framed.rejected += self._grow(last).rejected
        return framed

    def finish(self) -> Lines:
        """The last record, if it has no newline."""
        text = self.tail
        self._tail = bytearray()
        return self._take([text] if text else [], text)

    def start_at(self, line: int) -> None:
        """Begin in the middle of a file: the first line has this number."""
        self._next = line

    def snapshot(self) -> dict[str, Any]:
        """What it keeps between two chunks, as plain data."""
        return {"tail": self.tail, "next": self._next, "skipping": self._is_skipping}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken; SnapshotError where it is none."""
        state = read_saved(data, _State)
        self._tail, self._next, self._is_skipping = bytearray(state.tail), state.next, state.skipping

    def _grow(self, chunk: bytes) -> Lines:
        """Keep the beginning of a record, or refuse it once it is too long."""
        framed = Lines([], self._next)
        self._tail += chunk
        if len(self._tail) > self._max_line:
            framed.rejected.append(self._refuse(self._next, self.tail))
            self._pass_over()
        return framed

    def _pass_over(self) -> None:
        """Keep nothing of the record whose beginning has come, nor of what follows of it."""
        self._tail = bytearray()
        self._next += 1
        self._is_skipping = True

    def _take(self, lines: list[bytes], text: bytes) -> Lines:
        """Complete lines and the text that they come from: what the text has not, no line has."""
        framed = Lines(lines, self._next)
        if len(text) > self._max_line:
            self._refuse_long_ones(framed)
        if b"\r" in text:
            lines[:] = [line.removesuffix(b"\r") for line in lines]
        if self._next == 1 and lines:
            lines[0] = lines[0].removeprefix(self._mark)
        self._next += len(lines)
        return framed

    def _refuse_long_ones(self, framed: Lines) -> None:
        for index, line in enumerate(framed.lines):
            if len(line) > self._max_line:
                framed.rejected.append(self._refuse(framed.first + index, line))
                framed.lines[index] = b""

    def _refuse(self, number: int, line: bytes) -> Rejected:
        return Rejected(f"{self._name}:{number}", f"{self.what} is longer than {self._max_line} bytes", line[:RAW_LIMIT])

"""Lines on their way out: kept until they are taken, so that a sink that broke goes on from where it stopped."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

_CHUNK = 2048
"""Up to how many bytes a chunk grows by what is appended: few chunks, though answers come one by one."""
_MARKED = 1 << 16
"""After how many bytes that have gone it is noted how many lines they were."""


class _Chunk(NamedTuple):
    """Whole lines: the offset at which they begin, how many lines went before, and their bytes."""

    begin: int
    before: int
    data: bytes

    @property
    def end(self) -> int:
        return self.begin + len(self.data)


class Backlog:
    """A stream of lines, addressed by offsets from its beginning, of which only what has not been taken is kept.

    Of lines that have gone it knows how many they were, in steps of 64 KiB, for the last `memory` bytes.

    >>> backlog = Backlog(memory=100)
    >>> backlog.append(b"one\\ntwo\\n")
    >>> bytes(backlog.since(2)), backlog.line_start(6), backlog.lines(2, 6)
    (b'e\\ntwo\\n', 4, 1)
    """

    def __init__(self, memory: int) -> None:
        self.end = 0
        self._lines = 0
        self._memory = memory
        self._chunks: deque[_Chunk] = deque()
        self._marks: deque[tuple[int, int]] = deque([(0, 0)])

    def append(self, data: bytes) -> None:
        """Take whole lines."""
        if not data:
            return
        if self._chunks and len(self._chunks[-1].data) + len(data) <= _CHUNK:
            last = self._chunks.pop()
            self._chunks.append(last._replace(data=last.data + data))
        else:
            self._chunks.append(_Chunk(self.end, self._lines, data))
        self.end += len(data)
        self._lines += data.count(b"\n")

    def since(self, offset: int) -> memoryview:
        """All bytes from this offset on, which have not been taken."""
        parts: list[bytes] = []
        for chunk in reversed(self._chunks):
            if chunk.end <= offset:
                break
            parts.append(chunk.data[max(0, offset - chunk.begin) :])
        return memoryview(parts[0] if len(parts) == 1 else b"".join(reversed(parts)))

    def take(self, offset: int) -> None:
        """All bytes before this offset have been taken."""
        while self._chunks and self._chunks[0].end <= offset:
            gone = self._chunks.popleft()
            if gone.begin - self._marks[-1][0] >= _MARKED:
                self._marks.append((gone.begin, gone.before))
        while len(self._marks) > 1 and self._marks[1][0] <= offset - self._memory:
            self._marks.popleft()

    def mark(self, offset: int) -> None:
        """Remember how many lines there are before this offset, also once they have gone."""
        if offset > self._marks[-1][0]:
            self._marks.append((offset, self._lines_before(offset)))

    def line_start(self, offset: int) -> int:
        """Where the line begins of which this offset is a part."""
        for chunk in reversed(self._chunks):
            if chunk.begin <= offset < chunk.end:
                return chunk.begin + chunk.data.rfind(b"\n", 0, offset - chunk.begin) + 1
        return offset

    def lines(self, begin: int, end: int) -> int:
        """How many lines end in between; rather more than less where `begin` has gone."""
        return max(0, self._lines_before(end) - self._lines_before(begin))

    def _lines_before(self, offset: int) -> int:
        """How many lines end before this offset: exactly where its bytes are kept, otherwise those before the last mark."""
        if offset >= self.end:
            return self._lines
        for chunk in reversed(self._chunks):
            if chunk.begin <= offset:
                return chunk.before + chunk.data.count(b"\n", 0, offset - chunk.begin)
        if self._chunks and offset == self._chunks[0].begin:
            return self._chunks[0].before
        return next((lines for at, lines in reversed(self._marks) if at <= offset), 0)

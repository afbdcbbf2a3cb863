"""Places of a text as editors count them: lines from 0, and columns in the units that the client has chosen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from tidelog.plans.diagnostics.source import line_starts


class Positions:
    """Converts offsets of a text to positions, and back; `units` tells how many units a text has.

    >>> utf16 = Positions("a\\n\\U0001f600b", lambda text: len(text.encode("utf-16-le")) // 2)
    >>> utf16.position(3), utf16.offset(1, 2)
    ((1, 2), 3)
    """

    def __init__(self, text: str, units: Callable[[str], int]) -> None:
        self._text, self._units = text, units
        self._starts = line_starts(text)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset; behind the end it is the end."""
        offset = min(offset, len(self._text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self._text[self._starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """The offset of a position; behind a line's end it is that end."""
        if line >= len(self._starts):
            return len(self._text)
        begin = self._starts[line]
        end = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else len(self._text)
        units = 0
        for offset in range(begin, end):
            if units >= column:
                return offset
            units += self._units(self._text[offset])
        return end

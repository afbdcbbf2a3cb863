"""How much more a run may hold: one number that its operators share.

Most operators give about as many facts as they take, and what they store is counted from outside, now and then. A few can
make many rows of few facts within one call: those look at the room while they do.
"""

from __future__ import annotations

from typing import Final

UNBOUNDED: Final = (1 << 62) - 1


class Room:
    """So many `rows` more may be held: as of the last count, so it says how much one call may make, not to the row."""

    __slots__ = ("rows",)

    def __init__(self, rows: int = UNBOUNDED) -> None:
        self.rows = rows


class NoRoomError(Exception):
    """One call was about to make more than there is room for; it had made `rows` by then, and is left half done."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        super().__init__(rows)

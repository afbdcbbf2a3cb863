"""Changes: an answer begins to hold, and has ended (`run --emit changes`). Between the two nothing is told.

For each maximal interval over which a row holds there is one change when it is certain that it begins there, and one when it
is certain that it has ended. What has no end has no second one. Where a fact was taken back, a change that would not have
been told without it is taken back by one with the same interval (`RetractedChange`).
"""

from __future__ import annotations

from typing import NamedTuple

from tidelog.plans.data.facts import Answer, Record, Row, format_atom, format_record
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.tree.syntax import Time


class ChangeRecord(NamedTuple):
    """A change as a record: the row holds from `lo` on; up to `hi`, or, where `hi` is `POS`, no end is known.

    >>> ChangeRecord("alarm", ("p1",), 3, POS).has_ended, ChangeRecord("alarm", ("p1",), 3, 7).has_ended
    (False, True)
    """

    predicate: str
    row: Row
    lo: int
    hi: int

    @property
    def has_ended(self) -> bool:
        """Whether it is the second change of its interval."""
        return self.hi < POS

    @property
    def order(self) -> tuple[int, int]:
        """When it happens, and what comes first of that time: what begins, then what has ended, by its begin."""
        return (self.hi + 1, self.lo) if self.has_ended else (self.lo, NEG - 1)


class RetractedChange(ChangeRecord):
    """A change that was told, and is taken back."""

    __slots__ = ()


class Change(Answer):
    """An answer begins to hold, or, with `has_ended`, it has held over the whole of `interval`, and no longer.

    As long as no end is known, `interval.high` is infinite. As text, `alarm(p1)@[3..`, and then the fact, `alarm(p1)@[3,7]`.
    One that `is_retracted` takes back the change with the same interval: `retract alarm(p1)@[3,7]`.
    """

    __slots__ = ()

    @property
    def has_ended(self) -> bool:
        """Whether it is the second change of its interval."""
        return self._record[3] < POS

    @property
    def is_retracted(self) -> bool:
        """Whether it takes back what was told, since a fact that it rested on was taken back."""
        return isinstance(self._record, RetractedChange)

    def __eq__(self, other: object) -> bool:
        equal = super().__eq__(other)
        return equal and self.is_retracted == other.is_retracted if isinstance(other, Change) else equal

    def __hash__(self) -> int:
        return hash((self._record, self.is_retracted))

    @property
    def begins(self) -> Time:
        """When it begins: a fraction, or -infinity; `interval.left_open` tells whether it holds then."""
        return self.interval.low

    @property
    def ends(self) -> Time | None:
        """When it has ended; None where no end is known. `interval.right_open` tells whether it holds then."""
        return self.interval.high if self.has_ended else None

    @property
    def text(self) -> str:
        """The change as text."""
        return format_change(self._record, self._timeline)


def format_change(record: Record, timeline: Timeline) -> str:
    """A change as text: `p(a)@[1..`, then `p(a)@[1,5/2)`; one that takes it back has `retract ` before it."""
    predicate, row, lo, hi = record
    before = "retract " if isinstance(record, RetractedChange) else ""
    if hi < POS:
        return before + format_record(record, timeline)
    begin, _, _ = timeline.format_range(lo, POS).partition(",")
    return f"{before}{format_atom(predicate, row)}@{begin}.."

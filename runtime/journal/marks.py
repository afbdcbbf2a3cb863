"""Marks in a journal: where it can be read without what was before, and until when the facts before may have held.

A program that has changed is told what it has to remember from the last mark that is far enough back
(`runtime/migration/backfill.py`). A mark costs as much as the intake's state, so one is set after many facts, or after a
while.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.intake.intake import Intake
from tidelog.runtime.journal.events import Event, Marked, Taken

MOST_FACTS = 10_000
"""After so many facts a mark is set."""
SECONDS = 60.0
"""After so many seconds a mark is set, once something has come."""


class Marks:
    """Follows what is noted of a run, and sets marks.

    `reach` (encoded) is when the last fact ends that was accepted so far, `endless` are the predicates of those without an
    end. `held` are first facts that may be accepted later, though nothing more is said of them.
    """

    def __init__(self, reach: int = NEG, endless: Sequence[str] = (), held: Sequence[Record] = ()) -> None:
        self.reach = reach
        self.endless = set(endless)
        self._held = held
        self._facts = 0
        self._since = -SECONDS

    def follow(self, events: Sequence[Event], intake: Intake) -> None:
        """These events have happened; what begins later than all that was accepted was refused."""
        latest = intake.latest + 1
        self._reach_as_far_as(self._held, latest)
        self._held = intake.held()
        for event in events:
            if isinstance(event, Taken):
                self._facts += len(event.records)
                self._reach_as_far_as(event.records, latest)

    def _reach_as_far_as(self, records: Sequence[Record], latest: int) -> None:
        """Take in when facts end that begin up to the latest that was accepted."""
        ends = [hi for _, _, lo, hi in records if lo <= latest and hi < POS]
        self.reach = max(self.reach, max(ends, default=NEG))
        if len(ends) < len(records):
            self.endless.update(name for name, _, lo, hi in records if lo <= latest and hi >= POS)

    def mark(self, intake: Intake) -> Marked | None:
        """A mark behind all that has happened, if one is due."""
        now = anyio.current_time()
        if not self._facts or (self._facts < MOST_FACTS and now < self._since + SECONDS):
            return None
        self._facts, self._since = 0, now
        return Marked(intake.snapshot(), self.reach, sorted(self.endless))

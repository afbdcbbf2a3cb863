"""The first and the last time that facts mention, on which clipped windows and calendars depend; updates may move them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Ranges, subtracted, united
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.batch.clocks.calendars import edges_of
from tidelog.runtime.batch.demand.restricting import can_restrict


class Edges:
    """Of a plan that depends on them. Nothing moves those of a plan that does not.

    A fact of the program itself is none from which a stream starts, unless it is given as well: so it is noted which are.
    """

    def __init__(self, plan: BatchPlan) -> None:
        self._matter = not can_restrict(plan)
        self._first, self._last = NEG - 1, POS + 1
        self._own = {(name, row) for name, row, _, _ in plan.facts} if self._matter else set()
        self._doubled: dict[tuple[str, Row], Ranges] = {}

    def noted(self, records: Iterable[Record]) -> Iterable[Record]:
        """The records that are loaded, as they are, once they are noted."""
        return self._note(records) if self._own else records

    def _note(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self._double(record)
            yield record

    def _double(self, record: Record) -> None:
        name, row, lo, hi = record
        if (name, row) in self._own:
            self._doubled[name, row] = united([*self._doubled.get((name, row), ()), (lo, hi)])

    def begin(self, start: int | None, mentioned: Iterable[Record] | None) -> None:
        """All is loaded: facts begin at a start; with calendars, those that are mentioned tell the last time, too."""
        if mentioned is not None:
            self._first, self._last = edges_of(mentioned)
        elif self._matter:
            self._first = POS if start is None else start

    def change(self, came: Iterable[Record], went: Iterable[Record]) -> bool:
        """Facts went, and then others came; whether one of the two times may be another one now."""
        for name, row, lo, hi in went:
            if (name, row) in self._doubled:
                self._doubled[name, row] = subtracted(self._doubled[name, row], [(lo, hi)])
        for record in came:
            self._double(record)
        first, last = self._first, self._last
        return any(lo < first or hi > last for _, _, lo, hi in came) or any(
            lo <= first or hi >= last for _, _, lo, hi in went
        )

    @property
    def doubled(self) -> dict[tuple[str, Row], Ranges]:
        """When facts of the program itself are given as well, now."""
        return dict(self._doubled)

    def is_own(self, name: str, row: Row) -> bool:
        """Whether a row is a fact of the program itself, of which it is noted whether it is given as well."""
        return (name, row) in self._own

    def given(self, records: Iterable[Record]) -> Iterator[Record]:
        """Of facts those that are given, and not only the program's own."""
        yield from (record for record in records if (record[0], record[1]) not in self._own)
        yield from ((name, row, lo, hi) for (name, row), ranges in self._doubled.items() for lo, hi in ranges)

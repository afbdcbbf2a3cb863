"""All rows of the outputs that hold, whatever was told of them, and in whatever form. They are part of a session's state."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, Coverage, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.timeline import POS

NEVER: Final = POS + 1


class Held:
    """The coverage of each output, but for what has ended. `leads` tell how far an output is known ahead of the watermark.

    Of the outputs in `sizes` rows are found by so many first arguments. Outputs without a lead are none of its business.

    >>> held = Held({"on": 0})
    >>> held.receive("on", [(("a",), 2, 5), (("a",), 6, 9)], Notices([(("b",), 3)]))
    >>> held.at(6, 6)
    [('on', ('b',), 3, 4611686018427387902), ('on', ('a',), 2, 9)]
    """

    def __init__(self, leads: Mapping[str, int], sizes: Mapping[str, int] | None = None) -> None:
        self._leads = leads
        self._sizes = sizes or {}
        self._groups: dict[str, dict[Row, list[Row]]] = {output: {} for output in self._sizes}
        self._coverage = {output: Coverage(keeps=True) for output in leads}
        self._standing: dict[str, dict[Row, int]] = {output: {} for output in leads}
        self._count, self._most = 0, LIMITS.round

    @property
    def outputs(self) -> frozenset[str]:
        """Those whose rows are kept."""
        return frozenset(self._leads)

    def receive(self, output: str, facts: Sequence[Fact], notices: Notices | None = None) -> None:
        """Take new coverage of an output, and notices of it."""
        if output not in self._leads:
            return
        if output in self._sizes:
            self._group(output, [row for row, _, _ in facts])
            if notices is not None:
                self._group(output, [*notices.begun, *(row for row, _, _ in notices.ended)])
        if notices is not None:
            standing = self._standing[output]
            for row, _, _ in notices.ended:
                standing.pop(row, None)
            standing.update(notices.begun)
            facts = [*notices.ranges(), *facts]
        self._coverage[output].insert(facts)
        self._count += len(facts)

    def at(self, present: int, frontier: int, outputs: Iterable[str] | None = None) -> list[Record]:
        """What holds at a time (encoded), or has no end that is known: each with its range; what begins last comes first.

        The stream is complete up to `frontier`: what holds at the time up to which an output is known has not ended. With
        `outputs`, it is told of these alone.
        """
        found: list[Record] = []
        for output in self._coverage if outputs is None else outputs:
            coverage = self._coverage[output]
            standing, known = self._standing[output], shift(frontier, self._leads[output])
            for row, bounds in coverage.rows.items():
                if row not in standing and (run := _run_at(bounds, present, known)) is not None:
                    found.append((output, row, *run))
            for row, lo in standing.items():
                found.append((output, row, _begin(coverage.rows.get(row, []), lo), POS))
        found.sort(key=lambda record: -record[2])
        return found

    def rows(self, output: str) -> Iterator[Row]:
        """All rows of an output of which something is stored; some may come twice."""
        yield from self._coverage[output].rows
        yield from self._standing[output]

    def has(self, output: str) -> bool:
        """Whether anything is stored of an output."""
        return bool(self._coverage[output].rows or self._standing[output])

    def starting_with(self, output: str, first: Row) -> Sequence[Row]:
        """The rows of one of the outputs in `sizes` that begin with these arguments."""
        return self._groups[output].get(first, ())

    def present(self, output: str, frontier: int) -> int:
        """The time up to which both the stream and an output are known."""
        return min(frontier, shift(frontier, self._leads[output]))

    def since(self, output: str, row: Row, present: int) -> tuple[int | None, int]:
        """Since when a row holds at a time, None where it does not; and the next time at which that is another thing, behind
        `POS` where only news can change it."""
        lo, bounds = self._standing[output].get(row), self._coverage[output].rows.get(row)
        if lo is not None and lo <= present:
            return lo if bounds is None else _begin(bounds, lo), NEVER
        turn = NEVER if lo is None else lo
        if bounds is None or bounds[-1] < present:
            return None, turn
        i = bisect_left(bounds, present) & ~1
        begin, end = bounds[i], bounds[i + 1]
        if begin > present:
            return None, min(turn, begin)
        return begin, min(turn, end + 1) if end < POS else turn

    def begun(self, output: str, row: Row, after: int, present: int) -> tuple[int | None, int, bool]:
        """Since when a row holds at the present, where that began after a time; None where it did not. Then the next time at
        which that is another thing, as in `since`; and whether anything of the row begins after that time."""
        standing, bounds = self._standing[output].get(row), self._coverage[output].rows.get(row, [])
        last = POS if standing is None else _begin(bounds, standing)  # where that begins which has no end
        is_ahead = after < last < POS or (bool(bounds) and bounds[-2] > after)
        if last <= present:
            return last if last > after else None, NEVER, is_ahead
        turn = last if last < POS else NEVER
        for i in overlapping(bounds, present, POS) if is_ahead else ():
            if bounds[i] <= present:
                lo, hi = bounds[i], bounds[i + 1]
                return lo if lo > after else None, min(turn, hi + 1) if hi < POS else turn, True
            return None, min(turn, bounds[i]), True
        return None, turn, is_ahead

    def forget(self, frontier: int) -> None:
        """Let go of what has ended and can grow no more, once there may be much of it."""
        if self._count <= self._most:
            return
        for output, coverage in self._coverage.items():
            bound = min(frontier, shift(frontier, self._leads[output]))
            standing = self._standing[output]
            for row, bounds in [*coverage.rows.items()]:
                # What goes on without a break may have begun in a range before it.
                ended = next(overlapping(bounds, min(bound, standing.get(row, POS) - 1), POS), len(bounds))
                del bounds[:ended]
                if not bounds:
                    del coverage.rows[row]
            if output in self._sizes:
                self._groups[output] = {}
                self._group(output, [*coverage.rows, *(row for row in standing if row not in coverage.rows)], are_new=True)
        self._count = sum(self.entries().values())
        self._most = 2 * self._count + LIMITS.round

    def entries(self) -> dict[str, int]:
        """How many ranges are stored, by output."""
        return {output: coverage.entries() + len(self._standing[output]) for output, coverage in self._coverage.items()}

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data, by output."""
        return {
            output: [coverage.snapshot(), [[list(row), lo] for row, lo in self._standing[output].items()]]
            for output, coverage in self._coverage.items()
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        for output, (coverage, opened) in data.items():
            if output not in self._leads:
                continue
            self._coverage[output].restore(coverage)
            self._standing[output] = {tuple(row): lo for row, lo in opened}
            if output in self._sizes:
                self._groups[output] = {}
                self._group(output, dict.fromkeys(self.rows(output)), are_new=True)
        self._count = sum(self.entries().values())

    def _group(self, output: str, rows: Iterable[Row], *, are_new: bool = False) -> None:
        """Find these rows by their first arguments from now on, where they are not there yet."""
        groups, size = self._groups[output], self._sizes[output]
        stored, standing = self._coverage[output].rows, self._standing[output]
        for row in rows:
            group = groups.setdefault(row[:size], [])
            if are_new or (row not in stored and row not in standing and row not in group):
                group.append(row)


def _begin(bounds: Bounds, lo: int) -> int:
    """Where that begins which goes on from a time on: in a range of the same row that it continues, or there."""
    return min([lo, *(bounds[i] for i in overlapping(bounds, lo - 1, lo))])


def _run_at(bounds: Bounds, present: int, known: int) -> tuple[int, int] | None:
    """The last run that holds at a time, or may go on to; without an end where that is not known."""
    found = None
    for i in overlapping(bounds, min(present, known), POS):
        lo, hi = bounds[i], bounds[i + 1]
        if lo <= present or hi >= POS:
            found = lo, hi if hi >= present else POS
    return found

"""All rows of the outputs that hold, whatever was told of them, and in whatever form. They are part of a session's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, Coverage, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.timeline import POS


class Held:
    """The coverage of each output, but for what has ended. `leads` tell how far an output is known ahead of the watermark.

    >>> held = Held({"on": 0})
    >>> held.receive("on", [(("a",), 2, 5), (("a",), 6, 9)], Notices([(("b",), 3)]))
    >>> held.at(6, 6)
    [('on', ('b',), 3, 4611686018427387902), ('on', ('a',), 2, 9)]
    """

    def __init__(self, leads: Mapping[str, int]) -> None:
        self._leads = leads
        self._coverage = {output: Coverage(keeps=True) for output in leads}
        self._standing: dict[str, dict[Row, int]] = {output: {} for output in leads}
        self._count, self._most = 0, LIMITS.round

    def receive(self, output: str, facts: Sequence[Fact], notices: Notices | None = None) -> None:
        """Take new coverage of an output, and notices of it."""
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

    def begun(self, outputs: Iterable[str], after: int, present: int) -> list[Record]:
        """What of some outputs began after a time, and holds at the present."""
        found = []
        for output in outputs:
            standing = self._standing[output]
            found += [(output, row, lo, POS) for row, lo in standing.items() if after < lo <= present]
            for row, bounds in self._coverage[output].rows.items():
                for i in overlapping(bounds, present, present):
                    if bounds[i] > after and row not in standing:
                        found.append((output, row, bounds[i], bounds[i + 1]))
        return found

    def now(self, frontier: int, outputs: Iterable[str]) -> list[Record]:
        """What holds at the frontier of these outputs, each with its range; what begins later is left out.

        What holds at the time up to which an output is known has not ended.
        """
        found: list[Record] = []
        for output in outputs:
            rows, standing = self._coverage[output].rows, self._standing[output]
            present = min(frontier, shift(frontier, self._leads[output]))
            for row, lo in standing.items():
                if lo <= present:
                    found.append((output, row, _begin(rows.get(row, []), lo), POS))
            for row, bounds in rows.items():
                if row not in standing or standing[row] > present:
                    found += [(output, row, bounds[i], bounds[i + 1]) for i in overlapping(bounds, present, present)]
        return found

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
            self._coverage[output].restore(coverage)
            self._standing[output] = {tuple(row): lo for row, lo in opened}
        self._count = sum(self.entries().values())


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

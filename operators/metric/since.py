"""Since: the right side held, and from then on the left side has held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.metric.pairing import LEFT, RIGHT, PairingOperator, Range, RowPairing, dilated
from tidelog.operators.operator import shift
from tidelog.operators.standing.lasting import Lasting
from tidelog.operators.standing.standing import Standing
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, Coverage, cut, merge, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric


class Since(PairingOperator):
    """`M' ← M1 Sϱ M2`.

    Intervals: a maximal run of M1 with the closure C and M2 over ϱ₂ give ((ϱ₂ ∩ C) + ϱ) ∩ C; where 0 is in ϱ (on
    integers also 1), M2 alone is enough, since nothing lies between. Port 0 is M1, port 1 is M2. State: M1's runs that may
    still grow or be met, M2 where M1 may still reach it, and for each run the times to come that are *armed*: those at
    which the result holds if only the run goes on. So a tick costs what it changes, not ϱ's length. Final: as far
    as M1, and ϱ⁻ beyond M2.

    A row that stands is taken as if it never ended; what follows from that is expected (`Lasting`). What of it is certain
    when a fact comes is told at once. Where the row ends, what would have followed behind that is not expected any more, and
    armed, in case the run goes on after all. A row of the result belongs to one pair, or to one row of M2 alone. State,
    beside that: the rows that stand, and what facts tell of them; those of M2 that they have met. What stands of the result
    is known `beyond` the frontier; `slowest` is the port that is known last, where the ports take notices.

    >>> same = RowPairing(key_of_left=tuple, key_of_right=tuple, combine=lambda left, right: right)
    >>> since = Since(Metric(0, 6), touch=0, pairing=same)
    >>> since.receive(1, [(("a",), 2, 2)], 2), since.receive(0, [(("a",), 2, 5)], 5)
    ([(('a',), 2, 2)], [(('a',), 3, 6)])

    >>> since = Since(Metric(2, 6), touch=0, pairing=same, slowest=0)
    >>> since.receive(0, [], 5, Notices([(("a",), 2)])), since.receive(1, [(("a",), 4, 4)], 5), since.receive(0, [], 6)
    ([], [(('a',), 6, 6)], [])
    >>> since.told_notices().begun, since.receive(0, [], 20), since.receive(1, [], 20), since.told_notices().ended
    ({('a',): 6}, [], [], [(('a',), 6, 10)])
    """

    __slots__ = (
        "_armed_ranges",
        "_beyond",
        "_fed",
        "_lasting",
        "_meetings",
        "_met_by",
        "_most_armed",
        "_most_expected",
        "_round",
        "_slowest",
        "_standing",
        "armed",
    )

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing, slowest: int | None = None, beyond: int = 0) -> None:
        super().__init__(metric, touch, pairing)
        # left row → begin of its run → right row → what holds if the run goes on
        self.armed: dict[Row, dict[int, dict[Row, Bounds]]] = {}
        self._armed_ranges = self._most_armed = 0
        self._round = LIMITS.round
        self._slowest, self._beyond = slowest, beyond
        self._standing = (Standing(), Standing())
        self._met_by: dict[Row, dict[Row, None]] = {}  # by left rows that stand the right rows, though forgotten since
        self._meetings = 0
        self._lasting = Lasting()
        self._most_expected = 0
        self._fed: list[Fact] = []  # what has come of M2 since the frontiers were told, which is to follow

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == RIGHT and self.is_followed and self._standing[LEFT].since:
            self._fed += facts  # more of them is certain once it is known how far M1 has come
            return []
        return self._feed(port, facts)

    def _feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        self._begin_message()
        standing = self._standing[port]
        return super().feed(port, standing.beside(facts, self.frontiers[port]) if standing.since else facts)

    def advance(self, frontiers: Sequence[int]) -> list[Fact]:
        out = super().advance(frontiers)
        if self._fed:  # nothing has moved
            more = self._take_fed()
            self.sent += len(more)
            out += more
        return out

    def _take_fed(self) -> list[Fact]:
        fed, self._fed = self._fed, []
        return self._feed(RIGHT, fed)

    def _begin_message(self) -> None:
        self._most_armed = self._armed_ranges + self.room.rows
        self._most_expected = self._lasting.made + self.room.rows

    def take_right(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        lefts = self.pairing.lefts_of(row)
        self.right.extend([(row, lo, hi)])
        if self.alone is not None:
            self._hold_alone(row, lo, hi, out)
        for left in lefts:
            for begin, (_, run_hi), met in self.runs_at(left, lo, hi):
                self._hold((left, row), begin, run_hi, dilated(self.metric, *met), out)

    def _hold(self, pair: tuple[Row, Row], begin: int, run_hi: int, held: Range, out: list[Fact]) -> None:
        """Send the part of `held` that the run reaches, and arm the rest."""
        lo, hi = held
        left, right = pair
        lefts, rights = self._standing[LEFT].since, self._standing[RIGHT].since
        if (lefts or rights) and (right in rights or (run_hi >= POS and left in lefts)):
            self._expect(pair, begin, run_hi, held, out)
        elif lo <= run_hi:
            out.append((self.pairing.combine(left, right), lo, min(hi, run_hi)))
        if hi > run_hi:
            bounds = self.armed.setdefault(left, {}).setdefault(begin, {}).setdefault(right, [])
            before = len(bounds)
            merge(bounds, max(lo, run_hi + 1), hi, 1, right, [])
            self._armed_ranges += (len(bounds) - before) >> 1
            if self._armed_ranges > self._most_armed:
                raise NoRoomError(self._armed_ranges)

    def take_left(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        known = self.left.rows.get(row)
        if known is not None and lo == known[-1] + 1 and not self._standing[LEFT].since and not self._standing[RIGHT].since:
            self._go_on(row, known, hi, out)
            return
        rights = self.pairing.rights_of(row)
        before = self._runs_touching(row, lo, hi)
        self.left.extend([(row, lo, hi)])
        begin, end = min([lo, *(run[0] for run in before)]), max([hi, *(run[1] for run in before)])
        run_lo, run_hi = self.closure(begin, end)
        for old, _ in before:
            for right, bounds in self.armed.get(row, {}).pop(old, {}).items():
                self._armed_ranges -= len(bounds) >> 1
                for i in range(0, len(bounds), 2):
                    self._hold((row, right), begin, run_hi, (bounds[i], bounds[i + 1]), out)
        reached = _gaps((run_lo, run_hi), [self.closure(*run) for run in before])
        for right in rights:
            for met in self._met(right, reached):
                self._hold((row, right), begin, run_hi, dilated(self.metric, *met), out)

    def _go_on(self, row: Row, bounds: Bounds, hi: int, out: list[Fact]) -> None:
        """`take_left` where the last run of a row goes on, and nothing stands."""
        pairing, begin = self.pairing, bounds[-2]
        reached = self.closure(begin, bounds[-1])[1] + 1
        run_hi = self.closure(begin, hi)[1]
        bounds[-1] = hi
        self.left.grown += 1
        runs = self.armed.get(row)
        if runs and begin in runs:
            self._fire(row, runs, begin, run_hi, out)
        for right in tuple(pairing.right.get(pairing.key_of_left(row), ())):
            ranges = self.right.rows.get(right)
            if ranges and ranges[-1] >= reached:
                for i in overlapping(ranges, reached, run_hi):
                    held = dilated(self.metric, max(ranges[i], reached), min(ranges[i + 1], run_hi))
                    self._hold((row, right), begin, run_hi, held, out)

    def _fire(self, left: Row, runs: dict[int, dict[Row, Bounds]], begin: int, run_hi: int, out: list[Fact]) -> None:
        """Send what is armed for a run up to its new end; the rest stays armed."""
        armed, combine = runs[begin], self.pairing.combine
        done: list[Row] = []
        for right, bounds in armed.items():
            if bounds and bounds[0] > run_hi:
                continue  # none is left where a row that stood has ended
            before, beyond = len(bounds), cut(bounds, run_hi)
            row = combine(left, right)
            out += [(row, bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
            armed[right] = beyond
            self._armed_ranges -= (before - len(beyond)) >> 1
            if not beyond:
                done.append(right)
        for right in done:
            del armed[right]
        if not armed:
            del runs[begin]

    def _runs_touching(self, row: Row, lo: int, hi: int) -> list[Range]:
        """The runs stored that new coverage will become one with."""
        bounds = self.left.rows.get(row, [])
        return [(bounds[i], bounds[i + 1]) for i in overlapping(bounds, lo - 1, hi + 1)]

    def _met(self, right: Row, reached: list[Range]) -> list[Range]:
        """Where a right row holds within the ranges that a run's closure has newly reached."""
        bounds = self.right.rows.get(right, [])
        return [(max(bounds[i], lo), min(bounds[i + 1], hi)) for lo, hi in reached for i in overlapping(bounds, lo, hi)]

    def promised(self) -> int:
        left, right = self.frontiers
        return min(left, shift(right, self.metric.a))

    # --- what stands ----------------------------------------------------------------------------------------------------

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        if self._slowest is None:
            return super().hear(port, facts, notices)
        self._begin_message()
        out: list[Fact] = []
        known, standing = self.frontiers[port], self._standing[port]
        for row, lo, hi in notices.ended:
            if not standing.never_came(row):
                self._end(port, row, lo, hi, out)
            elif lo <= hi:
                self._take(port, row, lo, hi, out)
        for row, lo in notices.begun.items():
            if standing.begin(row, lo, known):
                self._stand(port, row, lo, out)
        out = self._untold(out)
        return out + self.feed(port, facts) if facts else out

    def _stand(self, port: int, row: Row, lo: int, out: list[Fact]) -> None:
        """A row stands from a time on that has come."""
        standing, bounds = self._standing[port], self._side(port).rows.get(row, [])
        for i in overlapping(bounds, lo, POS):
            standing.keep(row, bounds[i], bounds[i + 1], self.frontiers[port])
        standing.since[row] = lo
        self._take(port, row, lo, POS, out)

    def _side(self, port: int) -> Coverage:
        return self.left if port == LEFT else self.right

    def _take(self, port: int, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        if port == LEFT:
            self.take_left(row, lo, hi, out)
        else:
            self.take_right(row, lo, hi, out)
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def _expect(self, pair: tuple[Row, Row], begin: int, run_hi: int, held: Range, out: list[Fact]) -> None:
        """Expect what follows from what stands; send what of it is certain."""
        (left, right), (lo, hi) = pair, held
        row, hi = self.pairing.combine(left, right), min(hi, run_hi)
        first, last = lo, hi  # what is certain
        is_open = run_hi >= POS and left in self._standing[LEFT].since
        if is_open:
            known = self.frontiers[LEFT]
            last = min(last, self.closure(begin, max(begin, known))[1]) if known > NEG else NEG
        since = self._standing[RIGHT].since.get(right)
        if since is not None:
            met, known = max(self.closure(begin, begin)[0], since), self.frontiers[RIGHT]
            certain = dilated(self.metric, met, known) if NEG < known >= met else (POS, NEG)
            first, last = max(first, certain[0]), min(last, certain[1])
        if lo <= hi and (first, last) != (lo, hi):
            self._lasting.expect(row, lo, hi)
            if self._lasting.made > self._most_expected:
                raise NoRoomError(self._lasting.made)
            if is_open and right not in self._met_by.setdefault(left, {}):
                self._met_by[left][right] = None
                self._meetings += 1
        if first <= last > NEG:
            out.append((row, first, last))

    def _hold_alone(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """Send what follows from a row of M2 alone; of one that stands, expect it, and send what is certain."""
        if self.alone is None:
            return
        begin, end = dilated(self.alone, lo, hi)
        if row in self._standing[RIGHT].since:
            self._lasting.expect(row, begin, end)
            known = self.frontiers[RIGHT]
            end = min(end, dilated(self.alone, known, known)[1]) if known > NEG else NEG
        if begin <= end > NEG:
            out.append((row, begin, end))

    def _end(self, port: int, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """A row stands no longer: it has held as far as it was known, and as facts tell; no more follows."""
        known = self._standing[port].end(row, lo, hi, self.frontiers[port])
        end = known[next(overlapping(known, lo, lo)) + 1]
        side = self._side(port)
        begin = side.shorten(row, end) if row in side.rows else lo  # what is not stored, nothing will meet any more
        if port == LEFT:
            self._end_left(row, begin, end, out)
        else:
            self._end_right(row, begin, end, out)
        for i in range(0, len(known), 2):
            if known[i] < begin:  # it is known to begin earlier
                self._take(port, row, known[i], min(known[i + 1], begin - 1), out)
            elif known[i] > end:
                self._take(port, row, known[i], known[i + 1], out)

    def _end_left(self, left: Row, begin: int, end: int, out: list[Fact]) -> None:
        upto = self.closure(begin, end)[1]
        rights = self._met_by.pop(left, {})
        self._meetings -= len(rights)
        for right in rights:
            beyond = self._lasting.cut(self.pairing.combine(left, right), upto)
            if beyond:
                self._arm(left, begin, right, beyond)
            since = self._standing[RIGHT].since.get(right)
            if since is not None:
                self._hold_alone(right, since, POS, out)

    def _arm(self, left: Row, begin: int, right: Row, beyond: Bounds) -> None:
        """What follows from a pair if the run of its left row goes on."""
        bounds = self.armed.setdefault(left, {}).setdefault(begin, {}).setdefault(right, [])
        before = len(bounds)
        for i in range(0, len(beyond), 2):
            merge(bounds, beyond[i], beyond[i + 1], 1, right, [])
        self._armed_ranges += (len(bounds) - before) >> 1

    def _end_right(self, right: Row, begin: int, end: int, out: list[Fact]) -> None:
        lefts, upto = self.pairing.lefts_of(right), dilated(self.metric, begin, end)[1]
        alone = NEG
        if self.alone is not None:
            self._hold_alone(right, begin, end, out)
            alone = dilated(self.alone, begin, end)[1]
            if not lefts:
                self._lasting.cut(right, alone)
        for left in lefts:
            self._disarm_pair(left, right, end, upto)
            self._lasting.cut(self.pairing.combine(left, right), max(alone, self._last_reached(left, end, upto)))

    def _last_reached(self, left: Row, end: int, upto: int) -> int:
        """How far a pair holds whose right row has ended, if it would hold `upto` a time in a run that goes on."""
        bounds = self.left.rows.get(left, [])
        reached = end
        for i in range(0, len(bounds), 2):
            run_lo, run_hi = self.closure(bounds[i], bounds[i + 1])
            if run_lo <= end:
                reached = run_hi
        return min(reached, upto)

    def _disarm_pair(self, left: Row, right: Row, end: int, upto: int) -> None:
        """A right row has ended: nothing follows behind `upto`, nor in runs that begin behind its end, if they go on."""
        for begin, rows in self.armed.get(left, {}).items():
            bounds = rows.get(right, [])
            before = len(bounds)
            cut(bounds, upto if self.closure(begin, begin)[0] <= end else NEG)
            self._armed_ranges -= (before - len(bounds)) >> 1

    # --- time -----------------------------------------------------------------------------------------------------------

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        if self._slowest is not None:
            reached = min(self.frontiers[LEFT], shift(self.promised(), self._beyond))
            self._begin_message()
            for at, standing in enumerate(self._standing):
                for row, lo in standing.come(self.frontiers[at]):
                    self._stand(at, row, lo, out)
            fed = self._take_fed() if self._fed else []
            # behind the frontier, too, nothing will be untrue that follows by now; but more may follow
            self._lasting.go_on(reached, self.notices, out)
            out = fed + self._untold(out)
            self._forget_met()
        super().settle(port)
        return out

    def tidy(self) -> None:
        super().tidy()
        if self._armed_ranges > self._round:
            self._disarm(shift(min(self.frontiers), -1))

    def _forget_met(self) -> None:
        """Let go of pairs of which nothing is to come, once they may be half of all."""
        alive = self._lasting.rows
        if self._meetings <= 2 * len(alive) + LIMITS.spare:
            return
        combine = self.pairing.combine
        for left, rights in self._met_by.items():
            self._met_by[left] = {right: None for right in rights if combine(left, right) in alive}
        self._meetings = sum(map(len, self._met_by.values()))

    def _disarm(self, bound: int) -> None:
        """Let go of what is armed for runs that have ended for good."""
        for left in list(self.armed):
            bounds = self.left.rows.get(left, [])
            alive = {bounds[i] for i in range(0, len(bounds), 2) if bounds[i + 1] > bound}
            self.armed[left] = {begin: rows for begin, rows in self.armed[left].items() if begin in alive}
            if not self.armed[left]:
                del self.armed[left]
        self._armed_ranges = self._count_armed()
        self._round = max(LIMITS.round, 2 * self._armed_ranges)

    def _count_armed(self) -> int:
        return sum(len(bounds) >> 1 for runs in self.armed.values() for rows in runs.values() for bounds in rows.values())

    def deadline(self) -> tuple[int, int] | None:
        left, right = self._standing
        dues = [self._lasting.deadline(), left.due()]
        if (lo := right.due()) is not None:
            dues.append(shift(lo, self.metric.a))
        due = min([due for due in dues if due is not None], default=None)
        if due is None or self._slowest == LEFT:
            return None if due is None else (LEFT, due)
        return RIGHT, shift(due, -self.metric.a - self._beyond)

    def waits(self) -> bool:
        return self._slowest is not None

    def standing_rows(self) -> list[tuple[Row, int]]:
        return self._lasting.standing()

    # --- what is held ---------------------------------------------------------------------------------------------------

    def entries(self) -> int:
        left, right = self._standing
        standing = self._lasting.entries() + left.entries() + right.entries() + self._meetings
        return super().entries() + self._armed_ranges + standing

    def state(self) -> dict[str, Any]:
        armed = [
            [list(left), begin, list(right), list(bounds)]
            for left, runs in self.armed.items()
            for begin, rows in runs.items()
            for right, bounds in rows.items()
        ]
        met = [[list(left), [list(right) for right in rights]] for left, rights in self._met_by.items()]
        standing = [rows.state() for rows in self._standing]
        return {**super().state(), "armed": armed, "standing": standing, "met": met, "lasting": self._lasting.state()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.armed.clear()
        for left, begin, right, bounds in state["armed"]:
            self.armed.setdefault(tuple(left), {}).setdefault(begin, {})[tuple(right)] = list(bounds)
        self._armed_ranges = self._count_armed()
        for rows, stored in zip(self._standing, state["standing"], strict=True):
            rows.load(stored)
        self._met_by = {tuple(left): dict.fromkeys(map(tuple, rights)) for left, rights in state["met"]}
        self._meetings = sum(map(len, self._met_by.values()))
        self._lasting.load(state["lasting"])


def _gaps(whole: Range, known: list[Range]) -> list[Range]:
    """What of a range lies outside the ranges known (in order).

    >>> _gaps((0, 9), [(2, 3), (5, 9)])
    [(0, 1), (4, 4)]
    """
    lo, end = whole
    gaps = []
    for begin, hi in known:
        if lo < begin:
            gaps.append((lo, begin - 1))
        lo = max(lo, hi + 1)
    if lo <= end:
        gaps.append((lo, end))
    return gaps

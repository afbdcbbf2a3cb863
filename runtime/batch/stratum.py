"""One stratum from its first round to its last, or to where it is known how it goes on for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.batch.choosing import goes_in_columns
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.saturation import Saturation
from tidelog.runtime.batch.sides import FUTURE, PAST, Sides
from tidelog.runtime.batch.sight import Sight
from tidelog.runtime.batch.strategies import News, Optimised, Seminaive, Strategy
from tidelog.runtime.batch.wiring import Derived, Frame

if TYPE_CHECKING:
    from tidelog.runtime.batch.columnar.rounds import ColumnRounds

_FIRST_CHECK = 4
_SPREAD = 2
_SCANNED_A_ROUND, _SCANNED_A_RANGE = 25, 4
"""How many stored ranges may be looked at for each round, and for each range that rounds have brought."""


class StratumRun:
    """The strategy that computes a stratum, and what else its rounds need so that they need not go on for ever.

    Where it reads what repeats, so much of that is laid out as is needed to see how the stratum repeats: first a few
    periods, and as long as they do not do, twice as many, from the stratum's beginning. `settled` holds the sides of what
    repeats below, and takes those of this stratum. `all_rounds` and `ranges` count rounds and what was new in them.

    Nothing is derived beyond `until`; so what lies before may lack what would follow from later times. `exact` tells up to
    when it does not, for predicates that have been cut off, or depend on such; it takes those of this stratum.
    """

    def __init__(
        self,
        plan: BatchPlan,
        stratum: Stratum,
        known: Interpretation,
        strategy: type[Strategy],
        settled: dict[str, Sides],
        until: int,
        exact: dict[str, int],
    ) -> None:
        self.stratum = stratum
        self._plan = plan
        self._known = known
        self._settled = settled
        self._until = until
        self._below = {name: settled[name] for name in stratum.reads if name in settled}
        self._sight = Sight(plan, stratum, self._below, exact)
        # what is complete is let go by the optimised strategy, but may be found to hold for ever yet
        self._strategy = Seminaive if self._below and strategy is Optimised else strategy
        self._may_repeat = bool(self._below) or any(
            component.is_recursive and component.ending != "finite" for component in stratum.components
        )
        self._before = known.copy(stratum.predicates) if self._below else {}
        self._spread = _SPREAD
        self._forever: dict[str, list[Fact]] = {}
        self._held: dict[str, list[Fact]] = {}
        self._opened: set[str] = set()
        self.all_rounds = self.ranges = 0
        self._evaluations = 0
        self._cut: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """From the stratum's data, and what has been found to hold for ever."""
        self._rounds = self._last_check = self._new = 0
        self._next_check = _FIRST_CHECK
        self._saturation: Saturation | None = None
        self._horizon = horizon = self._sight.laid_out(self._known, self._spread) if self._below else None
        if self._may_repeat:
            sides = {name: _up_to(sides, horizon) for name, sides in self._below.items()}
            self._saturation = Saturation(self._plan, self.stratum, self._known, sides, self._until)
        for name, facts in self._held.items():
            self.learn_of(name, self._known.insert(name, facts))
        tapped = self._saturation.tapped if self._saturation else {}
        for name, facts in self._forever.items():
            tapped[name].insert(facts)
        self._columns = None
        self._closed = self._sight.closed(self._opened)
        clips = self._sight.clips(horizon, self._closed)
        self._frame = Frame(tapped, self._forever, horizon, clips, self._until)
        self._columns = self._in_columns() if self._strategy is Seminaive and not (self._below or clips) else None
        self.strategy = self._columns or self._by_rows()

    def _in_columns(self) -> ColumnRounds | None:
        """The strategy in columns, where that is worth it, and all steps can be followed so."""
        if not goes_in_columns(self._plan, self.stratum, self._known.loaded):
            return None
        from tidelog.runtime.batch.columnar.rounds import ColumnRounds  # noqa: PLC0415 - few facts need no NumPy

        return ColumnRounds(self._plan, self.stratum, self._known, self._frame)

    def _by_rows(self) -> Strategy:
        return self._strategy(self._plan, self.stratum, self._known, self._frame)

    def _leave_columns(self, columns: ColumnRounds) -> None:
        """Go on row by row: the first round so is about all that is known."""
        self._evaluations += columns.evaluations
        self._note_derived()
        for name in dict.fromkeys((*self.stratum.reads, *self.stratum.predicates)):
            self._known.keep_rows(name)
        self._columns = None
        self.strategy = self._by_rows()

    def _note_derived(self) -> None:
        """Let saturation know what has been derived in columns."""
        if self._columns is not None and self._saturation is not None:
            self._columns.note(self._saturation.touched, self._saturation.tapped)

    def apply(self) -> Derived:
        """Apply the stratum's rules once to everything known."""
        columns = self._columns
        if columns is not None and not columns.is_slow:
            try:
                return columns.apply()
            except (ArithmeticError, DataError, NoRoomError):
                pass  # row by row it may be done, or there is an error that tells of a row
        if columns is not None:
            self._leave_columns(columns)
        return self.strategy.apply()

    @property
    def goes_in_columns(self) -> bool:
        """Whether its rounds go in columns."""
        return self._columns is not None

    @property
    def evaluations(self) -> int:
        """How often an operator was given facts."""
        return self._evaluations + self.strategy.evaluations

    def learn(self, news: News) -> None:
        """Take in what a round has brought."""
        for name, facts in news.items():
            self.learn_of(name, facts)
        self.strategy.learn(news)

    def learn_of(self, name: str, facts: Sequence[Fact]) -> None:
        """Note what is new of one predicate, for saturation."""
        self.ranges += len(facts)
        self._new += len(facts)
        if self._saturation is not None and self._columns is None:
            self._saturation.touched[name].update(row for row, _, _ in facts)

    def note_cut(self, predicate: str) -> None:
        """Something of a predicate has been cut off at `until`."""
        self._cut.add(predicate)

    def saturate(self, news: News) -> bool:
        """After a round, if it is time to look: whether all that the stratum derives for ever is known now.

        MethodError where what repeats would have to be laid out for too long.
        """
        self._rounds += 1
        self.all_rounds += 1
        if self._saturation is None or self._rounds < self._next_check:
            return False
        since = self._rounds - self._last_check
        if self._saturation.scanned > _SCANNED_A_ROUND * since + _SCANNED_A_RANGE * self._new:
            return False  # looking must not cost more than what is looked at
        self._last_check, self._new = self._rounds, 0
        self._next_check = self._rounds + max(1, self._rounds // 2)
        return self._check(self._saturation, news)

    def finish(self) -> bool:
        """After a round that has brought nothing: whether this is the stratum's end; otherwise it has begun anew."""
        if self._saturation is None or not self._below:
            self._sight.note_exact(self._cut, self._until)
            return True
        return self._check(self._saturation, {})

    def _check(self, saturation: Saturation, news: News) -> bool:
        self._note_derived()
        if saturation.check(news):
            if not self._closed:
                self._settle(saturation)
                return True
            self._opened |= self._sight.openable(self._closed)
            self._begin_anew()
        elif saturation.extensions:
            self._extend(saturation)
        elif self._below and self._is_beyond(news):
            self._spread *= 2
            self._begin_anew()
        return False

    def _settle(self, saturation: Saturation) -> None:
        for name in self.stratum.predicates:
            sides = saturation.sides[name]
            if any(side.period for side in sides.values()):
                self._known.settle(name, sides, saturation.unit)
                self._settled[name] = sides
        self._sight.note_exact(self._cut, self._until)

    def _extend(self, saturation: Saturation) -> None:
        """Go on with what is found to hold for ever; from the start, where operators may have let go of what it meets."""
        for extension in saturation.extensions:
            target = self._forever if extension.is_step else self._held
            target.setdefault(extension.name, []).append(extension.fact)
        if self._below:
            self._begin_anew()
            return
        for extension in saturation.extensions:
            name, facts = extension.name, [extension.fact]
            new = saturation.tapped[name].insert(facts) if extension.is_step else self._known.insert(name, facts)
            self.strategy.extend(name, new)
        self._next_check = self._rounds + 1

    def _begin_anew(self) -> None:
        self._known.restore(self._before)
        self._begin()

    def _is_beyond(self, news: News) -> bool:
        """Whether nothing new has come within the horizon."""
        if self._horizon is None:
            return False
        first, last = self._horizon
        return not any(lo <= last and hi >= first for facts in news.values() for _, lo, hi in facts)


def _up_to(sides: Sides, horizon: tuple[int, int] | None) -> Sides:
    """Sides of which as much is stored as the horizon says."""
    if horizon is None:
        return sides
    ends = {PAST: -horizon[0], FUTURE: horizon[1]}
    return {side: replace(settled, end=ends[side]) if settled.period else settled for side, settled in sides.items()}

"""The unit of a clocked loop: it goes through time as far as all that feeds it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tidelog.operators.loops.open_loop import EndlessError
from tidelog.operators.operator import shift
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Loop
from tidelog.runtime.network.clock import Clock, Told, has_no_end
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.units import Reach, Unit


class ClockedUnit(Unit):
    """The steps of a clocked loop: what comes waits until its time has come.

    One that is `shared` is a part of a loop whose other rows go through time elsewhere. Whether it has an end is known to
    all of them together, so it is followed behind the stream's end when it is told to (`try_on`), and told what came of it
    (`conclude`).
    """

    __slots__ = ("_clock", "_entries", "_least", "_said", "_shared", "_shown", "_standing", "_withheld")

    def __init__(self, index: int, graph: Graph, outlet: Outlet, loop: Loop, clock: Clock, *, shared: bool) -> None:
        super().__init__(index, graph, outlet)
        self._clock = clock
        self._shared = shared
        self._said: list[tuple[int, Told]] = []
        self._standing: dict[str, list[tuple[Row, int]]] = {}
        self._withheld: list[tuple[int, Told]] = []
        self._shown = NEG  # all is told up to here
        self._entries = [(step, port, graph.steps[step].inputs[port]) for step, port in loop.entries]
        self._least = min(self._lead(feed) for _, _, feed in self._entries)

    def refresh(self, step: str) -> None:
        """Who listens to a step inside is told what it sends."""

    def take(self) -> None:
        pending, self.pending = self.pending, []
        for step, port, facts, notices in pending:
            count = len(facts) if notices is None else len(facts) + len(notices)
            self.credit += count
            self._bound.moved(count)
            self._clock.bring(step, port, facts, notices)

    def settle(self, watermark: int | None, reach: Reach) -> None:
        clock = self._clock
        for step, port, feed in self._entries:
            ahead = self._known.get(feed)
            clock.reach(step, port, reach(feed) if ahead is None or watermark is None else watermark + ahead)
        if not self.is_open:
            for told in self._run(clock.go_on()):
                self._shown = clock.told()
                self.send(*told)
            self._shown = clock.told()
        elif not self._shared:
            self.conclude(is_endless=has_no_end(len(self.try_on())))

    @property
    def number(self) -> int:
        """The number of its loop in the plan."""
        return self._clock.loop.number

    @property
    def is_open(self) -> bool:
        """Whether the stream has ended, and it is to be seen whether the loop comes to an end, too."""
        clock = self._clock
        return clock.frontier() >= POS and not clock.unfinished and clock.known < POS

    @property
    def present(self) -> int:
        """How far the stream has come."""
        return self._clock.present

    def come_to(self, present: int) -> None:
        """The stream has come as far as a time, and perhaps further."""
        self._clock.come_to(present)

    def come_to_watermark(self, watermark: int) -> None:
        """The same, for all that feeds the loop is known as far as a watermark."""
        if NEG < watermark < POS:
            self._clock.come_to(shift(watermark, self._least))

    def try_on(self) -> Sequence[int]:
        """Follow the loop behind the stream's end, and tell nothing yet; returns the times there that it has come to."""
        clock, graph = self._clock, self._graph
        self._said = [(clock.told(), told) for told in self._run(clock.go_on())]
        self._standing = {name: graph.standing_rows(name) for name in clock.loop.members}
        self._withheld = [(clock.told(), told) for told in self._run(clock.follow())]
        return clock.passes

    def conclude(self, *, is_endless: bool) -> None:
        """What follows behind the stream's end is told, where it comes to an end; else what stands ends at the present."""
        clock = self._clock
        said, standing, withheld = self._said, self._standing, self._withheld
        self._said, self._standing, self._withheld = [], {}, []
        for known, told in said:
            self._shown = known
            self.send(*told)
        if is_endless:
            clock.stop()
            self._shown = clock.known
            for name, rows in standing.items():
                if rows:
                    self.send(name, [], Notices((), [(row, since, clock.known) for row, since in rows]))
            return
        for known, told in withheld:
            self._shown = known
            self.send(*told)
        self._shown = clock.told()

    def _run(self, told: Iterable[Told]) -> Iterable[Told]:
        """What follows, with who has failed, and who makes more than there is room for."""
        graph, clock = self._graph, self._clock
        try:
            for name, facts, notices in told:
                self._bound.moved(len(facts) + (0 if notices is None else len(notices)))
                if name in graph.hearing:
                    graph.hearing[name]("", facts, notices)
                yield name, facts, notices
        except EndlessError as error:
            time = clock.known
            name = clock.running.members[error.member]
            raise graph.creates_values(clock, name, (error.row, time, time)) from error
        except Exception as error:
            raise graph.failure(clock.running.members[0], (), error) from error

    def count_waiting(self, counts: Counter[str]) -> None:
        super().count_waiting(counts)
        for (step, port), facts in self._clock.waiting():
            feed = self._graph.steps[step].inputs[port]
            if feed.kind == "step":
                counts[feed.name] += facts

    def frontier(self, step: str) -> int:
        return self._shown

    def restore_frontiers(self) -> None:
        """The clock has been restored."""
        self._shown = self._clock.told()

    def deadline(self) -> int:
        due = self._clock.due()
        if due >= POS or self._clock.unfinished:
            return POS
        return NEG if self.is_irregular else due - self._least

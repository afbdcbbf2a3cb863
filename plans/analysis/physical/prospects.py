"""Prospects: who may sleep while a predicate is absent, and whose facts are of no use meanwhile.

`□[a,b] q` cannot hold before `f + b` once q was absent at f, so what is joined with it is of no use before then. That is the
rule disabling of Laser2 (2021, Algorithms 1 and 2) with its cascade, decided here from the plan:

* a **sleeper** is an erode over an input predicate. It falls asleep when the predicate is absent, and wakes when the
  predicate has been present long enough for a run to be complete;
* **dead** ranges flow down: a join with an input that cannot hold cannot hold either, nor can an erode over it;
* **useless** ranges flow up: what could only meet what is dead is of no use to anyone, up to the input itself. A sleeper of
  which only its own erode would be spared is none: looking costs as much as eroding;
* a **gate** stands on each port at which that may be the case. While its guard holds, facts that begin in the range wait
  there unread, and are dropped once the range has grown over them (`runtime/network/prospects.py`).

Where no `input` is declared, a derived predicate may come from the stream as well. All such predicates share one sleeper,
`STRANGERS`, which wakes when a fact of any of them does come.

A predicate that the program's own facts have completed bounds its partners in the same way, from its last time on: the rules
that are disregarded in the optimised procedure of MeTeoR (2023, section 5.2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from tidelog.plans.analysis.physical.row_prospects import find_row_blocker
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import LIMIT, NEG, POS, Metric, Timeline
from tidelog.plans.plan.guards import Blocker, Guard, Port, Prospects, Sleeper
from tidelog.plans.plan.plan import AntiJoinShape, DilateShape, ErodeShape, Feed, JoinShape, PairShape, Step, UnionShape

SHORTEST_SLEEP = 8
"""On integers, windows of fewer ticks are too short to be worth a sleep (Laser2's remedy for its worst case)."""

STRANGERS = ""
"""In place of a step: the stream's facts of predicates that rules derive, or the program states, too."""

_MOST_GROUPS, _MOST_BLOCKERS = 8, 8


def find_prospects(
    steps: Sequence[Step], watched: Collection[str], facts: Iterable[Record], open_facts: Collection[str], timeline: Timeline
) -> Prospects:
    """The sleepers and gates of a plan's steps, in their order.

    `watched` are the steps whose coverage leaves the graph, `facts` the program's own, `open_facts` predicates whose facts
    are loaded later. Loops, and what feeds them, take no part: a loop tells the present from the frontiers that it gets.
    """
    if not any(map(_may_be_dead, steps)):
        return Prospects()
    return _Finder(steps, watched, facts, open_facts, timeline).find()


class _Finder:
    def __init__(
        self,
        steps: Sequence[Step],
        watched: Collection[str],
        facts: Iterable[Record],
        open_facts: Collection[str],
        timeline: Timeline,
    ) -> None:
        self.steps = {step.id: step for step in steps}
        self.watched = watched
        self.open_facts = open_facts
        self.timeline = timeline
        self.last: dict[str, int] = {}
        for predicate, _, _, hi in facts:
            self.last[predicate] = max(hi, self.last.get(predicate, NEG))
        self.readers: dict[str, list[Port]] = {name: [] for name in self.steps}
        for step in steps:
            for port, feed in enumerate(step.inputs):
                if feed.kind == "step":
                    self.readers[feed.name].append((step.id, port))
        self.into_loop = self._into_loop()
        strangers = [step.predicate for step in steps if _is_mixed(step)]
        self.sleepers: dict[str, Sleeper] = {STRANGERS: Sleeper(STRANGERS, tuple(strangers), 0, False)}
        self.dead: dict[str, Guard] = {}
        self.useless: dict[str, Guard] = {}
        self.sparing: Set[str | None] = frozenset()

    def _into_loop(self) -> set[str]:
        """The steps in loops, and those that feed them."""
        found: set[str] = set()
        for step in reversed(self.steps.values()):
            if step.loop is not None or any(reader in found for reader, _ in self.readers[step.id]):
                found.add(step.id)
        return found

    def find(self) -> Prospects:
        outside = [step for step in self.steps.values() if step.id not in self.into_loop]
        for step in outside:
            self._find_dead(step)
        gates = self._gates(outside)
        self.sparing = _sleepers_of(gates)
        if not self.sparing.isdisjoint(self.steps):
            gates = self._gates(outside)
        used = _sleepers_of(gates)
        sleepers = tuple(sleeper for name, sleeper in self.sleepers.items() if name in used)
        found = {port: find_row_blocker(port, self.steps, self.readers, self.sleepers, self.watched) for port in gates}
        rows = {port: blocker for port, blocker in found.items() if blocker is not None}
        return Prospects(sleepers, gates, rows, frozenset(self.dead))

    def _gates(self, outside: Sequence[Step]) -> dict[Port, Guard]:
        """The ports at which facts may be of no use, and when; a sleeper spares itself something if it spares others."""
        self.useless.clear()
        for step in reversed(outside):
            self._find_useless(step)
        gates: dict[Port, Guard] = {}
        for step in outside:
            for port, feed in enumerate(step.inputs):
                guard = self._useless_at(step, port)
                if guard and not self._is_guarded_above(feed):
                    gates[step.id, port] = guard
        return gates

    def _is_guarded_above(self, feed: Feed) -> bool:
        """Whether the one before has only this reader, so that its own gates keep the same facts back earlier."""
        if feed.kind != "step":
            return feed.kind != "stream"  # elsewhere nothing is to be gained
        before = self.steps[feed.name]
        ports = range(len(before.inputs))
        return len(self.readers[feed.name]) == 1 and all(self._useless_at(before, port) for port in ports)

    # --- down: what cannot hold -----------------------------------------------------------------------------------------

    def _find_dead(self, step: Step) -> None:
        guard = self._dead(step)
        if guard and len(guard) <= _MOST_GROUPS:
            self.dead[step.id] = guard

    def _dead(self, step: Step) -> Guard | None:
        """When, and at which times, nothing new can hold at this step."""
        match step.shape:
            case UnionShape():
                strangers = ((Blocker(STRANGERS, 0, 0),),)
                own = [Feed("stream", step.predicate)] if _is_mixed(step) else []
                return _all_of([strangers if feed in own else self._dead_feed(feed) for feed in step.inputs])
            case DilateShape(metric, future):
                low, high = (-metric.a, -metric.b) if future else (metric.b, metric.a)
                return _shifted(self._dead_feed(step.inputs[0]), low, high, metric)
            case ErodeShape(metric, future):
                low, high = (-metric.b, -metric.a) if future else (metric.a, metric.b)
                below = _shifted(self._dead_feed(step.inputs[0]), low, high, metric)
                return _one_of([self._sleep(step, step.shape), below])
            case JoinShape():
                return _one_of([self._dead_feed(feed) for feed in step.inputs])
            case AntiJoinShape():
                return self._dead_feed(step.inputs[0])
            case PairShape("since", metric):
                return _shifted(self._dead_feed(step.inputs[1]), metric.b, metric.a, metric)
        return None

    def _dead_feed(self, feed: Feed) -> Guard | None:
        if feed.kind == "step":
            return self.dead.get(feed.name)
        if feed.kind == "facts" and feed.name not in self.open_facts:
            last = self.last.get(feed.name, NEG)
            return None if last >= POS else ((Blocker(None, NEG if last <= NEG else last + 1, POS),),)
        return None

    def _sleep(self, step: Step, shape: ErodeShape) -> Guard | None:
        """An erode over the past of an input predicate may sleep, if its window is worth it."""
        metric, feed = shape.metric, step.inputs[0]
        source = self.steps.get(feed.name) if feed.kind == "step" else None
        if source is None or source.inputs != (Feed("stream", source.predicate),):
            return None
        is_worth_it = metric.length >= SHORTEST_SLEEP if self.timeline.is_integer else metric.length > 0
        if shape.future or metric.b >= LIMIT or not is_worth_it or metric.left_open or metric.right_open:
            return None
        self.sleepers[step.id] = Sleeper(step.id, (source.predicate,), metric.length, shape.clipped)
        return ((Blocker(step.id, metric.a, metric.b),),)

    # --- up: what is of no use ------------------------------------------------------------------------------------------

    def _find_useless(self, step: Step) -> None:
        if step.id in self.watched or not self.readers[step.id]:
            return
        guard = _all_of([self._useless_at(self.steps[reader], port) for reader, port in self.readers[step.id]])
        if guard:
            self.useless[step.id] = guard

    def _useless_at(self, step: Step, port: int) -> Guard | None:
        """When, and at which times, a fact on this port can make no difference."""
        if step.id in self.into_loop:
            return None
        above = self.useless.get(step.id)
        match step.shape:
            case UnionShape():
                return above
            case DilateShape(metric, future):
                low, high = (metric.b, metric.a) if future else (-metric.a, -metric.b)
                return _shifted(above, low, high, metric)
            case ErodeShape(metric, future) if port == 0:
                low, high = (metric.b, metric.a) if future else (-metric.a, -metric.b)
                own = ((Blocker(step.id, 0, -1),),) if step.id in self.sparing else None
                return _one_of([own, _shifted(above, low, high, metric)])
            case JoinShape():
                others = [self._dead_feed(feed) for i, feed in enumerate(step.inputs) if i != port]
                return _one_of([*others, above])
            case AntiJoinShape():
                return above
        return None


def _may_be_dead(step: Step) -> bool:
    """Whether it may be known by a step itself that something cannot hold: what all guards begin with."""
    return isinstance(step.shape, ErodeShape) or any(feed.kind == "facts" for feed in step.inputs)


def _sleepers_of(gates: Mapping[Port, Guard]) -> set[str | None]:
    return {blocker.sleeper for guard in gates.values() for group in guard for blocker in group}


def _is_mixed(step: Step) -> bool:
    """Whether a predicate comes from the stream and from elsewhere."""
    return len(step.inputs) > 1 and any(feed.kind == "stream" for feed in step.inputs)


def _shifted(guard: Guard | None, low: int, high: int, metric: Metric) -> Guard | None:
    """A guard seen through an operator; None where its interval has no end, or open ones, of which we claim nothing."""
    if not guard or metric.b >= LIMIT or metric.left_open or metric.right_open:
        return None
    return tuple(
        tuple(Blocker(item.sleeper, _moved(item.low, low), _moved(item.high, high)) for item in group) for group in guard
    )


def _moved(time: int, distance: int) -> int:
    return time if time <= NEG or time >= POS else time + distance


def _all_of(guards: Sequence[Guard | None]) -> Guard | None:
    """What holds when all of some guards do."""
    groups: dict[tuple[Blocker, ...], None] = {}
    alone: dict[str | None, Blocker] = {}
    for guard in guards:
        if not guard:
            return None
        for group in guard:
            if len(group) > 1:
                groups[group] = None
            else:
                alone[group[0].sleeper] = _both(group[0], alone.get(group[0].sleeper, group[0]))
    found = (*((blocker,) for blocker in alone.values()), *groups)
    return found if 0 < len(found) <= _MOST_GROUPS else None


def _both(one: Blocker, other: Blocker) -> Blocker:
    """The range that two of one sleeper's have in common."""
    return Blocker(one.sleeper, max(one.low, other.low), min(one.high, other.high))


def _one_of(guards: Iterable[Guard | None]) -> Guard | None:
    """What holds when one of some guards does: those of one group together, else the first of several groups."""
    found = [guard for guard in guards if guard]
    blockers = dict.fromkeys(blocker for guard in found if len(guard) == 1 for blocker in guard[0])
    if blockers:
        return (tuple(blockers)[:_MOST_BLOCKERS],)
    return found[0] if found else None

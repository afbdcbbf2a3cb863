"""Announcing: where what goes on holding until further notice is told where it begins and where it ends alone.

What a step announces is known to hold as far as its *reach*, ahead of the watermark as its lead is. Mostly that is its lead;
a negation's is that of what is negated, whatever else lags behind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.guards import Port, Prospects
from tidelog.plans.plan.plan import (
    AggregateShape,
    Announced,
    AntiJoinShape,
    AssignShape,
    DilateShape,
    ErodeShape,
    Feed,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    Shape,
    Step,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import lead_of_feed


def announcing_steps(
    steps: Sequence[Step],
    watched: Collection[str],
    leads: Mapping[str, int],
    prospects: Prospects,
    clocked: Collection[int] = (),
) -> tuple[dict[str, Announced], frozenset[Port]]:
    """The steps that announce that a row goes on holding, and that it does not any more, or pass this on; and who takes it.

    Someone takes it: outputs and constraints, which are `watched`, or ports of other steps. Whoever else reads such a step
    gets pieces (`plans/compiling/pieces.py`). The loops `clocked` go through time, and take notices inside.
    """
    if not any(announces(step.shape) for step in steps):
        return {}, frozenset()
    return _Announcing(steps, watched, leads, prospects, clocked).find()


def announces(shape: Shape) -> bool:
    """Whether standing rows begin at this operator: its rows hold as long as something does not come."""
    return isinstance(shape, AntiJoinShape | LatchShape | AssignShape | LatestShape | AggregateShape)


def _sweeps(shape: Shape) -> bool:
    """Whether a step takes notices only as far as all its ports are known."""
    if isinstance(shape, JoinShape):
        return len(shape.atoms) > 1
    return isinstance(shape, AntiJoinShape | AssignShape | ErodeShape)


def _only_takes(step: Step) -> bool:
    """Whether a step takes notices but makes none. An unbounded ◇ into the past needs only the begin of a row. `until`
    asks how far a row is known to hold when something comes on its right side."""
    shape = step.shape
    if step.loop is not None:
        return False
    return _lasts(shape) or (isinstance(shape, PairShape) and shape.operator == "until")


def _lasts(shape: Shape) -> bool:
    """Whether what has begun to hold has done so for ever."""
    return isinstance(shape, DilateShape) and not shape.future and shape.metric.b >= POS


def _groups(shape: Shape) -> bool:
    """Whether a step tells few rows of many, so that it takes notices whoever takes its own."""
    return isinstance(shape, AggregateShape | LatestShape | ThresholdShape)


def _distance(shape: DilateShape) -> int:
    """How much further the result of a ◇ is known than a standing row at its port; an open end of ϱ takes one off."""
    metric = shape.metric
    return -metric.a - metric.left_open if shape.future else metric.b - metric.right_open


class _Announcing:
    def __init__(
        self,
        steps: Sequence[Step],
        watched: Collection[str],
        leads: Mapping[str, int],
        prospects: Prospects,
        clocked: Collection[int],
    ) -> None:
        self.clocked = clocked
        self.steps = {step.id: step for step in steps}
        self.leads = leads
        self.heard = set(watched)  # what they announce is taken by someone
        gated = {name for name, _ in prospects.gates}
        self.irregular: set[str] = set()
        for step in steps:
            is_one = step.id in gated or step.id in prospects.far_sighted or isinstance(step.shape, SteppedShape)
            if is_one or any(feed.name in self.irregular for feed in step.inputs if feed.kind == "step"):
                self.irregular.add(step.id)
        self.gated = gated
        self.reach: dict[str, int] = {}  # of all that may announce
        self.loops: dict[int, list[Step]] = {}
        self.read: dict[str, list[Step]] = {step.id: [] for step in steps}
        for step in steps:
            if step.loop is not None:
                self.loops.setdefault(step.loop, []).append(step)
            for feed in step.inputs:
                if feed.kind == "step":
                    self.read[feed.name].append(step)

    def find(self) -> tuple[dict[str, Announced], frozenset[Port]]:
        for step in self.steps.values():
            self._follow(step)
        taking: set[Port] = set()
        for step in reversed(self.steps.values()):  # who reads a step outside loops comes behind it
            if step.loop is not None:
                if step == self.loops[step.loop][-1]:
                    taking |= self._taken_by_loop(self.loops[step.loop], step.loop in self.clocked)
                continue
            taken = self._taken(step) if step.id in self.reach or _only_takes(step) else []
            if step.id not in self.heard and not (taken and (_groups(step.shape) or _only_takes(step))):
                self.reach.pop(step.id, None)
                continue
            taking |= {(step.id, port) for port in taken}
            self.heard |= {step.inputs[port].name for port in taken}
        fed = {name for name, _ in taking}
        found: dict[str, Announced] = {}
        for name, reach in self.reach.items():
            step = self.steps[name]
            is_fed = (
                name in fed or step.loop is not None or isinstance(step.shape, LatchShape)
            )  # whose facts may come again, as in what stands
            beyond = reach - self.leads[name] if reach < POS else 0
            slowest = 0 if step.loop in self.clocked else self._slowest(step)
            found[name] = Announced(beyond, slowest, is_fed)
        return found, frozenset(taking)

    def _follow(self, step: Step) -> None:
        """Note how far what a step announces is known, if it may announce anything."""
        if step.loop is not None:
            if step == self.loops[step.loop][0]:
                self._follow_loop(self.loops[step.loop])
            return
        if _only_takes(step) or self.leads[step.id] <= NEG:
            return
        lead, shape = self.leads[step.id], step.shape
        fed_by = [self.reach[step.inputs[port].name] for port in self._taken(step)]
        if isinstance(shape, AntiJoinShape) and not fed_by:
            reach = self._lead(step.inputs[1])
        elif isinstance(shape, LatchShape):
            reach = self._lead(step.inputs[0])
        elif announces(shape) or (fed_by and (_sweeps(shape) or _groups(shape))):
            reach = lead
        elif fed_by and isinstance(shape, PairShape):
            reach = lead if 1 in self._taken(step) else self._lead(step.inputs[0])  # what M2 has begun goes on as M1 does
        elif fed_by:
            reach = min(fed_by) + (_distance(shape) if isinstance(shape, DilateShape) else 0)
        else:
            return
        self.reach[step.id] = lead if step.id in self.irregular else max(lead, reach)

    def _follow_loop(self, members: Sequence[Step]) -> None:
        """A loop announces as a whole: all that is read outside. A clocked one does so inside, too."""
        if members[0].loop in self.clocked:
            self.reach |= {step.id: self.leads[step.id] for step in members if not _lasts(step.shape)}
            return
        entries = [(step, port) for step, port in self._ports(members) if self._is_entry(step, port)]
        fed_by = [name for step, port in entries if (name := step.inputs[port].name) in self.reach]
        least = min((self._lead(step.inputs[port]) for step, port in entries), default=POS)
        if not fed_by or least <= NEG or any(self.reach[name] > least for name in fed_by):
            return
        if not all(step.id not in self.irregular and self._stays(step, least) for step in members):
            return
        for step in members:
            if step.id in self.heard or any(reader.loop != step.loop for reader in self.read[step.id]):
                self.reach[step.id] = self.leads[step.id]

    def _stays(self, step: Step, least: int) -> bool:
        """Whether a step of a loop is one in which time does not move, and that knows no more than the loop."""
        shape = step.shape
        if isinstance(shape, AntiJoinShape):
            return self._is_entry(step, 1) and self._lead(step.inputs[1]) <= least
        return isinstance(shape, JoinShape) or (isinstance(shape, UnionShape) and shape.reach == 1)

    def _taken_by_loop(self, members: Sequence[Step], is_clocked: bool) -> set[Port]:
        """The ports of a loop that take notices. A loop whose notices nobody takes tells none, unless it is clocked."""
        if is_clocked:
            taken = {(step.id, port) for step, port in self._ports(members) if self._comes_with(step, port)}
            self.heard |= {self.steps[name].inputs[port].name for name, port in taken}
            return taken
        if not any(step.id in self.reach and step.id in self.heard for step in members):
            for step in members:
                self.reach.pop(step.id, None)
            return set()
        taken = {(step.id, port) for step, port in self._ports(members) if self._feeds(step, port)}
        self.heard |= {self.steps[name].inputs[port].name for name, port in taken}
        return taken

    def _comes_with(self, step: Step, port: int) -> bool:
        """Whether a port of a clocked loop takes notices."""
        return self._feeds(step, port) and not (self._is_entry(step, port) and step.inputs[port].name in self.irregular)

    def _ports(self, members: Sequence[Step]) -> list[tuple[Step, int]]:
        return [(step, port) for step in members for port in range(len(step.inputs))]

    def _feeds(self, step: Step, port: int) -> bool:
        feed = step.inputs[port]
        return feed.kind == "step" and feed.name in self.reach

    def _is_entry(self, step: Step, port: int) -> bool:
        feed = step.inputs[port]
        return feed.kind != "step" or self.steps[feed.name].loop != step.loop

    def _taken(self, step: Step) -> list[int]:
        """The ports of a step that take what may be announced there; none of one that is never known, but for `until`."""
        if self.leads[step.id] <= NEG and not _only_takes(step):
            return []
        feeds = [(port, feed.name) for port, feed in enumerate(step.inputs) if feed.kind == "step"]
        return [port for port, name in feeds if name in self.reach and self._takes(step, port)]

    def _takes(self, step: Step, port: int) -> bool:
        """Whether a port takes notices of what feeds it."""
        match step.shape:
            case UnionShape():
                return True
            case JoinShape() | AntiJoinShape() | AssignShape() | ErodeShape():
                return not _sweeps(step.shape) or self._meets(step)
            case DilateShape(metric):
                return step.id not in self.irregular and (metric.b < POS or _only_takes(step))
            case AggregateShape():
                return step.id not in self.irregular
            case LatestShape() | ThresholdShape():
                return step.id not in self.irregular and self._is_plain(step.inputs[port])
            case PairShape(operator):
                if step.id in self.irregular:
                    return False
                return operator == "since" or (_only_takes(step) and port == 0 and self._is_plain(step.inputs[0]))
            case _:
                return False

    def _meets(self, step: Step) -> bool:
        """Whether a step knows no less, and no later, if it goes through time as far as all its ports are known."""
        if step.id in self.irregular:
            return False
        feeders = [feed.name for feed in step.inputs if feed.kind == "step" and feed.name in self.reach]
        reaches = [self.reach[name] for name in feeders]
        if isinstance(step.shape, AntiJoinShape):
            reaches.append(self._lead(step.inputs[1]))
        return bool(feeders) and min(reaches) <= min(map(self._lead, step.inputs))

    def _is_plain(self, feed: Feed) -> bool:
        """Whether what is announced is known no further than all else that comes with it."""
        return self.reach[feed.name] <= self._lead(feed)

    def _slowest(self, step: Step) -> int:
        after = step.shape.metric.a if isinstance(step.shape, PairShape) else 0  # what M2 brings follows so much later
        return min(range(len(step.inputs)), key=lambda port: self._lead(step.inputs[port]) + (after if port else 0))

    def _lead(self, feed: Feed) -> int:
        return lead_of_feed(feed, self.leads)

"""Recursion in a plan: which steps form a loop, where the future waits, and how far frontiers run ahead or behind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from tidelog.plans.analysis.horizons.memory import binds_value
from tidelog.plans.analysis.recursion.awaiting import check_awaiting
from tidelog.plans.analysis.recursion.clocked import asks_for_absence, order_of
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.plan.plan import BindShape, Feed, HoldShape, JoinShape, Loop, MoveShape, Step, UnionShape
from tidelog.plans.plan.shapes import awaits, lead, lead_of_feed, moves_in_time
from tidelog.plans.tree.components import back_edges, components
from tidelog.plans.tree.syntax import Variable


class LoopFinder:
    """Arranges steps for running: components in order, loops with their entries, leads and holds.

    A frontier lies behind the watermark by the **delay**: the sum of what the operators on the way look ahead, less what
    they look back (Ronca et al. 2022 decide the same from the program). In a loop the way may go round: if each round
    leads further into the past, nothing is ever final, and the program cannot be streamed.
    """

    def __init__(self, steps: Sequence[Step], span_of: Callable[[Step], Span], made: Collection[str]) -> None:
        self.steps = {step.id: step for step in steps}
        self.made = made
        """The predicates that the passes made: messages name those of the text."""
        self.span_of = span_of
        self._own = {step.id: [lead(step.shape, port) for port in range(len(step.inputs))] for step in steps}
        """The lead of each step over each of its ports."""

    def arrange(self) -> tuple[tuple[Step, ...], tuple[Loop, ...], dict[str, int]]:
        """The steps in order, the loops, and each step's lead over the watermark; ProgramError if a lead is infinite."""
        self._check_leads()
        ordered: list[Step] = []
        loops: list[Loop] = []
        leads: dict[str, int] = {}
        for members in components(self._successors()):
            steps = [self.steps[name] for name in members]
            if len(members) == 1 and Feed("step", members[0]) not in steps[0].inputs:
                ordered += steps
                leads[members[0]] = self._lead_of(steps[0], leads)
                continue
            loop, steps = self._loop(len(loops), steps, leads)
            loops.append(loop)
            ordered += steps
            for step in steps:
                leads[step.id] = _least(loop.origin_leads, loop.leads[step.id])
        problems = list(check_awaiting(ordered, leads, self.span_of))
        if problems:
            raise ProgramError([*dict.fromkeys(problems)])
        return tuple(ordered), tuple(loops), leads

    def _successors(self) -> dict[str, list[str]]:
        successors: dict[str, list[str]] = {name: [] for name in self.steps}
        for step in self.steps.values():
            for feed in step.inputs:
                if feed.kind == "step":
                    successors[feed.name].append(step.id)
        return successors

    def _check_leads(self) -> None:
        """An operator that looks ahead without end delays everything for ever, unless one time there is enough for it."""
        problems = [
            _undecided(step, self.span_of(step))
            for step in self.steps.values()
            if any(own <= NEG for own in self._own[step.id]) and not awaits(step.shape)
        ]
        if problems:
            raise ProgramError([*dict.fromkeys(problems)])  # several steps of one rule are told once

    # --- one component --------------------------------------------------------------------------------------------------

    def _loop(self, number: int, steps: list[Step], outside: dict[str, int]) -> tuple[Loop, list[Step]]:
        steps = [replace(step, loop=number) for step in steps]
        problems = [_undecided(step, self.span_of(step)) for step in steps if awaits(step.shape)]
        if problems:
            raise ProgramError([*dict.fromkeys(problems)])
        holds: list[Step] = []
        is_clocked = any(asks_for_absence(step, [each.id for each in steps]) for step in steps)
        if is_clocked:
            steps = [replace(step, shape=UnionShape()) if isinstance(step.shape, UnionShape) else step for step in steps]
        elif any(moves_in_time(step.shape) for step in steps):
            steps, holds = self._insert_holds(number, steps)
            if not any(NEG < lead_of_feed(feed, outside) < POS for _, _, feed in _entries(steps + holds)):
                holds[0] = replace(holds[0], inputs=(*holds[0].inputs, Feed("clock")))
        every = steps + holds
        by_origin: dict[str, list[tuple[str, int]]] = {}
        leads: dict[str, int] = {}
        for name, port, feed in _entries(every):
            origin = feed.name if feed.kind == "step" else f"/{feed.kind.replace('clock', 'stream')}"
            by_origin.setdefault(origin, []).append((name, port))
            leads[origin] = lead_of_feed(feed, outside)
        ways = [self._shortest(every, entries) for entries in by_origin.values()]
        if is_clocked:
            return self._clocked(number, every, by_origin, leads), every
        loop = Loop(
            number=number,
            members=tuple(step.id for step in every),
            entries=tuple(entry for entries in by_origin.values() for entry in entries),
            origins=tuple(number for number, entries in enumerate(by_origin.values()) for _ in entries),
            origin_leads=tuple(leads.values()),
            leads={step.id: tuple(way[step.id] for way in ways) for step in every},
            holds=tuple(hold.id for hold in holds),
            creates_values=tuple(step.id for step in every if computes(step) and self._comes_round(every, step)),
        )
        return loop, every

    def _clocked(
        self, number: int, steps: list[Step], entries: Mapping[str, Sequence[tuple[str, int]]], leads: Mapping[str, int]
    ) -> Loop:
        """A loop that goes through time: all of it is known as far as what feeds it last."""
        order, by_name = order_of(steps, self._refuse), {step.id: step for step in steps}
        return Loop(
            number=number,
            members=tuple(step.id for step in steps),
            entries=tuple(entry for each in entries.values() for entry in each),
            origins=tuple(number for number, each in enumerate(entries.values()) for _ in each),
            origin_leads=tuple(leads.values()),
            leads={step.id: (0,) * len(entries) for step in steps},
            holds=(),
            creates_values=tuple(name for group in order if len(group) > 1 for name in group if computes(by_name[name])),
            order=order,
        )

    def _refuse(self, step: Step) -> ProgramError:
        names = f"`{step.source}`" if step.source else f"`{step.predicate}`"
        message = f"{names} takes part in a recursion with `not`, which goes through time, and cannot"
        help = "let it look back alone, by `diamondminus`, `boxminus` or `since`, from rules outside of this recursion"
        return ProgramError([Diagnostic("unstratified", message, self.span_of(step), help=help)])

    def _comes_round(self, steps: list[Step], step: Step) -> bool:
        """Whether what a step sends can come back to it at the same time; otherwise each round moves on in time."""
        way = self._shortest(steps, [(step.id, 0)])
        back = (way[feed.name] + lead(step.shape, port) for port, feed in enumerate(step.inputs) if feed.name in way)
        return min(back, default=POS) <= 0

    def _insert_holds(self, number: int, steps: list[Step]) -> tuple[list[Step], list[Step]]:
        by_name = {step.id: step for step in steps}
        successors = {name: list(dict.fromkeys(following)) for name, following in self._successors().items()}
        holds: dict[str, Step] = {}
        for source, target in back_edges(successors, [step.id for step in steps]):
            name = f"{source}/hold"
            holds.setdefault(name, Step(name, by_name[source].predicate, HoldShape(), (Feed("step", source),), loop=number))
            step = by_name[target]
            inputs = tuple(Feed("step", name) if feed == Feed("step", source) else feed for feed in step.inputs)
            by_name[target] = replace(step, inputs=inputs)
        return list(by_name.values()), list(holds.values())

    def _shortest(self, steps: list[Step], entries: Sequence[tuple[str, int]]) -> dict[str, int]:
        """The least lead of every step over some entries (Bellman–Ford); ProgramError if rounds lead into the past.

        A way that needs no more steps than there are goes nowhere twice; one that still gets shorter goes round.
        """
        by_name = {step.id: step for step in steps}
        following: dict[str, list[tuple[str, int]]] = {step.id: [] for step in steps}
        for step in steps:
            for port, feed in enumerate(step.inputs):
                if feed.name in following and feed.kind == "step":
                    following[feed.name].append((step.id, lead(step.shape, port)))
        distance = dict.fromkeys(by_name, POS)
        for name, port in entries:
            distance[name] = min(distance[name], lead(by_name[name].shape, port))
        changed = dict.fromkeys(name for name, _ in entries)
        for _ in range(len(steps) + 1):
            shorter: dict[str, None] = {}
            for name in changed:
                for target, own in following[name]:
                    if distance[name] + own < distance[target]:
                        distance[target] = distance[name] + own
                        shorter[target] = None
            if not shorter:
                return distance
            changed = shorter
        raise ProgramError([self._endless(steps)])

    def _endless(self, steps: list[Step]) -> Diagnostic:
        names = [step.predicate for step in steps if step.predicate not in self.made] or [step.predicate for step in steps]
        circle = " -> ".join(dict.fromkeys([*names, names[0]]))
        return Diagnostic(
            "infinite-delay",
            f"the recursion through {circle} looks further ahead in each round, so a stream never decides it",
            next((self.span_of(step) for step in steps if step.rule), Span(0, 0)),
            help="let the recursion look back as far as it looks ahead",
        )

    # --- leads over the watermark ---------------------------------------------------------------------------------------

    def _lead_of(self, step: Step, leads: dict[str, int]) -> int:
        found = _least([lead_of_feed(feed, leads) for feed in step.inputs], self._own[step.id])
        # what no stream feeds is known for all time, but for where the stream starts: time tells that
        return 0 if found >= POS and any(feed.kind == "start" for feed in step.inputs) else found


def _undecided(step: Step, span: Span) -> Diagnostic:
    if isinstance(step.shape, MoveShape):
        message = f"`{step.source}` derives what holds at any time in the past, so a stream never decides it"
        help = "tie the head's time to one in a window: for `p(X)@T in [5]` write `@T`, or add `S >= T` for `@S`"
        return Diagnostic("infinite-delay", message, span, help=help)
    message = f"`{step.source}` looks ahead without end, so a stream never decides it"
    return Diagnostic("infinite-delay", message, span, help="give the operator a finite interval")


def _least(outside: Sequence[int], distances: Sequence[int]) -> int:
    """The lead of a step over the watermark, from those of what feeds it and its own over each."""
    return min((_add(a, b) for a, b in zip(outside, distances, strict=True)), default=POS)


def _entries(steps: Sequence[Step]) -> list[tuple[str, int, Feed]]:
    """The ports of a component that are fed from outside, and by what."""
    members = {step.id for step in steps}
    return [
        (step.id, port, feed)
        for step in steps
        for port, feed in enumerate(step.inputs)
        if feed.kind != "step" or feed.name not in members
    ]


def computes(step: Step) -> bool:
    """Whether a step's rows may hold numbers that its input does not: `Y = X + 1`, or the times at which it holds."""
    if isinstance(step.shape, BindShape):
        return True
    if not isinstance(step.shape, JoinShape):
        return False
    bound = {term.name for terms in step.shape.atoms for term in terms if isinstance(term, Variable)}
    return any(binds_value(comparison, bound) for comparison in step.shape.comparisons)


def _add(a: int, b: int) -> int:
    if a >= POS or b >= POS:
        return POS
    return NEG if a <= NEG or b <= NEG else a + b

"""Recursion in a plan: which steps form a loop, where the future waits, and how far frontiers run ahead or behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tidelog.plans.analysis.components import back_edges, components
from tidelog.plans.errors import Diagnostic, ProgramError, Span
from tidelog.plans.plan import Feed, HoldShape, Loop, Step
from tidelog.plans.shapes import lead, moves_in_time
from tidelog.plans.timeline import NEG, POS


class LoopFinder:
    """Arranges steps for running: components in order, loops with their entries, leads and holds.

    A frontier lies behind the watermark by the **delay**: the sum of what the operators on the way look ahead, less what
    they look back (Ronca et al. 2022 decide the same from the program). In a loop the way may go round: if each round
    leads further into the past, nothing is ever final, and the program cannot be streamed.
    """

    def __init__(self, steps: Sequence[Step], span_of: Callable[[Step], Span]) -> None:
        self.steps = {step.id: step for step in steps}
        self.span_of = span_of

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
            loop, steps = self._loop(len(loops), steps)
            loops.append(loop)
            ordered += steps
            self._lead_of_loop(loop, steps, leads)
        return tuple(ordered), tuple(loops), leads

    def _successors(self) -> dict[str, list[str]]:
        successors: dict[str, list[str]] = {name: [] for name in self.steps}
        for step in self.steps.values():
            for feed in step.inputs:
                if feed.kind == "step":
                    successors[feed.name].append(step.id)
        return successors

    def _check_leads(self) -> None:
        """An operator that looks ahead without end delays everything for ever."""
        problems = [
            Diagnostic(
                "infinite-delay",
                f"`{step.rule}` looks ahead without end, so a stream never decides it",
                self.span_of(step),
                help="give the operator a finite interval",
            )
            for step in self.steps.values()
            if any(lead(step.shape, port) <= NEG for port in range(len(step.inputs)))
        ]
        if problems:
            raise ProgramError(problems)

    # --- one component --------------------------------------------------------------------------------------------------

    def _loop(self, number: int, steps: list[Step]) -> tuple[Loop, list[Step]]:
        steps = [replace(step, loop=number) for step in steps]
        holds: list[Step] = []
        if any(moves_in_time(step.shape) for step in steps):
            steps, holds = self._insert_holds(number, steps)
        members = {step.id for step in steps} | {hold.id for hold in holds}
        entries = [
            (step.id, port)
            for step in steps
            for port, feed in enumerate(step.inputs)
            if feed.kind != "step" or feed.name not in members
        ]
        every = [*steps, *holds]
        leads = {step.id: tuple(self._shortest(every, entry)[step.id] for entry in entries) for step in every}
        loop = Loop(number, tuple(step.id for step in every), tuple(entries), leads, tuple(hold.id for hold in holds))
        return loop, every

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

    def _shortest(self, steps: list[Step], entry: tuple[str, int]) -> dict[str, int]:
        """The least lead of every step over one entry (Bellman–Ford); ProgramError if rounds lead into the past."""
        distance = {step.id: POS for step in steps}
        by_name = {step.id: step for step in steps}
        distance[entry[0]] = lead(by_name[entry[0]].shape, entry[1])
        for _ in range(len(steps) + 1):
            changed = False
            for step in steps:
                for port, feed in enumerate(step.inputs):
                    before = distance.get(feed.name, POS) if feed.kind == "step" else POS
                    if before < POS and before + lead(step.shape, port) < distance[step.id]:
                        distance[step.id] = before + lead(step.shape, port)
                        changed = True
            if not changed:
                return distance
        raise ProgramError([self._endless(steps)])

    def _endless(self, steps: list[Step]) -> Diagnostic:
        names = [step.predicate for step in steps]
        circle = " -> ".join(dict.fromkeys([*names, names[0]]))
        return Diagnostic(
            "infinite-delay",
            f"the recursion through {circle} looks further ahead in each round, so a stream never decides it",
            next((self.span_of(step) for step in steps if step.rule), Span(0, 0)),
            help="let the recursion look back as far as it looks ahead",
        )

    # --- leads over the watermark ---------------------------------------------------------------------------------------

    def _lead_of(self, step: Step, leads: dict[str, int]) -> int:
        return min((_add(_outer(feed, leads), lead(step.shape, port)) for port, feed in enumerate(step.inputs)), default=POS)

    def _lead_of_loop(self, loop: Loop, steps: list[Step], leads: dict[str, int]) -> None:
        by_name = {step.id: step for step in steps}
        outside = [_outer(by_name[name].inputs[port], leads) for name, port in loop.entries]
        for step in steps:
            leads[step.id] = min((_add(f, d) for f, d in zip(outside, loop.leads[step.id], strict=True)), default=POS)


def _outer(feed: Feed, leads: dict[str, int]) -> int:
    if feed.kind == "step":
        return leads[feed.name]
    return 0 if feed.kind == "stream" else POS


def _add(a: int, b: int) -> int:
    return POS if a >= POS or b >= POS else a + b

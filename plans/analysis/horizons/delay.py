"""The delay of each output: how far behind the watermark its answers become final, and which operators are the cause."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.plans.analysis.horizons.notation import decode_distance, written_operators
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import NEG, POS, format_time
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    AssignShape,
    DilateShape,
    LatchShape,
    LatestShape,
    MoveShape,
    PeriodShape,
    Plan,
    Step,
    TupleShape,
)
from tidelog.plans.plan.shapes import lead, lead_of_feed
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Time


@dataclass(frozen=True, slots=True)
class OutputDelay:
    """How long an answer may take to become final, in the program's time, and why."""

    predicate: str
    delay: Time
    why: str


def delays(plan: Plan) -> tuple[OutputDelay, ...]:
    """The delay of each output: 0 where its frontier is never behind the watermark."""
    steps = {step.id: step for step in plan.steps}
    written = written_operators(plan)
    return tuple(_delay(plan, steps, written, predicate, name) for predicate, name in plan.outputs.items())


def _delay(plan: Plan, steps: Mapping[str, Step], written: Mapping[str, str], predicate: str, name: str) -> OutputDelay:
    if plan.leads[name] >= POS:
        return OutputDelay(predicate, decode_distance(0, plan.timeline), "no stream feeds it")
    ahead = max(NEG, plan.leads[name] - max(plan.delays.values(), default=0))
    if ahead >= 0:
        above = [steps[step].shape for step in _above(steps, name)]
        why = "waits for nothing in the future"
        if any(isinstance(shape, TupleShape) for shape in above):
            why = "behind the watermark, for which a tuple window waits"
        elif any(isinstance(shape, AggregateShape) for shape in above):
            why = "behind the watermark, for which an aggregate waits"
        elif any(isinstance(shape, LatestShape) for shape in above):
            why = "behind the watermark, for which `latest` waits"
        elif any(isinstance(shape, AssignShape) for shape in above):
            why = "behind the watermark, for which `:=` waits"
        elif any(isinstance(shape, AntiJoinShape | LatchShape) for shape in above):
            why = "behind the watermark, for which `not` waits"
        return OutputDelay(predicate, decode_distance(0, plan.timeline), why)
    reasons = [*_moves(plan, steps, written, name), *_late(plan)]
    return OutputDelay(predicate, decode_distance(-ahead, plan.timeline), "; ".join(reasons))


def _late(plan: Plan) -> list[str]:
    """The input whose facts may come latest: the others wait for it."""
    if not plan.delays:
        return []
    name, delay = max(plan.delays.items(), key=lambda item: item[1])
    return [f"`{format_predicate(name)}` may come {format_time(decode_distance(delay, plan.timeline))} late"]


def _above(steps: Mapping[str, Step], name: str) -> set[str]:
    """A step and all that it is derived from."""
    return reachable([name], lambda step: [feed.name for feed in steps[step].inputs if feed.kind == "step"])


def _moves(plan: Plan, steps: Mapping[str, Step], written: Mapping[str, str], name: str) -> list[str]:
    """The operators on the slowest way from the stream, with what each looks ahead, less what it looks back."""
    texts = []
    for step, moved in _slowest_way(plan, steps, name):
        if isinstance(step.shape, PeriodShape):
            texts.append(f"`{written[step.id]}` is told when the period is over")
        elif moved <= NEG:
            texts.append(f"`{written[step.id]}` looks ahead without end: told as soon as it is certain")
        elif moved:
            distance = format_time(decode_distance(abs(moved), plan.timeline))
            is_box = isinstance(step.shape, DilateShape) and written[step.id].startswith("box")
            is_head = is_box or isinstance(step.shape, MoveShape)
            verb, ahead = ("in the head reaches", moved > 0) if is_head else ("looks", moved < 0)
            texts.append(f"`{written[step.id]}` {verb} {distance} {'ahead' if ahead else 'back'}")
    return texts


def _slowest_way(plan: Plan, steps: Mapping[str, Step], name: str) -> Iterator[tuple[Step, int]]:
    """The steps on a way from a stream whose leads add up to that of the step `name`, and the lead of each."""
    reader: dict[str, tuple[Step, int] | None] = {name: None}
    waiting = deque([name])
    while waiting:
        step = steps[waiting.popleft()]
        for port, feed in enumerate(step.inputs):
            moved, before = lead(step.shape, port), lead_of_feed(feed, plan.leads)
            if before >= POS or max(NEG, before + moved) != plan.leads[step.id]:
                continue
            if feed.kind in ("stream", "clock", "arrivals"):
                yield step, moved
                yield from _back_along(reader, step.id)
                return
            if feed.name not in reader:
                reader[feed.name] = (step, moved)
                waiting.append(feed.name)


def _back_along(reader: Mapping[str, tuple[Step, int] | None], name: str) -> Iterator[tuple[Step, int]]:
    while (link := reader[name]) is not None:
        yield link
        name = link[0].id

"""Repeating: which unions pass on what comes again, since the one step that they feed keeps the same coverage.

An input may repeat itself, so a union keeps what it has sent, and sends each row at each time once. Where all that it feeds
is one port of a step that stores the same rows, merged, and sends only what is new by that, it would be stored twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tidelog.plans.plan.plan import (
    Announced,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    LatchShape,
    Shape,
    Step,
    UnionShape,
)


def pass_on(steps: Sequence[Step], watched: Collection[str], announcing: Mapping[str, Announced]) -> tuple[Step, ...]:
    """The steps; of those that are unions, some `passes` on what comes again. What leaves the graph is told once."""
    readers: dict[str, list[tuple[Step, int]]] = {}
    for step in steps:
        for port, feed in enumerate(step.inputs):
            if feed.kind == "step":
                readers.setdefault(feed.name, []).append((step, port))

    def passes(step: Step) -> bool:
        read = readers.get(step.id, [])
        if len(read) != 1 or step.id in watched or step.id in announcing or step.loop is not None:
            return False
        ((reader, port),) = read
        is_fed = reader.id in announcing and announcing[reader.id].is_fed and not isinstance(reader.shape, LatchShape)
        return reader.loop is None and not is_fed and _takes_again(reader.shape, port)

    return tuple(
        replace(step, shape=replace(step.shape, passes=True))
        if isinstance(step.shape, UnionShape) and passes(step)
        else step
        for step in steps
    )


def _takes_again(shape: Shape, port: int) -> bool:
    """Whether a port takes what it knows already without harm."""
    match shape:
        case DilateShape(metric):
            return not metric.is_punctual  # a shift keeps nothing
        case AntiJoinShape():
            return port == 1
        case ErodeShape() | LatchShape():
            return True
        case _:
            return False

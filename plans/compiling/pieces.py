"""Pieces: a step between one that announces and its readers that take no notices.

So each reader of a step gets what it takes: that a row goes on holding is announced to all who take that, whoever else
reads the step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tidelog.plans.plan.guards import Port
from tidelog.plans.plan.plan import Announced, Feed, Step, ToldShape


def tell_in_pieces(
    steps: Sequence[Step], announcing: Mapping[str, Announced], taking: Collection[Port], leads: Mapping[str, int]
) -> tuple[tuple[Step, ...], dict[str, int]]:
    """The steps and their leads, with one behind each that announces, if it feeds ports that are not `taking` that."""
    if not announcing:
        return tuple(steps), dict(leads)
    read: set[str] = set()
    found: dict[str, Step] = {}
    for step in steps:
        cut = {
            port: Feed("step", f"{feed.name}/told")
            for port, feed in enumerate(step.inputs)
            if feed.kind == "step" and feed.name in announcing and (step.id, port) not in taking
        }
        read.update(feed.name for feed in cut.values())
        found[step.id] = step if not cut else replace(step, inputs=tuple(cut.get(i, f) for i, f in enumerate(step.inputs)))
        if step.id in announcing:
            how, name = announcing[step.id], f"{step.id}/told"
            found[name] = Step(name, step.predicate, ToldShape(how.beyond, how.is_fed), (Feed("step", step.id),))
    told = {f"{name}/told" for name in announcing}
    kept = tuple(step for name, step in found.items() if name not in told or name in read)
    return kept, {**leads, **{name: leads[name.removesuffix("/told")] for name in read}}

"""What is told in pieces: rows that go on holding, for readers that take no notices of their begins and ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.analysis.physical.announcing import announces
from tidelog.plans.plan.feeds import consumers_of
from tidelog.plans.plan.plan import Plan, Step, ToldShape


@dataclass(frozen=True, slots=True)
class Piecewise:
    """What may go on holding, and the rules that are told at each time how far it has come.

    `what` is a predicate, or a rule of which it is a part.
    """

    what: str
    rules: tuple[str, ...]

    def lines(self) -> list[str]:
        """One line for each of the rules."""
        return [f"within {rule}" if rule == self.what else f"{self.what}: to {rule}" for rule in self.rules]


def piecewise(plan: Plan) -> tuple[Piecewise, ...]:
    """What each moment costs something for, though nothing begins or ends then (`docs/internals/standing-rows.md`)."""
    steps = {step.id: step for step in plan.steps}
    consumers = consumers_of(plan)
    watched = {*plan.outputs.values(), *plan.constraints}

    def rules_behind(step: Step, seen: set[str]) -> Iterator[str]:
        """The rules that read a step, through unions, which are no rules of their own."""
        for name, _ in consumers[step.id]:
            if name not in seen:
                seen.add(name)
                reader = steps[name]
                yield from [reader.source] if reader.source else rules_behind(reader, seen)

    def named(step: Step) -> str:
        """The predicate of a step, as the program names it."""
        return step.predicate if step.predicate not in plan.normal.origins else step.source

    found: dict[str, dict[str, None]] = {}
    for step in plan.steps:
        is_silent = announces(step.shape) and step.id not in plan.announcing and step.id not in watched
        if is_silent or isinstance(step.shape, ToldShape):
            source = steps[step.inputs[0].name] if isinstance(step.shape, ToldShape) else step
            found.setdefault(named(source), {}).update(dict.fromkeys(rules_behind(step, set())))
    return tuple(Piecewise(name, tuple(rules)) for name, rules in found.items() if rules)

"""Fusing: steps of a plan that one operator computes become one step.

`alarm(S) :- not off(S) since on(S)` is three rules in normal form: where `on` has held before, where `off` does not hold of
that, and since when. What `on` switches on and `off` switches off is one step, a latch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tidelog.plans.data.timeline import POS
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Announced, AntiJoinShape, DilateShape, LatchShape, PairShape, Step
from tidelog.plans.tree.syntax import Atom, Binary, Negation, Rule, Term, Variable


def fuse(
    steps: Sequence[Step], announcing: Mapping[str, Announced], watched: Collection[str], rules: Iterable[Rule], touch: int
) -> tuple[Step, ...]:
    """The steps, those of them as one that are a latch; `rules` are the program's in normal form.

    What it sends is told by notices, so all that it feeds has to take them; what switches off comes as facts alone.
    """
    by_name = {step.id: step for step in steps}
    written: dict[str, Rule] = {}
    found: dict[str, Step] = {}
    spared: set[str] = set()
    for step in steps:
        parts = _parts(step, by_name, touch)
        if parts is not None and step.id in announcing and not announcing[parts[0].id].is_fed:
            written = written or {format_statement(rule): rule for rule in rules}
            found[step.id] = _latch(step, parts[0], written)
            spared |= {part.id for part in parts}
    return _without(spared - set(watched), [found.get(step.id, step) for step in steps])


def _parts(step: Step, steps: Mapping[str, Step], touch: int) -> tuple[Step, Step] | None:
    """The steps that a `since[0,∞)` is a latch with: its left side, where N does not hold of what M has brought before."""
    shape = step.shape
    if not isinstance(shape, PairShape) or shape.operator != "since" or shape.left != shape.right:
        return None
    if shape.metric.a or shape.metric.left_open or shape.metric.b < POS or step.loop is not None:
        return None
    left = steps[step.inputs[0].name]
    if not isinstance(left.shape, AntiJoinShape):
        return None
    before = steps[left.inputs[0].name]
    if not isinstance(before.shape, DilateShape) or before.inputs[0] != step.inputs[1]:
        return None
    metric = before.shape.metric
    return None if before.shape.future or metric.a > touch or metric.b < POS else (left, before)


def _latch(step: Step, left: Step, rules: Mapping[str, Rule]) -> Step:
    pair, absent = step.shape, left.shape
    if not isinstance(pair, PairShape) or not isinstance(absent, AntiJoinShape):
        raise TypeError(f"no latch: {step!r}")
    names = dict(zip(absent.columns, pair.right, strict=True))
    negated: tuple[Term, ...] = tuple(
        replace(term, name=names[term.name]) if isinstance(term, Variable) else term for term in absent.negated
    )
    text, rule = step.rule, rules[step.rule]
    body, negation = rule.body[0], rules[left.rule].body[-1]
    if isinstance(body, Binary) and isinstance(negation, Negation) and isinstance(negation.operand, Atom):
        unfused = replace(negation, operand=replace(negation.operand, arguments=negated))
        text = format_statement(replace(rule, body=(replace(body, left=unfused),)))
    inputs = (left.inputs[1], step.inputs[1])
    return replace(step, shape=LatchShape(pair.right, negated), inputs=inputs, rule=text)


def _without(spared: Collection[str], steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps but those that were spared and that nobody reads any more."""
    kept: list[Step] = []
    read: set[str] = set()
    for step in reversed(steps):
        if step.id not in spared or step.id in read:
            kept.append(step)
            read.update(step.feeders)
    return tuple(reversed(kept))

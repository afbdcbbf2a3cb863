"""What may grow as long as the stream goes on: rows that never expire, and rows that recursion goes on computing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.analysis.horizons.memory import binds_value
from tidelog.plans.analysis.horizons.notation import written_operators
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import DilateShape, JoinShape, LatchShape, LatestShape, Plan, Step
from tidelog.plans.plan.shapes import awaits, lead_of_feed
from tidelog.plans.tree.syntax import Variable


@dataclass(frozen=True, slots=True)
class GrowthHint:
    """A rule whose state has no bound but the number of different rows, why, and what would bound it."""

    step: str
    rule: str
    why: str
    help: str


def growth_hints(plan: Plan) -> tuple[GrowthHint, ...]:
    """The steps of a plan whose rows never go. What reads them, and stores it, keeps those rows as well."""
    written = written_operators(plan)
    return tuple(hint for step in plan.steps for hint in _hints(plan, step, written[step.id]))


_MADE = ("diamondminus",)
"""What the passes make of other operators."""
_WITHOUT_END = "that is bounded where rows are, such as those of devices; where they are not, give it a finite interval"


def _of_dilation(step: Step, written: str) -> GrowthHint:
    """Of an operator without an end; one that the passes have made of `since` is named as the rule has it."""
    operator = written.partition("[")[0].partition("(")[0]
    if operator not in _MADE or operator in step.source.lower():
        why, help = f"`{written}` keeps each of its rows for ever", "give the operator a finite interval"
    else:
        made_of = next((word for word in ("since", "until", "latest") if word in step.source.lower()), "the rule")
        named = made_of if made_of == "the rule" else f"`{made_of}` without an end"
        why = f"{named} keeps one range of each different row for ever"
        help = _WITHOUT_END
    return GrowthHint(step.id, step.source, why, help)


def _hints(plan: Plan, step: Step, written: str) -> Iterator[GrowthHint]:
    shape = step.shape
    if awaits(shape) and min(lead_of_feed(feed, plan.leads) for feed in step.inputs) < POS:
        why = (
            f"`{written}` is open until what it looks for comes, and with it each range of what is to hold at the same time"
        )
        yield GrowthHint(step.id, step.source, why, "give the operator a finite interval")
    elif isinstance(shape, DilateShape) and shape.metric.b >= POS and lead_of_feed(step.inputs[0], plan.leads) < POS:
        yield _of_dilation(step, written)
    if isinstance(shape, LatchShape) and lead_of_feed(step.inputs[1], plan.leads) < POS:
        yield GrowthHint(
            step.id, step.source, "`since` without an end keeps each row until its left side ends", _WITHOUT_END
        )
    if isinstance(shape, LatestShape) and shape.size >= POS and lead_of_feed(step.inputs[0], plan.leads) < POS:
        why = f"`{written}` holds the last value of each group for ever"
        yield GrowthHint(step.id, step.source, why, "say for how long, such as `in [1 h]`")
    if isinstance(shape, JoinShape) and step.loop is not None and _computes(shape):
        why = f"each round of the recursion may compute new rows of `{format_predicate(step.predicate)}`"
        yield GrowthHint(step.id, step.source, why, "bound the value by a comparison")


def _computes(shape: JoinShape) -> bool:
    bound = {term.name for terms in shape.atoms for term in terms if isinstance(term, Variable)}
    return any(binds_value(comparison, bound) for comparison in shape.comparisons)

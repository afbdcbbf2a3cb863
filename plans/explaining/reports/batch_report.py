"""What `tidelog check -v` says of batch reasoning: which predicates are finite, repeat for ever, or need not do either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.analysis.recursion.ends import Ending
from tidelog.plans.compiling.batch import BatchPlan

Termination = Literal["finite", "periodic", "unbounded"]

_OF: Mapping[Ending, Termination] = {
    "finite": "finite",
    "forward": "periodic",
    "periodic": "periodic",
    "unbounded": "unbounded",
}
_ORDER: tuple[Termination, ...] = ("finite", "periodic", "unbounded")
_REASONS: Mapping[Ending, str] = {
    "finite": "each round of its recursion comes back to the time where it began",
    "forward": "its recursion moves on in time; up to any time it ends",
    "periodic": "its recursion moves in time",
    "unbounded": "its recursion makes values",
}


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """Whether the facts of some predicates come to an end; `reason` is empty where nothing recursive feeds them."""

    predicates: tuple[str, ...]
    termination: Termination
    reason: str


def component_reports(plan: BatchPlan) -> tuple[ComponentReport, ...]:
    """The components of a plan, each behind those that it reads (KR 2021, arXiv 2109.10691, and what feeds them)."""
    found: dict[str, ComponentReport] = {}
    for component in plan.components:
        own = _OF[component.ending] if component.is_recursive else "finite"
        feeds = [found[name] for name in component.reads if name in found]
        worst = max(feeds, key=lambda feed: _ORDER.index(feed.termination), default=None)
        reason = _REASONS[component.ending] if component.is_recursive else ""
        if worst is not None and _ORDER.index(worst.termination) > _ORDER.index(own):
            own, reason = worst.termination, f"it reads {worst.predicates[0]}"
        report = ComponentReport(component.predicates, own, reason)
        found.update(dict.fromkeys(component.predicates, report))
    return tuple(dict.fromkeys(found.values()))


def batch_lines(plan: BatchPlan) -> Iterator[str]:
    """The reports as lines of text, what is finite without recursion in one of them."""
    reports = component_reports(plan)
    yield "in batch (materialise, entails, consistent):"
    for report in reports:
        if report.reason:
            yield f"  {', '.join(report.predicates)}: {report.termination} ({report.reason})"
    plain = [name for report in reports if not report.reason for name in report.predicates]
    if plain:
        yield f"  {', '.join(plain)}: finite"


def batch_fields(plan: BatchPlan) -> list[dict[str, object]]:
    """The reports for JSON."""
    return [
        {"predicates": list(report.predicates), "termination": report.termination, "reason": report.reason}
        for report in component_reports(plan)
    ]

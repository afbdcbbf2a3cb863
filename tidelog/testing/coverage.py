"""Which rules of a program fired, and which never did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.diagnostics.source import Source
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import Rule
from tidelog.plans.tree.walk import written


@dataclass(frozen=True, slots=True)
class RuleCoverage:
    """A rule, the line at which it stands, and in how many tests it fired; None where no output needs it."""

    rule: str
    line: int
    tests: int | None


def fired_rules(plan: Plan, steps: Mapping[str, OperatorStatistics]) -> frozenset[str]:
    """The rules, as text, of which something was derived: by the last of the steps that each of them became."""
    heads = {format_statement(rule): head_predicate(rule.head) for rule in _rules(plan)}
    return frozenset(
        step.source
        for step in plan.steps
        if steps[step.id].sent and (step.id in plan.constraints or heads.get(step.source) == step.predicate)
    )


def coverage_of(plan: Plan, fired: Mapping[str, int]) -> list[RuleCoverage]:
    """Each rule of a program, in order; `fired` says in how many tests each of them did."""
    run = {step.source for step in plan.steps}
    source = Source(plan.program.text)
    texts = [(rule, format_statement(rule)) for rule in _rules(plan)]
    return [
        RuleCoverage(text, source.position(rule.span.start)[0], fired.get(text, 0) if text in run else None)
        for rule, text in texts
    ]


def _rules(plan: Plan) -> Iterator[Rule]:
    """The rules that the text has: without those that machines and alarms stand for."""
    return (item for item in written(plan.program) if isinstance(item, Rule))

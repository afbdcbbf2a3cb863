"""Pruned rules: what stands in the program's text and has no part in its plan, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.normalise import run_stages
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.syntax import Program, Rule
from tidelog.plans.tree.walk import written

_WHY = {
    "simplify": "its body never holds",
    "share": "another rule says the same",
    "leave_to_ask": "no output and no constraint needs it",
    "prune": "no output and no constraint needs it",
}


@dataclass(frozen=True, slots=True)
class PrunedRule:
    """A rule of the text that no step of the plan computes."""

    rule: str
    why: str


def pruned_rules(
    program: Program, keep: Iterable[str] | None = None, asked: Collection[Span] = ()
) -> tuple[PrunedRule, ...]:
    """The rules that a pass drops without anything in their place, in the order of the passes; `keep` as for `normalise`.

    The rules at the places `asked` are unfolded for an `ask`, so they have a part that the passes do not see.
    """
    found: list[PrunedRule] = []
    rules = (rule for rule in written(program) if isinstance(rule, Rule) and rule.span not in asked)
    left = {(rule.span, rule): rule for rule in rules}
    for stage, normal in run_stages(program, keep):
        present = _present(normal)
        gone = [key for key in left if key not in present]
        found += [PrunedRule(format_statement(left.pop(key)), _WHY.get(stage, f"dropped by {stage}")) for key in gone]
    return tuple(found)


def _present(normal: NormalProgram) -> set[tuple[object, Rule]]:
    return {(source.span, source) for source in normal.sources}

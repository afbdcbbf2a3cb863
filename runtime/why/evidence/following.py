"""Following premises one after the other: how far some of them hold together, and with which values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tidelog.plans.data.intervals import Ranges, covers, intersected
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Comparison, Formula, Negation, Variable
from tidelog.plans.tree.traverse import children, subformulas
from tidelog.runtime.why.evidence.clauses import variables_of
from tidelog.runtime.why.evidence.grounding import Binding
from tidelog.runtime.why.evidence.matching import Matcher
from tidelog.runtime.why.evidence.truth import TruthTeller

MOST_STATES = 200
"""So many substitutions are followed from premise to premise, at the most."""

State = tuple[Binding, Ranges]
"""Values for variables, and when all premises so far hold with them."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The first premise that holds with none of the values with which all before it do, and these."""

    premise: Formula
    states: Sequence[State]


class Follower:
    """Follows premises in the order of the text; `was_cut` says that not all substitutions were."""

    def __init__(self, matcher: Matcher, teller: TruthTeller) -> None:
        self._matcher = matcher
        self._teller = teller
        self.was_cut = False

    def failure(self, parts: Sequence[Formula], binding: Binding, lo: int, hi: int, *, anywhere: bool) -> Failure | None:
        """The first part that fails, where all have to hold throughout `lo … hi`, or, `anywhere`, at one time of it."""
        states: list[State] = [(binding, [(lo, hi)])]
        for premise in in_order(parts, binding):
            following = self._follow(premise, states, anywhere=anywhere)
            if not following:
                return Failure(premise, states)
            states = following
        return None

    def _follow(self, premise: Formula, states: Sequence[State], *, anywhere: bool) -> list[State]:
        found: list[State] = []
        for binding, ranges in states:
            lo, hi = ranges[0][0], ranges[-1][1]
            for full in islice(self._matcher.formula(premise, binding, lo, hi), MOST_STATES):
                held = self._teller.truth(premise, full, lo, hi)
                if anywhere:
                    held = intersected(ranges, held)
                elif not covers(held, lo, hi):
                    continue
                if held:
                    found.append((full, held))
                if len(found) >= MOST_STATES:
                    self.was_cut = True
                    return found
        return found


def in_order(body: Sequence[Formula], start: Binding) -> Iterator[Formula]:
    """The premises as they are written, but what compares or negates behind what binds its variables."""
    bound = set(start)
    waiting = list(body)
    while waiting:
        ready = next((part for part in waiting if _needs(part, bound)), waiting[0])
        waiting.remove(ready)
        bound |= variables_of(ready, negated=False) | _compared(ready)
        yield ready


def _needs(part: Formula, bound: set[str]) -> bool:
    """Whether what a premise needs is bound."""
    if isinstance(part, Negation):
        return {name for name in variables_of(part) if name[0] != "_"} <= bound
    if isinstance(part, Comparison):
        left, right = set(expression_variables(part.left)), set(expression_variables(part.right))
        binds = (isinstance(part.left, Variable) and right <= bound) or (isinstance(part.right, Variable) and left <= bound)
        return left | right <= bound or (part.operator == "=" and binds)
    within = bound | variables_of(part, negated=False)
    inside = [each for each in children(part) if not isinstance(each, Negation)]
    while waiting := [each for each in inside if _needs(each, within)]:
        inside = [each for each in inside if each not in waiting]
        within |= {name for each in waiting for name in _compared(each)}
    return not inside


def _compared(part: Formula) -> set[str]:
    found = (each for each in subformulas(part) if isinstance(each, Comparison))
    return {name for each in found for name in expression_variables(each.left, each.right)}

"""States of derivations that were met before: what recursion over background reaches on many ways is followed once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from tidelog.operators.sld.comparisons.comparing import slots_of
from tidelog.operators.sld.comparisons.terms import Bindings
from tidelog.operators.sld.goals.tasks import Call, Equal, Goal, Lack, Test, Throughout
from tidelog.plans.plan.preconditions import Argument, Premise, Slot
from tidelog.plans.tree.syntax import Comparison

MAX_STATES = 100_000
"""Beyond so many no more are remembered."""


class Repeats:
    """Remembers each call with what is collected and what is left to do: the same state gives the same answers.

    A call that was pruned for being its own ancestor the first time is no loss: what it would give, a shorter
    derivation gives with no more premises.
    """

    __slots__ = ("_goals", "_states")

    def __init__(self) -> None:
        self._states: set[Hashable] = set()
        self._goals: dict[int, Goal] = {}  # keeps them alive, so that none gets the number of another

    def is_new(
        self,
        call: Call,
        rest: Goal,
        answer: Iterable[Argument],
        collected: tuple[Iterable[Premise], Iterable[Premise], Iterable[Comparison]],
        bindings: Bindings,
    ) -> bool:
        """Whether this state is met for the first time; `collected` are premises, absences and open comparisons."""
        came, lacking, comparisons = collected
        compared = tuple(comparisons)
        known = [*answer, *_slots(rest), *(Slot(v) for c in compared for v in sorted(slots_of(c.left, c.right)))]
        state = (
            call._replace(above=None),
            id(rest),
            tuple(map(bindings.walk, known)),
            frozenset(_walked(premise, bindings) for premise in came),
            frozenset(_walked(premise, bindings) for premise in lacking),
            compared,
        )
        if state in self._states:
            return False
        if len(self._states) < MAX_STATES:
            self._states.add(state)
            self._goals[id(rest)] = rest
        return True


def _walked(premise: Premise, bindings: Bindings) -> Hashable:
    return premise.predicate, tuple(map(bindings.walk, premise.arguments)), bindings.walk(premise.time), premise.width


def _slots(goal: Goal) -> Iterator[Argument]:
    """The terms in what is left to do."""
    while goal is not None:
        task, goal = goal
        match task:
            case Call() | Lack():
                yield from (*task.arguments, task.time)
            case Equal():
                yield from (task.left, task.right)
            case Test(comparison):
                yield from (Slot(v) for v in sorted(slots_of(comparison.left, comparison.right)))
            case Throughout():
                yield from (*task.scope.variables.values(), task.first)
            case _:
                yield from (*task.scope.variables.values(), task.time)

"""How far from an answer's time its premises lie, and how long afterwards somebody may ask for what has come.

All in ticks of the watermark; `NEVER` where nothing bounds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tidelog.operators.sld.comparisons.systems import System
from tidelog.plans.plan.preconditions import Precondition, Premise, Slot, UnfoldedQuery, Unfolding
from tidelog.plans.plan.questions import NEVER, Question

_Distances = dict[str, int]


def queries_of(unfolding: Unfolding) -> dict[str, UnfoldedQuery]:
    """The query itself under the empty name, and the auxiliary queries by name, each behind one that needs it."""
    return {"": unfolding.main, **unfolding.auxiliary}


def horizons(question: Question, unfolding: Unfolding) -> _Distances:
    """For each query, how long after an answer's time the last of its premises is decided."""

    bounds = _Bounds()

    def distance(known: _Distances, precondition: Precondition, own: Slot) -> Iterator[int]:
        for premise in precondition.premises:
            yield bounds.ahead(precondition, premise, own, question.delay(premise.predicate))
        for premise in precondition.negated:
            after = known.get(premise.predicate, 0) if premise.predicate in known else question.delay(premise.predicate)
            yield bounds.ahead(precondition, premise, own, after + premise.width)

    return _fixpoint(queries_of(unfolding), distance)


def retentions(question: Question, unfolding: Unfolding) -> _Distances:
    """For each query and each input, how long after a time somebody may ask what has come or was decided then.

    A negated premise is looked up once the premises beside it have bound its variables.
    """
    queries, bounds = queries_of(unfolding), _Bounds()
    found: _Distances = dict.fromkeys([*question.inputs, *queries], 0)
    for _ in range(len(queries) + 1):
        before = dict(found)
        for name, query in queries.items():
            for precondition in query.preconditions:
                for premise in precondition.negated:
                    after = _asked_after(question, precondition, premise, found[name], bounds)
                    found[premise.predicate] = max(found.get(premise.predicate, 0), after)
        if found == before:
            break
    return {name: max(found[name], question.delay(name)) for name in found}


def _asked_after(question: Question, precondition: Precondition, negated: Premise, asked: int, bounds: _Bounds) -> int:
    own = precondition.answer[-1]
    if not isinstance(negated.time, Slot):
        return NEVER
    if precondition.premises:
        delay = question.delay
        return max(bounds.ahead(precondition, p, negated.time, delay(p.predicate)) for p in precondition.premises)
    if not isinstance(own, Slot) or negated.time.variable != own.variable:
        return NEVER
    return _cap(asked + own.offset - negated.time.offset)


class _Bounds:
    """How far premises of preconditions lie from each other, as their comparisons have it."""

    def __init__(self) -> None:
        self._systems: dict[int, System] = {}

    def ahead(self, precondition: Precondition, premise: Premise, own: Slot, delay: int) -> int:
        """How long after the time `own` a premise is decided."""
        if not isinstance(premise.time, Slot) or delay >= NEVER:
            return NEVER
        most: int | None = 0
        if premise.time.variable != own.variable:
            names = precondition.variables
            most = self._system(precondition).most(names[premise.time.variable], names[own.variable])
        return NEVER if most is None else _cap(most + premise.time.offset - own.offset + delay)

    def _system(self, precondition: Precondition) -> System:
        known = self._systems.get(id(precondition))
        if known is None:
            premises = (*precondition.premises, *precondition.negated)
            times = {p.time.variable for p in premises if isinstance(p.time, Slot)}
            times |= {term.variable for term in precondition.answer[-1:] if isinstance(term, Slot)}
            known = self._systems[id(precondition)] = System(precondition.variables[i] for i in times)
            for comparison in precondition.comparisons:
                known.add(comparison)
        return known


def _cap(distance: int) -> int:
    return min(distance, NEVER)


def _fixpoint(
    queries: Mapping[str, UnfoldedQuery], distance: Callable[[_Distances, Precondition, Slot], Iterator[int]]
) -> _Distances:
    """The longest distances; a program that is T-stratified has no cycle that makes them longer and longer."""
    found = dict.fromkeys(queries, 0)
    for _ in range(len(queries) + 1):
        before = dict(found)
        for name, query in reversed(list(queries.items())):
            for precondition in query.preconditions:
                own = precondition.answer[-1]
                here = distance(found, precondition, own) if isinstance(own, Slot) else iter((NEVER,))
                found[name] = max(found[name], *here, 0)
        if found == before:
            break
    return found

"""The part of a plan, and of data, on which one fact rests: what is asked for is passed down before anything is derived.

Magic sets for DatalogMTL (arXiv 2412.07259) ask for rows at times, so that what is asked for may grow
through time without an end. Here demand leaves times out, and is known before the first round: facts that are not demanded
are left out, and a join derives rows that are. Recursion so stays what it was, and comes to an end where it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import ErodeShape, Feed, JoinShape, Step, UnionShape
from tidelog.plans.tree.syntax import Term, Value, Variable
from tidelog.runtime.batch.demand.rows import Demand, Demanded, TooMuchError

LEAST, FOR_EACH_FACT = 50_000, 4
"""So many demands, rows and tuples may be met on the way, and so many more for each fact; else all is derived."""


@dataclass(frozen=True, slots=True)
class Restricted:
    """A plan whose joins derive what is demanded alone, and the facts that are."""

    plan: BatchPlan
    records: Sequence[Record]


def can_restrict(plan: BatchPlan) -> bool:
    """Whether rows alone tell what a fact rests on: not where calendars, or the first fact of all, have a say."""
    clipped = any(isinstance(step.shape, ErodeShape) and step.shape.clipped for step in plan.steps)
    return not (clipped or plan.over_calendars or plan.calendars)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: the rows of a predicate with these values; where there is None, with any. None for all rows."""

    predicate: str
    values: tuple[Value | None, ...] | None = None

    def has(self, predicate: str, row: Row) -> bool:
        """Whether a row is asked for."""
        values = row if self.values is None else self.values
        same = len(values) == len(row) and all(
            value is None or value == other for value, other in zip(values, row, strict=True)
        )
        return predicate == self.predicate and same


def restricted(plan: BatchPlan, records: Sequence[Record], *asked: Asked) -> Restricted:
    """What is needed to know at which times that holds which is asked for, and whether constraints do.

    The same rows and the same plan where everything is needed, where knowing what is needed would cost too much, and where
    the plan is not one that `can_restrict`.
    """
    if not can_restrict(plan):
        return Restricted(plan, records)
    known = {step.id for step in plan.steps}
    facts: dict[str, list[Row]] = {}
    for name, found, _, _ in (*plan.facts, *records):
        facts.setdefault(name, []).append(found)
    widths = [(item.predicate, item.values) for item in asked if item.values is not None]
    if not all(
        _has_width(plan, name, row) for name, row in chain(widths, ((name, row) for name in facts for row in facts[name]))
    ):
        return Restricted(plan, records)  # whoever derives from them tells what is wrong
    demand = Demand(plan.steps, facts, LEAST + FOR_EACH_FACT * len(records))
    for constraint in plan.constraints:
        demand.ask_whole(constraint)
    for item in (item for item in asked if item.predicate in known):
        given = [(place, value) for place, value in enumerate(item.values or ()) if value is not None]
        if given:
            demand.ask(item.predicate, tuple([place for place, _ in given]), tuple([value for _, value in given]))
        else:
            demand.ask_whole(item.predicate)
    try:
        demanded = demand.settle()
    except TooMuchError:
        return Restricted(plan, records)
    kept = [record for record in records if record[0] not in known or demanded.has(record[0], record[1])]
    return Restricted(_guarded(plan, demanded), kept)


def _has_width(plan: BatchPlan, predicate: str, row: Sequence[object]) -> bool:
    schema = plan.schema.predicates.get(predicate)
    return schema is None or len(row) == schema.arity


def _guarded(plan: BatchPlan, demanded: Demanded) -> BatchPlan:
    """The plan with a further atom in each join: what of its head is demanded."""
    clocked = {name for stratum in plan.strata if stratum.is_clocked for part in stratum.components for name in part.steps}
    steps: list[Step] = []
    facts: list[Record] = []
    guards: dict[str, str] = {}
    for step in plan.steps:
        guard = None if step.id in clocked else _guard_of(step, demanded)
        if guard is None:
            steps.append(step)
            continue
        name = f"asked'{step.id}"
        guards[step.id] = name
        facts += [(name, key, NEG, POS) for key in guard.keys]
        steps.append(Step(name, name, UnionShape(), (Feed("facts", name),)))
        steps.append(replace(step, shape=guard.shape, inputs=(*step.inputs, Feed("step", name))))
    if not guards:
        return plan
    strata = tuple(
        replace(stratum, reads=(*stratum.reads, *(guards[name] for name in stratum.steps if name in guards)))
        for stratum in plan.strata
    )
    return replace(plan, steps=tuple(steps), facts=(*plan.facts, *facts), strata=strata)


@dataclass(frozen=True, slots=True)
class _Guard:
    shape: JoinShape
    keys: frozenset[Row]


def _guard_of(step: Step, demanded: Demanded) -> _Guard | None:
    """What is demanded of a join's head, in the columns that all demands for it know; None where that says nothing."""
    shape, patterns = step.shape, demanded.keys.get(step.id, {})
    if not isinstance(shape, JoinShape) or len(shape.atoms) == 1 or step.id in demanded.whole or not patterns:
        return None
    held = {term.name for terms in shape.atoms for term in terms if isinstance(term, Variable)}
    shared = set.intersection(*map(set, patterns))
    columns = [i for i in sorted(shared) if _is_held(shape.head[i], held)]
    if not columns:
        return None
    keys = frozenset(_projected(patterns.items(), columns))
    terms = tuple(shape.head[i] for i in columns)
    return _Guard(replace(shape, atoms=(*shape.atoms, terms)), keys)


def _is_held(term: Term, held: set[str]) -> bool:
    return isinstance(term, Variable) and term.name in held


def _projected(found: Iterable[tuple[tuple[int, ...], set[Row]]], columns: Sequence[int]) -> Iterator[Row]:
    for pattern, keys in found:
        places = [pattern.index(column) for column in columns]
        yield from (tuple([key[place] for place in places]) for key in keys)

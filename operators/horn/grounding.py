"""Grounding: from a batch plan and facts to the Horn theory that has a model exactly if they are consistent.

Rows first (`rows.py`: which ground atoms there can be), then positions (`grid.py`), then each ground instance of a step as
clauses (`expand.py`). Wałęga et al. 2023, section 4.2, where the same is written as a formula of LTL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidelog.operators.horn.builder import TheoryBuilder
from tidelog.operators.horn.expand import Expander
from tidelog.operators.horn.grid import Grid, grid_for
from tidelog.operators.horn.rows import GroundAtom, Instance, instances
from tidelog.operators.horn.theory import Clause, Given, Literal, Theory
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, format_atom
from tidelog.plans.plan.plan import DilateShape, ErodeShape, JoinShape, PairShape, Step, UnionShape
from tidelog.plans.plan.shapes import TOP


@dataclass(frozen=True, slots=True)
class GroundingLimits:
    """How large a theory may become: ground atoms, and literals in all its clauses."""

    atoms: int = 50_000
    literals: int = 2_000_000


DEFAULT_LIMITS = GroundingLimits()


def ground(plan: BatchPlan, facts: Iterable[Record], limits: GroundingLimits = DEFAULT_LIMITS) -> Theory:
    """The theory of a program with its own facts and these.

    MethodError for what has no such theory (`not`, windows that are stepped or clipped at the stream's start), and for
    one that would be larger than the limits.

    >>> from tidelog.plans.compiling.batch import compile_batch
    >>> from tidelog.plans.language.parser import parse
    >>> plan = compile_batch(parse("timeline integer. h(X) :- diamondminus[1,2] p(X). bottom :- h(X), p(X)."))
    >>> theory = ground(plan, [plan.record("p", ["a"], time=5)])
    >>> theory.names, theory.is_dense
    (('p(a)', 'h(a)'), False)
    >>> [(clause.head, clause.body) for clause in theory.clauses]
    [((1, 0), ((0, -1),)), ((1, 0), ((0, -2),)), (None, ((1, 0), (0, 0)))]
    """
    known = _relevant_facts(plan, facts)
    rows = dict.fromkeys((name, row) for name, row, _, _ in known)
    found = instances(plan.steps, rows, limits.atoms, limits.literals)
    return _Grounder(plan, _grid_of(plan, found, known), TheoryBuilder(limits.literals)).theory(found, known)


def _relevant_facts(plan: BatchPlan, facts: Iterable[Record]) -> list[Record]:
    """The program's facts and those given, of predicates that the program unites with facts."""
    steps = {step.id: step for step in plan.steps if isinstance(step.shape, UnionShape)}
    fed = {name for name, step in steps.items() if any(feed.kind != "step" for feed in step.inputs)}
    own = [record for record in plan.facts if record[0] in fed]
    return own + [
        record for record in facts if record[0] in fed and record[0] != TOP and record[0] not in plan.normal.origins
    ]


def _grid_of(plan: BatchPlan, found: dict[str, list[Instance]], facts: Sequence[Record]) -> Grid:
    shapes = [step.shape for step in plan.steps if found[step.id]]
    metrics = [shape.metric for shape in shapes if isinstance(shape, DilateShape | ErodeShape | PairShape)]
    pairs = any(isinstance(shape, PairShape) for shape in shapes)
    return grid_for(plan.timeline, metrics, ((lo, hi) for _, _, lo, hi in facts), needs_neighbours=pairs)


@dataclass(slots=True)
class _Grounder:
    """Gives each row that can hold a proposition, and each instance of a step its clauses."""

    plan: BatchPlan
    grid: Grid
    builder: TheoryBuilder
    atoms: dict[GroundAtom, int] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)

    def theory(self, found: dict[str, list[Instance]], facts: Sequence[Record]) -> Theory:
        self.merged = _merged(self.plan)
        given = dict.fromkeys(self._given(record) for record in facts)
        for step in self.plan.steps:
            for instance in found[step.id]:
                self.builder.add(self._clauses_of(step, instance))
        theory = self.builder.theory(tuple(given), is_dense=self.grid.is_dense)
        return replace(theory, unit=self.plan.timeline.decode_point(self.grid.unit))

    def _given(self, record: Record) -> Given:
        name, row, lo, hi = record
        low, high = self.grid.position(lo, is_end=False), self.grid.position(hi, is_end=True)
        return Given(self._atom((name, row)), low, high)

    def _atom(self, atom: GroundAtom) -> int:
        name, row = atom
        key = self.merged.get(name, name), row
        if key not in self.atoms:
            self.atoms[key] = self.builder.proposition(format_atom(*key))
        return self.atoms[key]

    def _head(self, instance: Instance) -> Literal | None:
        name, row = instance.head
        if self.merged.get(name, name) in self.plan.constraints:
            return None
        return self._atom((name, row)), 0

    def _clauses_of(self, step: Step, instance: Instance) -> Iterable[Clause]:
        first, *others = (None if atom is None else self._atom(atom) for atom in instance.body)
        match step.shape:
            case UnionShape() if all(atom is not None and atom[0] in self.merged for atom in instance.body):
                return ()  # they are the same
            case UnionShape() | JoinShape():
                body = dict.fromkeys((atom, 0) for atom in (first, *others) if atom is not None)
                return [Clause(self._head(instance), tuple(body))]
            case PairShape(operator, metric):
                (right,) = others
                if right is not None:
                    expander = self._expander(operator == "until")
                    return expander.since(self._head(instance), first, right, self.grid.distances(metric))
            case DilateShape(metric, future) if first is not None:
                return self._expander(future).diamond(self._head(instance), first, self.grid.distances(metric))
            case ErodeShape(metric, future) if first is not None:
                return self._expander(future).box(self._head(instance), first, self.grid.distances(metric))
        raise TypeError(f"no clauses for {step.shape!r}")

    def _expander(self, future: bool) -> Expander:
        return Expander(self.builder, future, self.grid.is_dense)


def _merged(plan: BatchPlan) -> dict[str, str]:
    """The rules that only feed one union, which say of a row what the union says: they share its propositions."""
    readers = Counter(feed.name for step in plan.steps for feed in step.inputs if feed.kind == "step")
    unions = {step.id for step in plan.steps if isinstance(step.shape, UnionShape)}
    return {
        feed.name: step.id
        for step in plan.steps
        if step.id in unions
        for feed in step.inputs
        if feed.kind == "step" and feed.name not in unions and readers[feed.name] == 1 and feed.name not in plan.constraints
    }

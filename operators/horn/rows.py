"""The rows that can hold at all: the program without its times, applied to the facts without theirs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.operators.joins.join import Join
from tidelog.plans.data.facts import Row
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatestShape,
    PairShape,
    Step,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import Arithmetic, Constant, Term, Variable, Wildcard

GroundAtom = tuple[str, Row]
"""A step and one of its rows."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A step's rule for one row: it follows from these rows of the step's ports; None for a left side that cannot hold."""

    head: GroundAtom
    body: tuple[GroundAtom | None, ...]


def instances(steps: Sequence[Step], facts: Iterable[GroundAtom], atoms: int, literals: int) -> dict[str, list[Instance]]:
    """The ground instances of each step, over all rows that can hold at some time if times do not matter.

    A row that more than one instance gives is met once. MethodError for a step that is not monotone or whose windows
    depend on more than distances, for more rows than `atoms`, and for bodies of more than `literals` rows together.
    """
    for step in steps:
        _refuse(step)
    return _Projection(steps, atoms, literals).run(facts)


def _refuse(step: Step) -> None:
    shape, where = step.shape, f": {shorten(step.source, 120)}" if step.source else ""
    match shape:
        case AntiJoinShape():
            raise MethodError(f"automata and LTL do not take rules with `not`{where}")
        case ErodeShape(clipped=True):
            raise MethodError(f"automata and LTL do not take windows that are clipped where the stream starts{where}")
        case SteppedShape():
            raise MethodError(f"automata and LTL do not take windows with a `step`{where}")
        case LatestShape() | AggregateShape() | ThresholdShape():
            what = "`latest`" if isinstance(shape, LatestShape) else "aggregates"
            raise MethodError(f"automata and LTL do not take {what}{where}")
        case UnionShape() | DilateShape() | ErodeShape() | JoinShape() | PairShape():
            return
        case _:
            raise MethodError(f"automata and LTL do not take what only streams have{where}")


@dataclass(slots=True)
class _Projection:
    """The fixpoint over sets of rows: each new row is given once to each step that reads it."""

    steps: Sequence[Step]
    most_atoms: int
    most_literals: int
    rows: dict[str, set[Row]] = field(default_factory=dict)
    atoms: int = 0
    literals: int = 0
    waiting: deque[GroundAtom] = field(default_factory=deque)
    found: dict[str, list[Instance]] = field(default_factory=dict)

    def run(self, facts: Iterable[GroundAtom]) -> dict[str, list[Instance]]:
        readers = self._readers()
        self.rows = {step.id: set() for step in self.steps}
        self.found = {step.id: [] for step in self.steps}
        for fact in facts:
            self._add(fact)
        while self.waiting:
            name, row = self.waiting.popleft()
            for step, give in readers.get(name, ()):
                for instance in give(row):
                    self._keep(step, instance)
        for step in self.steps:
            if isinstance(step.shape, PairShape):
                self._drop_weaker(step)
        return self.found

    def _keep(self, step: Step, instance: Instance) -> None:
        self.literals += len(instance.body)
        if self.literals > self.most_literals:
            raise MethodError(f"the program's rules have ground instances of more than {self.most_literals:,} literals")
        self.found[step.id].append(instance)
        self._add(instance.head)

    def _readers(self) -> Mapping[str, list[tuple[Step, Callable[[Row], Iterator[Instance]]]]]:
        readers: dict[str, list[tuple[Step, Callable[[Row], Iterator[Instance]]]]] = {}
        for step in self.steps:
            rule = _rule_of(step)
            for port, feed in enumerate(step.inputs):
                if feed.kind == "step":
                    readers.setdefault(feed.name, []).append((step, _port_of(rule, port)))
        return readers

    def _add(self, atom: GroundAtom) -> None:
        name, row = atom
        known = self.rows[name]
        if row in known:
            return
        self.atoms += 1
        if self.atoms > self.most_atoms:
            why = "; recursion that makes new values has no end" if _computes(self.steps) else ""
            raise MethodError(f"the program and its facts have more than {self.most_atoms:,} ground atoms{why}")
        known.add(row)
        self.waiting.append(atom)

    def _drop_weaker(self, step: Step) -> None:
        """An instance without a left side says nothing more where there is one with it."""
        whole = {instance.head for instance in self.found[step.id] if None not in instance.body}
        kept = [item for item in self.found[step.id] if None not in item.body or item.head not in whole]
        self.found[step.id] = kept


def _computes(steps: Sequence[Step]) -> bool:
    comparisons = [item for step in steps if isinstance(step.shape, JoinShape) for item in step.shape.comparisons]
    return any(isinstance(side, Arithmetic) for item in comparisons for side in (item.left, item.right))


# --- one step -----------------------------------------------------------------------------------------------------------


class _SameRow:
    """Union, ◇ and □: a row of a port is a row of the step."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def give(self, port: int, row: Row) -> Iterator[Instance]:
        yield Instance((self.step.id, row), ((self.step.inputs[port].name, row),))


class _JoinRule:
    """A join over rows alone; each of its matches tells all its variables, so that the bodies' rows can be told."""

    def __init__(self, step: Step, shape: JoinShape) -> None:
        atoms = tuple(_named(terms, i) for i, terms in enumerate(shape.atoms))
        names = dict.fromkeys(term.name for terms in atoms for term in terms if isinstance(term, Variable))
        self.step = step
        self.places = [[_place(term, list(names)) for term in terms] for terms in atoms]
        self.width = len(names)
        self.join = Join(JoinShape((*map(Variable, names), *shape.head), atoms, shape.comparisons))

    def give(self, port: int, row: Row) -> Iterator[Instance]:
        for match, _, _ in self.join.receive(port, [(row, 0, 0)], self.join.frontiers[port]):
            body = tuple(
                (feed.name, tuple(match[place] if isinstance(place, int) else place.value for place in places))
                for feed, places in zip(self.step.inputs, self.places, strict=True)
            )
            yield Instance((self.step.id, match[self.width :]), body)


class _PairRule:
    """Since and until: rows that agree in what both sides have; the left one may be missing if it adds no variable."""

    def __init__(self, step: Step, shape: PairShape) -> None:
        self.step = step
        shared = [name for name in shape.right if name in shape.left]
        self.keys = [[names.index(name) for name in shared] for names in (shape.left, shape.right)]
        self.extra = [i for i, name in enumerate(shape.left) if name not in shape.right]
        self.rows: tuple[dict[Row, list[Row]], dict[Row, list[Row]]] = ({}, {})

    def give(self, port: int, row: Row) -> Iterator[Instance]:
        key = tuple(row[i] for i in self.keys[port])
        self.rows[port].setdefault(key, []).append(row)
        for other in self.rows[1 - port].get(key, ()):
            yield self._instance(row, other) if port == 0 else self._instance(other, row)
        if port == 1 and not self.extra:
            yield self._instance(None, row)

    def _instance(self, left: Row | None, right: Row) -> Instance:
        names = [feed.name for feed in self.step.inputs]
        added = () if left is None else tuple(left[i] for i in self.extra)
        body = (None if left is None else (names[0], left), (names[1], right))
        return Instance((self.step.id, right + added), body)


_Rule = _SameRow | _JoinRule | _PairRule


def _rule_of(step: Step) -> _Rule:
    match step.shape:
        case JoinShape():
            return _JoinRule(step, step.shape)
        case PairShape():
            return _PairRule(step, step.shape)
        case _:
            return _SameRow(step)


def _port_of(rule: _Rule, port: int) -> Callable[[Row], Iterator[Instance]]:
    return lambda row: rule.give(port, row)


def _named(terms: tuple[Term, ...], atom: int) -> tuple[Term, ...]:
    """An atom's terms with a name for each wildcard that no rule can mention."""
    return tuple(Variable(f"_{atom} {i}") if isinstance(term, Wildcard) else term for i, term in enumerate(terms))


def _place(term: Term, names: Sequence[str]) -> int | Constant:
    if isinstance(term, Constant):
        return term
    if isinstance(term, Variable):
        return names.index(term.name)
    raise TypeError("a wildcard has no place")

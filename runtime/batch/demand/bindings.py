"""How a demand for some rows of a step passes on to the steps that feed it: decided once for each step and *pattern*.

A pattern is the positions of the columns whose values are known. `()` asks for all rows and lists them; `WHOLE` asks for all
rows, and lists none: there is nothing to be gained from them.

Sideways passing (Beeri and Ramakrishnan 1991): of a body the atom comes first that has most known columns, facts before
what is derived, and what its rows say is known for the others. Atoms that share no variable with what is known, and whose
variables the head does not need, are asked for as a whole: their rows are not multiplied with those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    PeriodShape,
    Step,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Comparison, Constant, Expression, Term, Variable

Pattern = tuple[int, ...]
"""The positions of the columns whose values are known, in order."""
WHOLE: None = None

Source = int | Constant
"""Where a value comes from: a place in a tuple, or a constant."""


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom of a body, or of what takes the place of one: the step that it reads, and its terms.

    Of one that only `asks`, rows are demanded, and tell nothing in return. One that `is_given` has facts alone.
    """

    step: str
    terms: tuple[Term, ...]
    asks: bool = False
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """One atom of a chain: what is demanded of it for a tuple of values, and how its rows lead to the next tuples.

    `key` are the values of the `pattern`'s columns. `same` are pairs of positions that have to agree. `out` makes the next
    tuple from places of the tuple and the row put together. With `asks`, the tuple itself goes on.
    """

    step: str
    pattern: Pattern
    key: tuple[Source, ...]
    same: tuple[tuple[int, int], ...] = ()
    out: tuple[int, ...] = ()
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """How a demand for one pattern of a step is met: the first tuple from the demand's values, the atoms in their order,
    then the row.

    `check` are pairs of a place in the demand's values and what has to stand there. `wholes` are steps that are demanded
    as a whole. `row` are the last tuple's variables, `head` what makes a row of them; None where no row is told.
    """

    check: tuple[tuple[int, Source], ...]
    begin: tuple[int, ...]
    stages: tuple[Stage, ...]
    wholes: tuple[str, ...]
    row: tuple[str, ...] = ()
    head: JoinShape | None = None


@dataclass(frozen=True, slots=True)
class Passing:
    """Where the rows of one step are rows of another: the pattern that is demanded of it, from which of the known values;
    None for all of it. Where the step `tells`, its rows are listed."""

    step: str
    pattern: Pattern | None
    key: tuple[int, ...]
    tells: bool


@dataclass(frozen=True, slots=True)
class Leading:
    """Where the rows of one port of a step lead, of which some columns are known: the `pattern` of what is known of the
    step's rows, and how the values of its columns are found; from which of the known values, where there is no chain."""

    pattern: Pattern
    chain: Chain | None
    key: tuple[int, ...] = ()


Size = Callable[[str, Pattern], float]
"""How many rows of a step have the same values in some columns, about."""


class Bindings:
    """The chains of a plan's steps; `opaque` are the steps whose rows are known only when they are computed in time.

    Where `size` is given, atoms of a body come in the order of how few rows they are expected to have.
    """

    def __init__(self, steps: Iterable[Step], size: Size | None = None) -> None:
        self.steps: Mapping[str, Step] = {step.id: step for step in steps}
        self._size = size
        self.opaque = _closed(self.steps, _is_opaque)
        self._given = self.steps.keys() - _closed(self.steps, _is_derived)

    def ways(self, name: str, pattern: Pattern | None) -> list[Chain | Passing]:
        """What a demand for one pattern of a step leads to."""
        step = self.steps[name]
        feeders = step.feeders
        match step.shape:
            case UnionShape() | DilateShape() | ErodeShape() | SteppedShape():
                known = () if pattern is None else tuple(range(len(pattern)))
                return [Passing(feeder, pattern, known, name not in self.opaque) for feeder in feeders]
            case LatestShape(by=by):
                return [_grouped(feeders[0], pattern, {position: position for position in by})]
            case AggregateShape(by=by) | ThresholdShape(by=by) | PeriodShape(by=by):
                return [_grouped(feeders[0], pattern, dict(enumerate(by)))]
            case JoinShape(head, atoms, comparisons):
                body = [Atom(feeder, terms) for feeder, terms in zip(feeders, atoms, strict=True)]
                return [self._chain(name, pattern, head, body, comparisons)]
            case PairShape(left=left, right=right):
                extra = tuple(name for name in left if name not in right)
                body = [Atom(feeders[1], _variables(right)), Atom(feeders[0], _variables(left), asks=not extra)]
                return [self._chain(name, pattern, _variables(right + extra), body, ())]
            case AntiJoinShape(columns, negated) | LatchShape(columns, negated):
                kept = _variables(columns)
                body = [Atom(feeders[0], kept), Atom(feeders[1], negated, asks=True)]
                return [self._chain(name, pattern, kept, body, ())]
            case _:
                return [Passing(feeder, WHOLE, (), tells=False) for feeder in feeders]

    def onward(self, name: str, port: int, pattern: Pattern) -> Leading | None:
        """How rows of one port of a step, of which some columns are known, lead to rows of the step; None for a step of
        which nothing can be said without times."""
        step = self.steps[name]
        feeders = step.feeders
        match step.shape:
            case UnionShape() | DilateShape() | ErodeShape() | SteppedShape():
                return Leading(pattern, None, tuple(range(len(pattern))))
            case LatestShape(by=by):
                return _group_of(pattern, {column: column for column in by})
            case AggregateShape(by=by) | ThresholdShape(by=by) | PeriodShape(by=by):
                return _group_of(pattern, {column: place for place, column in enumerate(by)})
            case JoinShape(head, atoms, comparisons):
                body = [Atom(feeder, terms) for feeder, terms in zip(feeders, atoms, strict=True)]
            case PairShape(left=left, right=right):
                extra = tuple(name for name in left if name not in right)
                head, comparisons = _variables(right + extra), ()
                body = [Atom(feeders[0], _variables(left), asks=not extra), Atom(feeders[1], _variables(right))]
            case AntiJoinShape(columns, negated) | LatchShape(columns, negated):
                head, comparisons = _variables(columns), ()
                body = [Atom(feeders[0], head), Atom(feeders[1], negated, asks=True)]
            case _:
                return None
        own = body.pop(port).terms
        if pattern and pattern[-1] >= len(own):
            return None  # of a row of another width
        begin = [own[column] for column in pattern]
        known = set(_names(begin)).union(
            *(set(_names(atom.terms)) for atom in body if not atom.asks and atom.step not in self.opaque)
        )
        known.update(*(_used(item) for item in _usable(comparisons, known)))
        told = tuple(i for i, term in enumerate(head) if not isinstance(term, Variable) or term.name in known)
        return Leading(told, self._linked(begin, [head[i] for i in told], body, comparisons, tells=True))

    def _chain(
        self,
        name: str,
        pattern: Pattern | None,
        head: Sequence[Term],
        body: Sequence[Atom],
        comparisons: Sequence[Comparison],
    ) -> Chain:
        known = [head[position] for position in pattern or ()]
        tells = pattern is not WHOLE and name not in self.opaque
        return self._linked(known, head, body, comparisons, tells=tells)

    def _linked(
        self,
        begin: Sequence[Term],
        head: Sequence[Term],
        body: Sequence[Atom],
        comparisons: Sequence[Comparison],
        *,
        tells: bool,
    ) -> Chain:
        """The chain from values for some terms to a head, through a body."""
        body = [
            replace(atom, asks=atom.asks or atom.step in self.opaque, is_given=atom.step in self._given) for atom in body
        ]
        known: dict[str, int] = {}
        check: list[tuple[int, Source]] = []
        for place, term in enumerate(begin):
            if isinstance(term, Constant):
                check.append((place, term))
            elif isinstance(term, Variable) and term.name in known:
                check.append((place, known[term.name]))
            elif isinstance(term, Variable):
                known[term.name] = place
        order, wholes = _order(body, set(known), _needed(head, body, comparisons) if tells else set(), self._size)
        given = set(known).union(*(set(_names(atom.terms)) for atom in order if not atom.asks))
        computed = _usable(comparisons, given) if tells else []
        last = set(_names(head)).union(*(_used(item) for item in computed)) if tells else set()
        keeps = [last.union(*(set(_names(atom.terms)) for atom in order[i:])) for i in range(len(order) + 1)]
        names = [name for name in known if name in keeps[0]]
        first = tuple(known[name] for name in names)
        stages: list[Stage] = []
        for atom, kept in zip(order, keeps[1:], strict=True):
            stage, names = _stage(atom, names, kept)
            stages.append(stage)
        shape = JoinShape(tuple(head), (_variables(names),), tuple(computed)) if tells else None
        return Chain(tuple(check), first, tuple(stages), tuple(wholes), tuple(names), shape)


def _grouped(feeder: str, pattern: Pattern | None, columns: Mapping[int, int]) -> Passing:
    """What is demanded of the rows of groups: all rows of a group, since what is told of one row depends on the others."""
    known = [(columns[position], place) for place, position in enumerate(pattern or ()) if position in columns]
    if not known:
        return Passing(feeder, WHOLE, (), tells=False)
    known.sort()
    return Passing(feeder, tuple(position for position, _ in known), tuple(place for _, place in known), tells=False)


def _group_of(pattern: Pattern, places: Mapping[int, int]) -> Leading:
    """What is known of the rows of a group, given some columns of one that is in it."""
    known = sorted((places[column], place) for place, column in enumerate(pattern) if column in places)
    return Leading(tuple(column for column, _ in known), None, tuple(place for _, place in known))


def _order(body: Sequence[Atom], known: set[str], needed: set[str], size: Size | None) -> tuple[list[Atom], list[str]]:
    """The atoms in the order in which they are demanded, and the steps of which everything is."""

    def promise(atom: Atom) -> tuple[float, float]:
        if size is not None:
            return -size(atom.step, _known_columns(atom, known)), 0
        return atom.is_given, _bound(atom, known) / len(atom.terms)

    known = set(known)
    rest = list(body)
    order: list[Atom] = []
    while True:
        open_atoms = [atom for atom in rest if not atom.asks and _bound(atom, known)]
        if not open_atoms:
            missing = needed - known
            open_atoms = [atom for atom in rest if not atom.asks and not missing.isdisjoint(_names(atom.terms))][:1]
            if not open_atoms:
                break
        best = max(open_atoms, key=promise)
        rest.remove(best)
        order.append(best)
        known |= set(_names(best.terms))
    asked = [Atom(atom.step, atom.terms, asks=True) for atom in rest if _bound(atom, known)]
    return order + asked, [atom.step for atom in rest if not _bound(atom, known)]


def _needed(head: Sequence[Term], body: Sequence[Atom], comparisons: Sequence[Comparison]) -> set[str]:
    """The variables of the head, and those from which comparisons compute them."""
    held = {name for atom in body for name in _names(atom.terms)}
    needed = set(_names(head))
    while more := {name for item in comparisons if _used(item) & (needed - held) for name in _used(item)} - needed:
        needed |= more
    return needed


def _bound(atom: Atom, known: set[str]) -> int:
    return len(_known_columns(atom, known))


def _known_columns(atom: Atom, known: set[str]) -> Pattern:
    """The columns of which constants and known variables say the values."""
    return tuple(
        i
        for i, term in enumerate(atom.terms)
        if isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)
    )


def _stage(atom: Atom, names: Sequence[str], kept: set[str]) -> tuple[Stage, list[str]]:
    places = {name: place for place, name in enumerate(names)}
    pattern: list[int] = []
    key: list[Source] = []
    same: list[tuple[int, int]] = []
    fresh: dict[str, int] = {}
    for position, term in enumerate(atom.terms):
        if isinstance(term, Constant):
            pattern.append(position)
            key.append(term)
        elif isinstance(term, Variable) and term.name in places:
            pattern.append(position)
            key.append(places[term.name])
        elif isinstance(term, Variable) and term.name in fresh:
            same.append((fresh[term.name], position))
        elif isinstance(term, Variable):
            fresh[term.name] = position
    if atom.asks:
        fresh = {}
    after = [name for name in (*names, *fresh) if name in kept]
    out = tuple(places[name] if name in places else len(names) + fresh[name] for name in after)
    return Stage(atom.step, tuple(pattern), tuple(key), tuple(same), out, atom.asks), after


def _usable(comparisons: Sequence[Comparison], known: set[str]) -> list[Comparison]:
    """The comparisons that can be evaluated from what is known, with what `=` computes from it."""
    known, rest = set(known), list(comparisons)
    found: list[Comparison] = []
    while True:
        ready = [item for item in rest if len(_used(item) - known) == 0 or _computes(item, known)]
        if not ready:
            return found
        for item in ready:
            rest.remove(item)
            found.append(item)
            known |= _used(item)


def _computes(item: Comparison, known: set[str]) -> bool:
    """Whether an equation says what a variable is."""
    for side, other in ((item.left, item.right), (item.right, item.left)):
        if isinstance(side, Variable) and set(expression_variables(other)) <= known:
            return item.operator == "="
    return False


def _closed(steps: Mapping[str, Step], has: Callable[[Step, set[str]], bool]) -> frozenset[str]:
    """The steps that have a property, which one may have since those that feed it do."""
    found: set[str] = set()
    while more := {name for name, step in steps.items() if name not in found and has(step, found)}:
        found |= more
    return frozenset(found)


def _is_derived(step: Step, derived: set[str]) -> bool:
    """Whether its rows are more than those of facts of one predicate."""
    if isinstance(step.shape, UnionShape | DilateShape | ErodeShape | SteppedShape):
        return not derived.isdisjoint(step.feeders)
    return True


def _is_opaque(step: Step, opaque: set[str]) -> bool:
    """Whether its rows cannot be told without times, or have values of such."""
    match step.shape:
        case UnionShape():
            return any(feed.kind not in {"step", "facts", "stream"} or feed.name in opaque for feed in step.inputs)
        case DilateShape() | SteppedShape() | ErodeShape():
            return step.feeders[0] in opaque
        case JoinShape(head, atoms, comparisons):
            clear = [terms for feeder, terms in zip(step.feeders, atoms, strict=True) if feeder not in opaque]
            known = {name for terms in clear for name in _names(terms)}
            known.update(*(_used(item) for item in _usable(comparisons, known)))
            return not set(_names(head)) <= known
        case PairShape(left=left, right=right):
            first, second = step.feeders
            return second in opaque or (first in opaque and not set(left) <= set(right))
        case AntiJoinShape() | LatchShape():
            return step.feeders[0] in opaque
        case _:
            return True


def _variables(names: Iterable[str]) -> tuple[Term, ...]:
    return tuple(map(Variable, names))


def _names(terms: Iterable[Expression]) -> Iterator[str]:
    return (term.name for term in terms if isinstance(term, Variable))


def _used(item: Comparison) -> set[str]:
    return {*expression_variables(item.left), *expression_variables(item.right)}

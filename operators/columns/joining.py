"""Joins and negation: rows of several predicates that hold together, and rows that hold where no other one does."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis, Laid, meetings, without
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.expressions import Scope
from tidelog.operators.columns.kernel import Pointwise, Windowed, after
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.analysis.physical.lookups import kept_columns, variables_of
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import AntiJoinShape, JoinShape
from tidelog.plans.tree.syntax import Comparison, Constant, Term, Variable


class Selection(Pointwise):
    """A join of one atom, `M'(X, Y) :- M(X, Z), Y = Z*2, Z > 3`: filters, arithmetic, projections, constants."""

    def __init__(self, shape: JoinShape, pool: Pool) -> None:
        super().__init__([len(shape.atoms[0])], len(shape.head), pool)
        self._join = Joining(shape, pool)

    def give(self, port: int, batch: Batch) -> Batch:
        found = self._join.of([self._join.pattern(0, batch)])
        self.failed = self._join.failed
        return found


class ColumnJoin(Windowed):
    """A join of several atoms; or of none, where the comparisons alone decide, which holds at all times."""

    def __init__(self, shape: JoinShape, pool: Pool) -> None:
        super().__init__([len(terms) for terms in shape.atoms], len(shape.head), pool, [0] * len(shape.atoms))
        self._join = Joining(shape, pool)
        self._held = [empty(len(names)) for names in self._join.columns]

    def prepared(self, port: int, batch: Batch) -> Batch:
        return self._join.pattern(port, batch)

    def settle(self, held: list[Batch]) -> None:
        """Ranges that overlap, as those of ◇ do, become one: else each of them would meet all that is there beside it."""
        held[:] = [batch if batch.hi is batch.lo else batch.tidied(self.pool) for batch in held]

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        found = self._within(held, after(self.frontier), frontier)
        self.failed = self._join.failed
        return found

    def _within(self, held: Sequence[Batch], first: int, last: int) -> Batch:
        """What holds within some times; where there is no room for all pairs, one half of the times after the other."""
        atoms = [batch.clipped(first, last) for batch in held]
        try:
            return self._join.of(atoms)
        except NoRoomError:
            middle = _middle(atoms, first)
            if middle is None:
                raise
        halves = self._within(atoms, first, middle - 1), self._within(atoms, middle, last)
        return joined([half.tidied(self.pool) for half in halves], self.width, self.pool)

    def remains(self) -> Sequence[Batch]:
        atoms = zip(self._join.atoms, self._join.columns, self._held, strict=True)
        return [widened(*atom, self.pool).clipped(after(self.frontier), POS) for atom in atoms]


def _middle(atoms: Sequence[Batch], first: int) -> int | None:
    """A time behind the first one, before which half of the rows begin; None where none begin behind the first."""
    begins = np.concatenate([batch.lo for batch in atoms])
    begins = begins[begins > first]
    return int(np.partition(begins, len(begins) // 2)[len(begins) // 2]) if len(begins) else None


class Joining:
    """Joins the rows of atoms, each narrowed to the columns that matter; NoRoomError where they make more than may be."""

    def __init__(self, shape: JoinShape, pool: Pool) -> None:
        self._shape = shape
        self._pool = pool
        self._head = frozenset(variables_in(shape.head))
        self.atoms = shape.atoms
        self.columns = [kept_columns(shape, atom) for atom in range(len(shape.atoms))]
        self.width = len(shape.head)
        self.failed = 0

    def pattern(self, atom: int, batch: Batch) -> Batch:
        """The rows that an atom stands for, with the columns of its variables that matter."""
        return matching(self._shape.atoms[atom], self.columns[atom], batch, self._pool)

    def of(self, atoms: Sequence[Batch]) -> Batch:
        """What the rule gives for rows of all atoms."""
        if not all(map(len, atoms)):
            return empty(len(self._shape.head))
        left = list(range(len(atoms)))
        first = min(left, key=lambda atom: len(atoms[atom]))
        left.remove(first)
        scope = Scope(dict(zip(self.columns[first], atoms[first].columns, strict=True)), len(atoms[first]), self._pool)
        lo, hi = atoms[first].lo, atoms[first].hi
        pending = list(self._shape.comparisons)
        lo, hi = self._decide(scope, pending, left, lo, hi)
        while left:
            atom = max(left, key=lambda each: (len(set(self.columns[each]) & set(scope.columns)), -len(atoms[each])))
            left.remove(atom)
            needed = self._needed(pending, left)
            lo, hi = self._meet(scope, atoms[atom], self.columns[atom], needed, lo, hi)
            lo, hi = self._decide(scope, pending, left, lo, hi)
        self.failed += scope.failed
        columns = tuple(self._term(scope, term) for term in self._shape.head)
        return Batch(columns, lo, hi)

    def _term(self, scope: Scope, term: Term) -> Array:
        if isinstance(term, Variable):
            return scope.columns[term.name]
        if isinstance(term, Constant):
            return self._pool.constant(term.value, scope.size)
        raise TypeError("a head has no `_`")

    def _needed(self, pending: Sequence[Comparison], left: Sequence[int]) -> set[str]:
        """The variables that matter as long as these comparisons and atoms are left."""
        named = [variables_of(side) for comparison in pending for side in (comparison.left, comparison.right)]
        return set(self._head).union(*named, *(self.columns[atom] for atom in left))

    def _meet(
        self, scope: Scope, batch: Batch, names: Sequence[str], needed: Container[str], lo: Array, hi: Array
    ) -> tuple[Array, Array]:
        shared = [name for name in names if name in scope.columns]
        tables = [[scope.columns[name] for name in shared], [batch.columns[names.index(name)] for name in shared]]
        (mine, others), size = keys_of(tables, [scope.size, len(batch)], self._pool)
        axis = Axis(size, (lo, batch.lo), (hi, batch.hi))
        own, other = Laid(axis, mine, lo, hi), Laid(axis, others, batch.lo, batch.hi)
        left, right = meetings(own.begins, own.ends, other.begins, other.ends, self._pool.room)
        left, right = own.numbers(left), other.numbers(right)
        scope.keep(left, needed)
        for name, column in zip(names, batch.columns, strict=True):
            if name in needed and name not in scope.columns:
                scope.columns[name] = column[right]
        return np.maximum(lo[left], batch.lo[right]), np.minimum(hi[left], batch.hi[right])

    def _decide(
        self, scope: Scope, pending: list[Comparison], left: Sequence[int], lo: Array, hi: Array
    ) -> tuple[Array, Array]:
        """Keep the rows for which every comparison holds that can be decided by now; `X = expression` binds X."""
        progress = True
        while progress:
            progress = False
            for comparison in list(pending):
                there = _decided(scope, comparison)
                if there is None:
                    continue
                pending.remove(comparison)
                progress = True
                if not there.all():
                    places = np.flatnonzero(there)
                    scope.keep(places, self._needed(pending, left))
                    lo, hi = lo[places], lo[places] if hi is lo else hi[places]
        return lo, hi


def _decided(scope: Scope, comparison: Comparison) -> Array | None:
    left, right = comparison.left, comparison.right
    bound = scope.columns.keys()
    left_known, right_known = variables_of(left) <= bound, variables_of(right) <= bound
    if left_known and right_known:
        return scope.holds(comparison)
    if comparison.operator == "=":
        for target, value, known in ((left, right, right_known), (right, left, left_known)):
            if known and isinstance(target, Variable):
                return scope.bind(target.name, value)
    return None


def matching(terms: Sequence[Term], names: Sequence[str], batch: Batch, pool: Pool) -> Batch:
    """The rows that an atom with these terms stands for, with the columns of these variables."""
    there: Array | None = None
    first: dict[str, int] = {}
    for position, term in enumerate(terms):
        if isinstance(term, Constant):
            one, other = pool.alike([batch.columns[position], pool.constant(term.value, 1)])
            test = one == other[0]
        elif isinstance(term, Variable) and term.name in first:
            one, other = pool.alike([batch.columns[position], batch.columns[first[term.name]]])
            test = one == other
        else:
            if isinstance(term, Variable):
                first[term.name] = position
            continue
        there = test if there is None else there & test
    if there is not None and not there.all():
        batch = batch.take(there)
    columns = tuple(batch.columns[first[name]] for name in names)
    is_tidy = batch.is_tidy and len(names) == len(terms)
    return Batch(columns, batch.lo, batch.hi, is_tidy)


def widened(terms: Sequence[Term], names: Sequence[str], batch: Batch, pool: Pool) -> Batch:
    """Rows for which an atom with these terms stands, from the columns of these variables; what does not matter is 0."""
    columns: list[Array] = []
    for term in terms:
        if isinstance(term, Variable) and term.name in names:
            columns.append(batch.columns[names.index(term.name)])
        else:
            columns.append(pool.constant(term.value if isinstance(term, Constant) else 0, len(batch)))
    return Batch(tuple(columns), batch.lo, batch.hi)


class ColumnAntiJoin(Windowed):
    """`M' :- M, not N`: M without the runs of what N says of the same values."""

    def __init__(self, shape: AntiJoinShape, pool: Pool) -> None:
        super().__init__([len(shape.columns), len(shape.negated)], len(shape.columns), pool, [0, 0])
        self._negated = shape.negated
        self._names = variables_in(shape.negated)
        self._places = [shape.columns.index(name) for name in self._names]
        self._held[1] = empty(len(self._names))

    def prepared(self, port: int, batch: Batch) -> Batch:
        return matching(self._negated, self._names, batch, self.pool) if port else batch

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        positive, negative = (batch.clipped(after(self.frontier), frontier) for batch in held)
        return outside(positive, self._places, negative, self.pool)

    def remains(self) -> Sequence[Batch]:
        held = [self._held[0], widened(self._negated, self._names, self._held[1], self.pool)]
        return [batch.clipped(after(self.frontier), POS) for batch in held]


def variables_in(terms: Sequence[Term]) -> list[str]:
    """The names of the variables among terms, in order."""
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))


def outside(batch: Batch, places: Sequence[int], negative: Batch, pool: Pool) -> Batch:
    """What of a batch lies outside of another's times, for rows whose columns at these places are the other's row."""
    if not len(batch) or not len(negative):
        return batch
    tables = [[batch.columns[place] for place in places], negative.columns]
    (keys, others), size = keys_of(tables, [len(batch), len(negative)], pool)
    axis = Axis(size, (batch.lo, negative.lo), (batch.hi, negative.hi))
    runs = axis.runs(others, negative.lo, negative.hi)
    laid = Laid(axis, keys, batch.lo, batch.hi)
    begins, ends, owner = without(laid.begins, laid.ends, runs.begins, runs.ends)
    owner = laid.numbers(owner)
    lo, hi = axis.times(keys[owner], begins, ends)
    return Batch(tuple(column[owner] for column in batch.columns), lo, hi)

"""Which substitutions may make a body hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from tidelog.plans.tree.syntax import Aggregate, Atom, Comparison, Constant, Formula, Value, Variable, Wildcard
from tidelog.verifier.terms import OTHER, Binding, Row, Undefined, binding_parts, names_in, plain, value_of, variables
from tidelog.verifier.times import Refused, Times
from tidelog.verifier.world import World

MOST_TIMES = 10_000
"""So many times are tried for one `@T`, at the most."""


class Groups(Protocol):
    """Tells of aggregates."""

    world: World

    def groups(self, aggregate: Aggregate, given: Binding) -> Iterator[dict[str, Value]]:
        """The groups that an aggregate may have, each with a value."""


def substitutions(teller: Groups, body: Sequence[Formula], given: dict[str, Value]) -> Iterator[Binding]:
    """Every substitution with which a body may hold.

    Atoms take rows that hold, `@T` takes times at which they do, aggregates take their groups and values.
    """
    found = [item for part in body for item in binding_parts(part)]
    atoms = [(item, left) for item, left in found if not isinstance(item, Comparison)]
    atoms.sort(key=lambda pair: (pair[1], isinstance(pair[0], Aggregate)))
    equations = [item for item, _ in found if isinstance(item, Comparison)]
    wanted = set().union(*(variables(part, negated=False) for part in body))
    seen: set[Any] = set()
    for binding in _match(teller, atoms, equations, given):
        full = {**binding, **dict.fromkeys(wanted - binding.keys(), OTHER)}
        key = tuple(sorted(full.items()))
        if key not in seen:
            seen.add(key)
            yield full


def _match(
    teller: Groups, atoms: Sequence[tuple[Atom | Aggregate, bool]], equations: Sequence[Comparison], given: dict[str, Value]
) -> Iterator[dict[str, Value]]:
    binding = _solved(equations, given)
    if binding is None:
        return
    if not atoms:
        yield binding
        return
    (atom, is_left), rest = atoms[0], atoms[1:]
    if is_left:  # what stands on the left alone may be anything where nothing lies between
        yield from _match(teller, rest, equations, binding)
    if isinstance(atom, Aggregate):
        for group in teller.groups(atom, binding):
            yield from _match(teller, rest, equations, {**binding, **group})
        return
    world = teller.world
    known = [
        place
        for place, term in enumerate(atom.arguments)
        if names_in(term) <= binding.keys() and not isinstance(term, Wildcard)
    ]
    key = tuple([value_of(atom.arguments[place], binding) for place in known])
    for row in world.rows(atom.predicate, tuple(known), key):
        extended, times = unified(atom, row, binding), world.held[atom.predicate][row]
        if extended is None or not times:
            continue
        if atom.at is None or atom.at.variable.name in extended:
            yield from _match(teller, rest, equations, extended)
            continue
        for time in whole_times(times):
            bound = {**extended, atom.at.variable.name: time - atom.at.shift}
            yield from _match(teller, rest, equations, bound)


def whole_times(times: Times) -> Iterator[int]:
    for low, high in times:
        if high[0] - low[0] > MOST_TIMES:
            raise Refused("a time variable takes too many values to be checked")
        yield from range(int(low[0]), int(high[0]))


def unified(atom: Atom, row: Row, binding: Mapping[str, Value]) -> dict[str, Value] | None:
    """The binding with which an atom is a row; arithmetic is left to be compared."""
    extended = dict(binding)
    if len(atom.arguments) != len(row):
        return None
    for term, value in zip(atom.arguments, row, strict=True):
        if isinstance(term, Variable):
            if extended.setdefault(term.name, value) != value:
                return None
        elif isinstance(term, Constant) and plain(term.value) != value:
            return None
    return extended


def _solved(equations: Sequence[Comparison], given: Mapping[str, Value]) -> dict[str, Value] | None:
    binding = dict(given)
    for _ in equations:
        for equation in equations:
            for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
                if isinstance(one, Variable) and one.name not in binding and names_in(other) <= binding.keys():
                    try:
                        binding[one.name] = value_of(other, binding)
                    except Undefined:
                        return None
    return binding

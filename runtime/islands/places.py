"""Places: at which column the key is, in the rows of a spread island's steps, and in what its operators store of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.plans.analysis.physical.lookups import kept_columns
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.islands.island import Island
from tidelog.plans.plan.plan import (
    AntiJoinShape,
    Feed,
    JoinShape,
    LatchShape,
    PairShape,
    Plan,
    Step,
)
from tidelog.plans.tree.syntax import Constant, Term, Value, Variable
from tidelog.runtime.islands.forms import Place


def column(at: int) -> Place:
    """The key at a column."""
    return lambda row: _value(row[at])


def _value(found: Any) -> Value:
    value: Value = found
    return value


def _always(value: Value) -> Place:
    return lambda row: value


@dataclass(frozen=True, slots=True)
class Places:
    """Where the key is at a step that rests on the stream: in its rows, and in those of its ports.

    `columns` are those of the key by port. `ports` are for rows as they come, `narrowed` for what is stored of them: of a
    join the columns that it keeps, of a negated atom the variables. None where all shards have the rows alike. `is_clocked`
    tells whether it is in such a loop.
    """

    step: Step
    own: Place
    columns: tuple[int | None, ...]
    ports: tuple[Place, ...]
    narrowed: tuple[Place, ...]
    is_clocked: bool


def places_of(plan: Plan, step: Step, island: Island) -> Places | None:
    """Those of a step; None of one that rests on no stream. Raises SnapshotError where the key cannot be found."""
    at = island.columns.get(step.id)
    if at is None:
        return None
    is_clocked = step.loop is not None and bool(plan.loops[step.loop].order)
    columns = [_column_of(feed, island) for feed in step.inputs]
    ports = tuple(None if found is None else column(found) for found in columns)
    return Places(step, column(at), tuple(columns), ports, tuple(_narrowed(step, at, columns)), is_clocked)


def _column_of(feed: Feed, island: Island) -> int | None:
    """The column of the key in what feeds a port; None for what all shards get alike."""
    if feed.kind == "stream":
        return (island.key or {}).get(feed.name)
    return island.columns.get(feed.name) if feed.kind in ("step", "remote") else None


def _narrowed(step: Step, at: int, columns: Sequence[int | None]) -> list[Place]:
    match step.shape:
        case JoinShape(head, atoms) as shape:
            kept = [kept_columns(shape, i) for i in range(len(atoms))]
            return [_of_atom(step, head[at], atom, kept[i], columns[i]) for i, atom in enumerate(atoms)]
        case AntiJoinShape(names, negated):
            return [column(at), _of_atom(step, Variable(names[at]), negated, _variables(negated), columns[1])]
        case LatchShape(names, negated):
            return [_of_atom(step, Variable(names[at]), negated, _variables(negated), columns[0]), column(at)]
        case PairShape(left=left, right=right):
            name = (*right, *(name for name in left if name not in right))[at]
            sides = (left, right)
            return [
                _of_atom(step, Variable(name), tuple(map(Variable, side)), side, columns[i]) for i, side in enumerate(sides)
            ]
        case _:
            return [None if found is None else column(found) for found in columns]


def _of_atom(step: Step, key: Term, terms: Sequence[Term], kept: Sequence[str], at: int | None) -> Place:
    """The key in what is kept of an atom's rows, where the head has it as a term; `at` is its column in the whole rows."""
    for term in (key, terms[at]) if at is not None else (key,):
        if isinstance(term, Constant):
            return _always(term.value)
        if isinstance(term, Variable) and term.name in kept:
            return column(kept.index(term.name))
    if at is None:
        return None
    raise SnapshotError(f"step {step.id}: what it keeps of its ports does not show the key at column {at}")


def _variables(terms: Sequence[Term]) -> tuple[str, ...]:
    """The variables of an atom, each once, in order: what is kept of a negated one."""
    return tuple(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))


def by_member(places: Sequence[Place]) -> Place:
    """The key of a row with a member's number before it, where each member has a place of its own."""

    def place(named: Sequence[Any]) -> Any:
        own = places[int(named[0])]
        return None if own is None else own(named[1:])

    return place

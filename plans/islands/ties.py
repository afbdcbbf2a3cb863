"""Ties: in which columns of its ports, and of its own rows, a step has one value; so a key goes through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    AssignShape,
    BindShape,
    CalendarShape,
    JoinShape,
    LatchShape,
    LatestShape,
    MoveShape,
    PairShape,
    PeriodShape,
    Shape,
    Step,
    ThresholdShape,
    TupleShape,
    UnionShape,
)
from tidelog.plans.tree.syntax import Constant, Term, Variable

Columns = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tie:
    """Columns of each port, and of the step's own rows, that have one value in all rows that meet, and in what they give.

    The tie is a key of the step where each port that rests on the stream has the key in one of these columns.
    """

    ports: tuple[Columns, ...]
    own: Columns


def ties_of(step: Step, widths: Sequence[int]) -> list[Tie]:
    """The ties of a step whose ports have rows of so many columns."""
    return list(_ties(step.shape, widths))


def _ties(shape: Shape, widths: Sequence[int]) -> Iterator[Tie]:
    match shape:
        case JoinShape(head, atoms):
            yield from _by_terms(atoms, head)
        case PairShape(_, _, left, right):
            own = (*right, *(name for name in left if name not in right))
            yield from _by_terms((_named(left), _named(right)), _named(own))
        case AntiJoinShape(columns, negated):
            yield from _by_terms((_named(columns), negated), _named(columns))
        case LatchShape(columns, negated):
            yield from _by_terms((negated, _named(columns)), _named(columns))
        case LatestShape(by=by):
            yield from (_alone(column, column, widths) for column in by)
        case AggregateShape(by=by) | ThresholdShape(by=by) | PeriodShape(by=by):
            yield from (_alone(column, place, widths) for place, column in enumerate(by))
        case TupleShape() | CalendarShape():  # counts whatever comes, or rests on nothing that comes
            return
        case AssignShape(width):  # a value is ended by all others
            yield from (_alone(column, column, widths) for column in range(width - 1))
        case MoveShape():  # the last column is a time, which goes
            yield from (_alone(column, column, widths) for column in range(widths[0] - 1))
        case UnionShape():
            yield from (Tie(((column,),) * len(widths), (column,)) for column in range(widths[0]))
        case BindShape() | _:
            yield from (_alone(column, column, widths) for column in range(widths[0]))


def _alone(column: int, own: int, widths: Sequence[int]) -> Tie:
    """The tie of an operator over one port of rows; further ones are the start, and the clock."""
    return Tie(((column,), *(() for _ in widths[1:])), (own,))


def _named(names: Sequence[str]) -> tuple[Term, ...]:
    return tuple(map(Variable, names))


def _by_terms(ports: Sequence[Sequence[Term]], own: Sequence[Term]) -> Iterator[Tie]:
    """A tie for each variable, and for each constant: a row that has it in its column is of that key."""
    terms = dict.fromkeys(term for port in ports for term in port if isinstance(term, Variable | Constant))
    for term in terms:
        found = _columns(own, term)
        if found:
            yield Tie(tuple(_columns(port, term) for port in ports), found)


def _columns(terms: Sequence[Term], term: Term) -> Columns:
    return tuple(column for column, other in enumerate(terms) if other == term)


def may_be_seeded(step: Step, tie: Tie, rests: Sequence[bool], holds: Sequence[bool]) -> bool:
    """Whether a step may derive rows for keys of which nothing comes: where it `rests` on no stream, but something `holds`.

    Both are told port by port.
    """
    static = [not fed and held for fed, held in zip(rests, holds, strict=True)]
    match step.shape:
        case UnionShape():
            return any(static)
        case AntiJoinShape():
            return static[0]
        case LatchShape():
            return static[1]
        case PairShape():  # where the left side alone shows the key, one of its rows has to be there
            return static[1] and bool(tie.ports[1])
        case _:
            return False

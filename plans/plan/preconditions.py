"""What unfolding a query gives: the sets 𝒫_Q of preconditions (Cruz-Filipe, Gaspar and Nunes 2020, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.plans.tree.syntax import Comparison, Formula

START = "start"
"""The name of the variable that stands for the stream's start in comparisons; no variable of a program is called so."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable of a precondition, by its number, plus an integer (0 unless it is a time)."""

    variable: int
    offset: int = 0


Argument = Slot | str | int | float
"""An argument of a premise: a variable, or a constant."""


@dataclass(frozen=True, slots=True)
class Premise:
    """A fact that must come, or must not: of an input predicate, or, if it must not, of an auxiliary query of this name.

    With a `width` it must not come at any of so many time points behind `time`, nor at that. One that `is_given` waits for
    nothing: it is an interval of a calendar, from `time` up to the last of its arguments, or one `outside` of a calendar.
    """

    predicate: str
    arguments: tuple[Argument, ...]
    time: Slot | int
    width: int = 0
    is_given: bool = False


def outside(calendar: str) -> str:
    """What an interval in which a calendar does not hold is one of; no predicate is called so."""
    return f"not {calendar}"


@dataclass(frozen=True, slots=True)
class Precondition:
    """⟨θ, M ∪ F⟩: the answer holds if all premises come, none of `negated` does, and the comparisons hold for intervals of
    calendars, which are `given`.

    `answer` gives the query's columns in terms of the variables. `variables` are their names, each different; the
    comparisons name them, and `start`. No two premises ever stand for the same fact: where they could, there is a
    precondition of its own in which they are one. Premises are in the order of their times, as far as these compare.
    """

    answer: tuple[Argument, ...]
    premises: tuple[Premise, ...]
    negated: tuple[Premise, ...]
    comparisons: tuple[Comparison, ...]
    variables: tuple[str, ...]
    given: tuple[Premise, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfoldedQuery:
    """A query and its preconditions, each with a minimal set of premises.

    `columns` name the query's variables, the time last. Of an auxiliary query, which is what a `not` asks, they stand for
    the atom's arguments and its time; `formula` is what stands behind the `not`, if that is more than an atom.
    """

    name: str
    columns: tuple[str, ...]
    preconditions: tuple[Precondition, ...]
    formula: Formula | None = None


@dataclass(frozen=True, slots=True)
class Unfolding:
    """The query of an `ask`, and the auxiliary queries that its negations need, by name.

    `is_cut` tells that a recursion goes deeper than it was followed.
    """

    main: UnfoldedQuery
    auxiliary: Mapping[str, UnfoldedQuery] = field(default_factory=dict)
    is_cut: bool = False

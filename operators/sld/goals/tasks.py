"""What a derivation still has to do: the literals of its goal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidelog.operators.sld.goals.rulebook import Clause
from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.plan.preconditions import Argument, Slot
from tidelog.plans.tree.syntax import Comparison, Formula


class Ancestor(NamedTuple):
    """An atom that was resolved with a rule on the way to a literal; only what recurs is remembered."""

    predicate: str
    arguments: tuple[Argument, ...]
    time: Argument
    above: Ancestor | None
    depth: int


class Scope(NamedTuple):
    """One use of a rule: its variables, the time at which it holds, and the atoms above it.

    `is_listed` under what wants it at many times, where alternatives are listed: times of their own would multiply.
    """

    clause: Clause
    variables: dict[str, Slot]
    above: Ancestor | None
    is_listed: bool = False


class Solve(NamedTuple):
    """A formula of a rule is to hold at this time."""

    formula: Formula
    scope: Scope
    time: Argument


class Throughout(NamedTuple):
    """A formula of a rule is to hold at a time, and at so many time points behind it as `width` says."""

    formula: Formula
    scope: Scope
    first: Argument
    width: int


class Deny(NamedTuple):
    """A formula of a rule is not to hold at this time."""

    formula: Formula
    scope: Scope
    time: Argument


class Call(NamedTuple):
    """A predicate is to hold; `is_listed` as for the use of a rule."""

    predicate: str
    arguments: tuple[Argument, ...]
    time: Argument
    above: Ancestor | None
    is_listed: bool = False


class Lack(NamedTuple):
    """An input, or an auxiliary query, is not to hold, at so many time points behind `time` as `width` says neither."""

    predicate: str
    arguments: tuple[Argument, ...]
    time: Argument
    span: Span
    width: int = 0


class Equal(NamedTuple):
    """Two terms are to be the same."""

    left: Argument
    right: Argument


class Test(NamedTuple):
    """A comparison is to hold; its variables are numbered."""

    comparison: Comparison


Task = Solve | Throughout | Deny | Call | Lack | Equal | Test
Tasks = tuple[Task, ...]
Step = Tasks | Iterator[Tasks]
"""What a literal becomes: others, one way or another."""

Goal = tuple[Task, "Goal"] | None
"""The literals of a goal, as a list that derivations share."""


def put(tasks: Iterable[Task], goal: Goal) -> Goal:
    """The goal with further literals before it."""
    for task in reversed(tuple(tasks)):
        goal = (task, goal)
    return goal

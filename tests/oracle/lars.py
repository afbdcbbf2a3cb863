"""LARS's tuple windows, as Definition 4 of Bazoobandi, Beck and Urbani 2017 (Laser) has them: a substream for each time.

Where the definition or the language leaves room:

* The order of a stream is that of the times, and within one time that of arrival: the order of the list of facts given.
  Of equal facts (same row, same begin) the first to arrive counts, and no other.
* A fact over an interval arrives once, at its begin; one that begins at -inf never does. Facts that the program's own
  text states are no arrivals, with a time or without.
* The inputs are the predicates declared as such; where none is declared, those in a body that no rule derives, no fact of
  the program states and no `background` names.
* With fewer than n facts a window's timeline is from the stream's start on, so that `always` does not hold before it. A
  start that is given does not take earlier facts out of the windows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from oracle.grounding import atoms, expression_variables, generators, parts
from tidelog.plans.tree.syntax import (
    Atom,
    Background,
    Comparison,
    FactStatement,
    Formula,
    Input,
    Program,
    Rule,
    Unary,
    Value,
    Window,
    WindowSize,
)

Row = tuple[Value, ...]
Arrival = tuple[str, Row, int]
"""An input fact at the time at which it begins. Times may count from anywhere, as long as all count from there."""


@dataclass(frozen=True, slots=True)
class Substream:
    """A stream (T, v): its timeline's ends (empty if the first is the later one), and each atom with its time."""

    first: float
    last: int
    atoms: frozenset[Arrival]

    def entails(self, mode: Literal["sometime", "always", "at"], predicate: str, row: Row, time: float) -> bool:
        """Whether the atom holds at some time, at each time, or at this time of the timeline."""
        if mode == "at":
            return self.first <= time <= self.last and (predicate, row, time) in self.atoms
        if mode == "always":
            times = {at for name, args, at in self.atoms if (name, args) == (predicate, row)}
            return self.first <= self.last and all(time in times for time in self._timeline())
        return any((name, args) == (predicate, row) for name, args, _ in self.atoms)

    def _timeline(self) -> Iterator[float]:
        """Every time; where the stream has no start, -inf stands for all those that are no integers here."""
        if self.first == float("-inf"):
            yield self.first
        else:
            yield from range(int(self.first), self.last + 1)


def arrivals(inputs: Collection[str], begins: Iterable[tuple[str, Row, float]]) -> list[Arrival]:
    """The facts of the inputs in the stream's order, from all facts with their begins in order of arrival."""
    found: dict[Arrival, None] = {}
    for predicate, row, begin in begins:
        if predicate in inputs and begin > float("-inf"):
            found.setdefault((predicate, row, int(begin)))
    return sorted(found, key=lambda arrival: arrival[2])


def tuple_window(stream: Sequence[Arrival], size: WindowSize, time: int, start: float) -> Substream:
    """What `[#n]` or `[#n of p,q]` selects at a time: the last n facts, from the time of the oldest of them on."""
    count = int(size.size)
    past = [arrival for arrival in stream if arrival[2] <= time and (not size.of or arrival[0] in size.of)]
    chosen = past[-count:]
    first = chosen[0][2] if len(chosen) == count else start
    return Substream(first, time, frozenset(chosen))


def window_end(size: WindowSize, time: Fraction) -> Fraction:
    """Where the time window of this time ends: there, or at the last multiple of its step."""
    return time if size.step is None else Fraction(size.step) * (time // Fraction(size.step))


# --- programs -----------------------------------------------------------------------------------------------------


def inputs_of(program: Program) -> set[str]:
    """The predicates whose facts arrive."""
    declared = {statement.predicate for statement in program.statements if isinstance(statement, Input)}
    if declared:
        return declared
    rules = [statement for statement in program.statements if isinstance(statement, Rule)]
    read = {atom.predicate for rule in rules for part in rule.body for atom, _ in atoms(part)}
    derived = {atom.predicate for rule in rules for atom, _ in atoms(rule.head)}
    stated = {statement.atom.predicate for statement in program.statements if isinstance(statement, FactStatement)}
    background = {statement.predicate for statement in program.statements if isinstance(statement, Background)}
    return read - derived - stated - background


def check_window(window: Window) -> None:
    """ValueError for a window that has no meaning."""
    size, atom = window.window, window.operand
    if size.size_unit or size.step_unit:
        raise ValueError("the oracle takes numbers without a unit")
    if size.step is not None and size.step <= 0:
        raise ValueError("a window's step is positive")
    if size.tuples and not (isinstance(atom, Atom) and size.size >= 1):
        raise ValueError("a tuple window holds one atom, and at least one fact")
    if (window.mode == "at") != (isinstance(atom, Atom) and atom.at is not None):
        raise ValueError("`@T` stands in a window of its own, with one atom")


def check_discrete(formulas: Iterable[Formula], inputs: Collection[str], dense: bool) -> None:
    """ValueError for LARS's forms on dense time, and for tuple windows over what does not arrive."""
    for formula in formulas:
        if isinstance(formula, Atom) and formula.at is not None and dense:
            raise ValueError("`@T` needs an integer timeline")
        if isinstance(formula, Window):
            if dense and (formula.window.tuples or formula.window.step is not None):
                raise ValueError("tuple and stepped windows need an integer timeline")
            used = {atom.predicate for atom, _ in atoms(formula)}.union(formula.window.of)
            if formula.window.tuples and not used <= set(inputs):
                raise ValueError("a tuple window is over an input")
        check_discrete(parts(formula), inputs, dense)


def time_variables(formula: Formula) -> set[str]:
    """The names of the variables that stand behind an `@`."""
    return {atom.at.variable.name for atom, _ in atoms(formula) if atom.at is not None}


def anchored_variables(body: Iterable[Formula]) -> set[str]:
    """The time variables that an `@` in a positive place binds."""
    found = [item for formula in body for item in generators(formula)]
    return {item.at.variable.name for item in found if isinstance(item, Atom) and item.at is not None}


def head_time(rule: Rule) -> tuple[str, int] | None:
    """The time variable and the shift of a head `p(X)@T+k`; None for any other head."""
    head = rule.head
    while isinstance(head, Unary):
        head = head.operand
    return (head.at.variable.name, head.at.shift) if isinstance(head, Atom) and head.at is not None else None


def linked_equations(rule: Rule) -> list[Comparison]:
    """The equations that compute a time variable, or what one is computed from."""
    equations = [part for formula in rule.body for part in generators(formula) if isinstance(part, Comparison)]
    names = set().union(*map(time_variables, (rule.head, *rule.body)))
    linked: list[Comparison] = []
    for _ in equations:
        for equation in equations:
            sides = (expression_variables(equation.left), expression_variables(equation.right))
            if equation not in linked and names & (sides[0] | sides[1]):
                linked.append(equation)
                names |= sides[0] | sides[1]
    return linked

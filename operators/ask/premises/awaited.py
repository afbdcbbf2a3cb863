"""One premise of a precondition, and how facts stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidelog.operators.ask.premises.texts import arguments_of, text_of
from tidelog.plans.data.facts import Row
from tidelog.plans.plan.preconditions import Argument, Premise, Slot, UnfoldedQuery
from tidelog.plans.plan.questions import NEVER, GroundLiteral, Open
from tidelog.plans.tree.arithmetic import plus
from tidelog.plans.tree.syntax import Atom, Constant, Expression, Value, Variable

Binding = list[Value | None]
"""The values of a precondition's variables; None where one has none yet."""


class Awaited:
    """One premise: how a fact that stands for it binds variables, and by when it must have come.

    `delay` is how late its fact may come. For the absence of what an auxiliary query asks, it is how long after its time
    that may be decided; that query is `asked`. With a `width`, the fact must be absent at so many time points behind its
    time, too.
    """

    __slots__ = (
        *("_plain", "_variables", "asked", "constants", "delay", "negated", "offset", "premise", "time", "where", "width"),
    )

    def __init__(self, premise: Premise, delay: int, negated: bool = False, asked: UnfoldedQuery | None = None) -> None:
        self.premise = premise
        self.width = premise.width
        self.delay = delay
        self.negated = negated
        self.asked = asked
        self.constants = {i: term for i, term in enumerate(premise.arguments) if not isinstance(term, Slot)}
        self.where = [(i, t.variable, t.offset) for i, t in enumerate(premise.arguments) if isinstance(t, Slot)]
        self.time = premise.time.variable if isinstance(premise.time, Slot) else None
        self.offset = premise.time.offset if isinstance(premise.time, Slot) else premise.time
        own = () if self.time is None else (self.time,)
        self._variables = tuple(dict.fromkeys((*own, *(variable for _, variable, _ in self.where))))
        is_plain = not self.constants and not any(offset for *_, offset in self.where)
        self._plain = [variable for _, variable, _ in self.where] if is_plain else None

    def at(self, binding: Sequence[Value | None]) -> int | None:
        """The time point at which the fact has to be; None while that is open. -NEVER where it is no time."""
        if self.time is None:
            return self.offset
        value = binding[self.time]
        if value is None:
            return None
        return value + self.offset if isinstance(value, int) else -NEVER

    def times(self, binding: Sequence[Value | None]) -> range:
        """The time points at which a ground premise stands for a fact, or for its absence."""
        first = self.at(binding) or 0
        return range(first, first + self.width + 1)

    def denies(self, row: Row, time: int, binding: Sequence[Value | None]) -> bool:
        """Whether this fact must not come, according to a ground premise that is negated."""
        return time in self.times(binding) and row == self.row(binding)

    def row(self, binding: Sequence[Value | None]) -> Row:
        """The row of the fact; its variables have values."""
        if self._plain is not None:
            values = [value for variable in self._plain if (value := binding[variable]) is not None]
            if len(values) == len(self._plain):
                return tuple(values)
        return tuple(
            [
                sum_of(binding[term.variable], term.offset) if isinstance(term, Slot) else term
                for term in self.premise.arguments
            ]
        )

    def is_ground(self, binding: Sequence[Value | None]) -> bool:
        """Whether all of its variables have values, so that it stands for one fact."""
        return None not in map(binding.__getitem__, self._variables)

    def fact(self, binding: Sequence[Value | None]) -> tuple[Row, int]:
        """The fact for which a ground premise stands."""
        return self.row(binding), self.at(binding) or 0

    def unify(self, row: Row, time: int, binding: Binding) -> bool:
        """Bind variables so that the premise is this fact; False where it cannot be. Its constants agree already."""
        if self.time is not None:
            value: Value = time - self.offset
            known = binding[self.time]
            if known is None:
                binding[self.time] = value
            elif known != value:
                return False
        elif self.offset != time:
            return False
        for position, variable, offset in self.where:
            value = row[position]
            if offset:
                if not isinstance(value, int):
                    return False
                value -= offset
            known = binding[variable]
            if known is None:
                binding[variable] = value
            elif known != value:
                return False
        return True

    def literal(self, binding: Sequence[Value | None], names: Sequence[str], at: int | None = None) -> GroundLiteral:
        """The premise as a literal, `at` one of its times if that is given; what is open is a variable by its name."""
        if self.asked is None and self.is_ground(binding):
            row, begin = self.fact(binding)
            if begin > -NEVER:
                end = begin + self.width if self.width and at is None else None
                return GroundLiteral(self.premise.predicate, row, begin if at is None else at, self.negated, "", end)
        arguments = tuple([fill(term, binding, names) for term in self.premise.arguments])
        time = fill(self.premise.time, binding, names) if at is None else at
        predicate, shown = self.premise.predicate, ""
        formula = None if self.asked is None else self.asked.formula
        if self.asked is not None and isinstance(formula, Atom):
            predicate, arguments = formula.predicate, arguments_of(formula, self.asked.columns[:-1], arguments)
        elif self.asked is not None and formula is not None:
            shown = text_of(formula, self.asked.columns[:-1], arguments)
        first = time if isinstance(time, int | Open) else Open(str(time))  # what is no time is none yet
        until: int | Open | None = None
        if self.width and at is None:
            until = replace(first, offset=first.offset + self.width) if isinstance(first, Open) else first + self.width
        return GroundLiteral(predicate, arguments, first, self.negated, shown, until)


def sum_of(value: Value | None, offset: int) -> Value:
    """A time that is used as a value; any other value has no offset. ValueError for a variable without a value."""
    if value is None:
        raise ValueError("a variable has no value yet")
    return value + offset if offset and not isinstance(value, str) else value


def value_of(term: Argument, binding: Sequence[Value | None]) -> Value | None:
    """The value of a term, None while it has none."""
    if not isinstance(term, Slot):
        return term
    value = binding[term.variable]
    return None if value is None else sum_of(value, term.offset)


def fill(term: Argument, binding: Sequence[Value | None], names: Sequence[str]) -> Value | Open:
    """A term with what is known put in."""
    if not isinstance(term, Slot):
        return term
    value = binding[term.variable]
    return Open(names[term.variable], term.offset) if value is None else sum_of(value, term.offset)


def expression_of(term: Value | Open) -> Expression:
    """Such a term as an expression."""
    return plus(Variable(term.name), term.offset) if isinstance(term, Open) else Constant(term)

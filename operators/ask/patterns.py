"""Preconditions made ready for facts to come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

from tidelog.operators.ask.conditions import Conditions
from tidelog.operators.ask.texts import arguments_of, text_of
from tidelog.plans.facts import Row
from tidelog.plans.preconditions import START, Argument, Precondition, Premise, Slot, UnfoldedQuery
from tidelog.plans.questions import NEVER, GroundLiteral, Open, Question
from tidelog.plans.syntax import Atom, Comparison, Value
from tidelog.plans.timeline import NEG

Binding = list[Value | None]
"""The values of a precondition's variables; None where one has none yet."""


class Awaited:
    """One premise: how a fact that stands for it binds variables, and by when it must have come.

    `delay` is how late its fact may come. For the absence of what an auxiliary query asks, it is how long after its time
    that may be decided; that query is `asked`. With a `width`, the fact must be absent at so many time points behind its
    time, too.
    """

    __slots__ = ("asked", "constants", "delay", "negated", "offset", "premise", "time", "where", "width")

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
        return tuple(
            _sum(binding[term.variable], term.offset) if isinstance(term, Slot) else term for term in self.premise.arguments
        )

    def is_ground(self, binding: Sequence[Value | None]) -> bool:
        """Whether all of its variables have values, so that it stands for one fact."""
        if self.time is not None and binding[self.time] is None:
            return False
        return all(binding[variable] is not None for _, variable, _ in self.where)

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

    def literal(self, binding: Sequence[Value | None], names: Sequence[str]) -> GroundLiteral:
        """The premise as a literal; what is open is a variable by its name."""
        arguments = tuple(fill(term, binding, names) for term in self.premise.arguments)
        time = fill(self.premise.time, binding, names)
        predicate, shown = self.premise.predicate, ""
        formula = None if self.asked is None else self.asked.formula
        if self.asked is not None and isinstance(formula, Atom):
            predicate, arguments = formula.predicate, arguments_of(formula, self.asked.columns[:-1], arguments)
        elif self.asked is not None and formula is not None:
            shown = text_of(formula, self.asked.columns[:-1], arguments)
        at = time if isinstance(time, int | Open) else Open(str(time))  # what is no time is none yet
        last = replace(at, offset=at.offset + self.width) if isinstance(at, Open) else at + self.width
        until = last if self.width else None
        return GroundLiteral(predicate, arguments, at, self.negated, shown, until)


def _sum(value: Value | None, offset: int) -> Value:
    """A time that is used as a value; any other value has no offset. ValueError for a variable without a value."""
    if value is None:
        raise ValueError("a variable has no value yet")
    return value + offset if offset and not isinstance(value, str) else value


def value_of(term: Argument, binding: Sequence[Value | None]) -> Value | None:
    """The value of a term, None while it has none."""
    if not isinstance(term, Slot):
        return term
    value = binding[term.variable]
    return None if value is None else _sum(value, term.offset)


def fill(term: Argument, binding: Sequence[Value | None], names: Sequence[str]) -> Value | Open:
    """A term with what is known put in."""
    if not isinstance(term, Slot):
        return term
    value = binding[term.variable]
    return Open(names[term.variable], term.offset) if value is None else _sum(value, term.offset)


class Pattern:
    """A precondition, its premises in the order of their deadlines: a set of premises is a number, bit i for premise i.

    `asked` gives the auxiliary queries, each with how long after an answer's time it may be decided.
    """

    __slots__ = (
        *("_upper", "all", "all_negated", "answer", "asks_start", "begun", "clashes", "conditions", "deadlines", "first"),
        *("is_connected", "last", "names", "negated", "number", "passed", "premises", "query", "rivals", "time", "twins"),
    )

    def __init__(
        self,
        query: str,
        number: int,
        source: Precondition,
        question: Question,
        asked: Mapping[str, tuple[UnfoldedQuery, int]],
    ) -> None:
        self.query, self.number = query, number
        self.names = source.variables
        self.answer = source.answer
        awaited = [Awaited(premise, question.delay(premise.predicate)) for premise in source.premises]
        self.premises = sorted(awaited, key=lambda item: item.offset + item.delay)
        self.negated = [_absent(premise, question, asked) for premise in source.negated]
        self.all, self.all_negated = (1 << len(self.premises)) - 1, (1 << len(self.negated)) - 1
        last = self.answer[-1] if self.answer else None
        self.time = last.variable if isinstance(last, Slot) else None
        self.is_connected = self.time is not None and all(item.time == self.time for item in self.premises)
        self.first, self.last = self._ends(last)
        self.deadlines = [item.offset + item.delay for item in self.premises]
        times = {item.time for item in (*self.premises, *self.negated) if item.time is not None}
        self.conditions = Conditions(source.comparisons, [self.names[i] for i in times | {self.time} if i is not None])
        self.asks_start = self.conditions.asks_start
        self._upper = self._upper_bounds()
        self.twins = [pair for pair in self._pairs() if self._may_be_one(*pair)]
        self.clashes = list(self._clashes())
        self.rivals: list[Pattern] = []
        self.passed: Callable[[Awaited], int] = _never
        self.begun: Callable[[Awaited], int] = _never
        """Up to when it is known what has come of an input, and what may still be coming; whoever knows that says so."""

    def is_closed(self, binding: Binding) -> bool:
        """Whether nothing is open, in the premises or in what is compared."""
        return None not in binding

    def own_time(self, binding: Binding) -> Value | None:
        """The value of the variable in the answer's time; None while that is open, or where there is none."""
        return None if self.time is None else binding[self.time]

    def _ends(self, own: Argument | None) -> tuple[int, int]:
        """How long after the answer's time the first premise is decided, and the last; NEVER where that is open."""
        if not self.is_connected or not isinstance(own, Slot):
            return NEVER, NEVER
        ends = [item.offset + item.delay - own.offset for item in self.premises]
        absences = [
            item.offset + item.width + item.delay - own.offset if item.time == own.variable and item.delay < NEVER else NEVER
            for item in self.negated
        ]
        return min(ends, default=NEVER), max([*ends, *absences], default=NEVER)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """The pairs of premises of one predicate whose times may be the same, without a look at all others."""
        groups: dict[str, dict[int | None, dict[int, list[int]]]] = {}
        for i, item in enumerate(self.premises):
            groups.setdefault(item.premise.predicate, {}).setdefault(item.time, {}).setdefault(item.offset, []).append(i)
        for times in groups.values():
            for offsets in times.values():
                for together in offsets.values():
                    yield from combinations(together, 2)
            apart = [[i for together in offsets.values() for i in together] for offsets in times.values()]
            for some, others in combinations(apart, 2):
                yield from product(some, others)

    def _may_be_one(self, i: int, j: int) -> bool:
        """Whether two premises whose times may be the same could become one fact."""
        one, other = self.premises[i], self.premises[j]
        return all(other.constants.get(at, value) == value for at, value in one.constants.items())

    def has_one_twice(self, binding: Binding, missing: int) -> bool:
        """Whether two premises that are missing have become the same fact, which another precondition stands for."""
        return any(
            missing >> i & 1 and missing >> j & 1 and self._literal(i, binding) == self._literal(j, binding)
            for i, j in self.twins
        )

    def _literal(self, i: int, binding: Binding) -> GroundLiteral:
        return self.premises[i].literal(binding, self.names)

    def contradicts_itself(self, binding: Binding, missing: int) -> bool:
        """Whether a fact that is missing must not come."""
        return any(
            missing >> i & 1
            and self.premises[i].is_ground(binding)
            and item.is_ground(binding)
            and item.denies(*self.premises[i].fact(binding), binding)
            for i, item in self.clashes
        )

    def _clashes(self) -> Iterator[tuple[int, Awaited]]:
        """The premises that could be the very fact that an absence denies."""
        for item in self.negated:
            for i, premise in enumerate(self.premises):
                if premise.premise.predicate == item.premise.predicate and all(
                    item.constants.get(at, value) == value for at, value in premise.constants.items()
                ):
                    yield i, item

    def _upper_bounds(self) -> dict[int, list[tuple[int | None, int]]]:
        """For each time what it is at most: a variable (0 if None), and a distance."""
        number = {name: i for i, name in enumerate(self.names)}
        return {
            number[name]: [(None if other is None else number[other], k) for other, k in found if other in (None, *number)]
            for name, found in self.conditions.upper.items()
            if name in number
        }

    def settle(self, binding: Binding, start: int | None) -> bool:
        """Decide the comparisons as far as the values go, and compute what they give; False if not all of them can hold."""
        if not self.conditions:
            return True
        values = self._values(binding, start)
        before = len(values)
        if not self.conditions.settle(values):
            return False
        if len(values) > before:
            binding[:] = [values.get(name) for name in self.names]
        return True

    def where(self, binding: Binding, start: int | None = None) -> list[Comparison]:
        """What has to hold of the variables that are open, with the values that are known put in."""
        return self.conditions.open(self._values(binding, start)) if self.conditions else []

    def _values(self, binding: Binding, start: int | None) -> dict[str, Value]:
        values = {name: value for name, value in zip(self.names, binding, strict=True) if value is not None}
        return values if start is None else {**values, START: start}

    def row(self, binding: Binding) -> tuple[Value | None, ...]:
        """The answer's columns, None where one is open; the time last."""
        return tuple(
            term if not isinstance(term, Slot) else None if binding[term.variable] is None else self._value(term, binding)
            for term in self.answer
        )

    def _value(self, term: Slot, binding: Binding) -> Value:
        return _sum(binding[term.variable], term.offset)

    def binding_of(self, row: Sequence[Value | None], known: Sequence[Value | None] = ()) -> Binding | None:
        """What an answer says of the variables, beside what is known; None where this precondition cannot give it."""
        binding: Binding = list(known) or [None] * len(self.names)
        for term, value in zip(self.answer, row, strict=True):
            if value is None:
                continue
            if not isinstance(term, Slot):
                if term != value:
                    return None
                continue
            if term.offset:
                if not isinstance(value, int):
                    return None
                value -= term.offset
            if binding[term.variable] not in (None, value):
                return None
            binding[term.variable] = value
        return binding

    def deadline(self, item: Awaited, binding: Binding) -> int:
        """The watermark at which a premise is decided; NEVER while nothing bounds its time."""
        time = item.at(binding)
        if time is None:
            time = self._latest(item, binding)
        return NEVER if time >= NEVER or item.delay >= NEVER else time + item.width + item.delay

    def _latest(self, item: Awaited, binding: Binding) -> int:
        """How far comparisons let an open time go."""
        found = NEVER
        for other, distance in () if item.time is None else self._upper.get(item.time, ()):
            value = 0 if other is None else binding[other]
            if isinstance(value, int):
                found = min(found, value + distance + item.offset)
        return found

    def missing(self, bits: int) -> Iterator[tuple[int, Awaited]]:
        """The premises of a set."""
        while bits:
            low = bits & -bits
            i = low.bit_length() - 1
            yield i, self.premises[i]
            bits ^= low

    def pending(self, bits: int) -> Iterator[tuple[int, Awaited]]:
        """The negated premises of a set."""
        return ((i, item) for i, item in enumerate(self.negated) if bits >> i & 1)


def _never(_: Awaited) -> int:
    return NEG


def _absent(premise: Premise, question: Question, asked: Mapping[str, tuple[UnfoldedQuery, int]]) -> Awaited:
    query, horizon = asked.get(premise.predicate, (None, question.delay(premise.predicate)))
    return Awaited(premise, horizon, negated=True, asked=query)

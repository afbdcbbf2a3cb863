"""From a guess to facts: values for its variables, as a person would write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidelog.plans.proving.case import Case, compares
from tidelog.plans.proving.numbers.linear import Constraint, Sum, compared, inverse, solution, variable
from tidelog.plans.tree.syntax import Arithmetic, Constant, Expression, Field, Time, Value, Variable

_TRIES = 12


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """A fact that holds from one time to another, both included."""

    low: Time
    high: Time
    predicate: str
    row: tuple[Value, ...]

    def moved(self, by: Time) -> Fact:
        """The same, later."""
        return Fact(self.low + by, self.high + by, self.predicate, self.row)


class Guesser:
    """Finds values for the variables of guesses. `fields` are those of inputs, `told` the predicates that data may bring."""

    def __init__(self, fields: Mapping[str, Sequence[Field]], told: frozenset[str]) -> None:
        self._fields = fields
        self._told = told

    def facts(self, case: Case) -> tuple[Fact, ...] | None:
        """The facts of a guess; None where no values fit."""
        for constraints in self._orders(case):
            numbers = solution(constraints, case.whole)
            if numbers is not None and (found := self._with(case, numbers)) is not None:
                return found
        return None

    def _orders(self, case: Case) -> Iterator[list[Constraint]]:
        """The constraints of a case, with values that are unequal ordered one way and another."""
        base = [*case.tightened(case.constraints), *_results(case)]
        pairs = []
        for left, right in case.unequal:
            first, second = case.sum(left), case.sum(right)
            if first is not None and second is not None:
                pairs.append((first, second))
        for choice in range(min(2 ** len(pairs), _TRIES)):
            more = [
                compared(first, "<" if choice >> place & 1 else ">", second) for place, (first, second) in enumerate(pairs)
            ]
            yield [*base, *(each for each in more if each is not None)]

    def _with(self, case: Case, numbers: Mapping[str, Fraction]) -> tuple[Fact, ...] | None:
        least = min((0, *(int(value) for name, value in numbers.items() if case.kinds.get(name) != "number")))
        numbers = {name: value if case.kinds.get(name) == "number" else value - least for name, value in numbers.items()}
        alike: dict[tuple[str, int], Value] = {}
        named: dict[str, Value] = {}
        waiting: list[tuple[str, Time, Time, list[Value | None]]] = []
        for span in case.spans:
            if span.predicate not in self._told:
                continue
            row: list[Value | None] = []
            for place, term in enumerate(span.arguments):
                value = self._value(case, term, span.predicate, place, numbers)
                known = case.resolve(term)
                if isinstance(known, Variable) and value is not None:
                    value = named.setdefault(known.name, value)  # one value, whatever its fields are called
                row.append(value)
                if value is not None:
                    alike.setdefault((span.predicate, place), value)
            waiting.append((span.predicate, span.range.low.offset, span.range.high.offset, row))
        facts = [
            Fact(
                low,
                high,
                name,
                tuple(self._free(name, place, alike) if value is None else value for place, value in enumerate(row)),
            )
            for name, low, high, row in waiting
        ]
        return tuple(sorted(dict.fromkeys(facts), key=lambda fact: (fact.low, fact.high, fact.predicate, repr(fact.row))))

    def _value(
        self, case: Case, term: Expression, predicate: str, place: int, numbers: Mapping[str, Fraction]
    ) -> Value | None:
        """A value for a term; None where any will do."""
        term = case.resolve(term)
        if isinstance(term, Constant):
            return term.value
        if not isinstance(term, Variable):
            return None
        kind = case.kind(term)
        rank = numbers.get(term.name)
        if kind == "number":
            return None if rank is None else _plain(rank)
        if kind is None and self._type(predicate, place) in ("number", "integer"):
            return None if rank is None else _plain(rank)
        for attempt in range(_TRIES):
            value = self._text(predicate, place, int(rank or 0) + attempt)
            if all(self._differs(case, term, pair, value) for pair in case.unequal):
                return value
        return None

    def _differs(self, case: Case, term: Variable, pair: tuple[Expression, Expression], value: Value) -> bool:
        """Whether a value is not one that a variable must not have."""
        left, right = (case.resolve(each) for each in pair)
        for one, other in ((left, right), (right, left)):
            if one == term and isinstance(other, Constant):
                return compares(value, "!=", other.value)
        return True

    def _type(self, predicate: str, place: int) -> str:
        fields = self._fields.get(predicate, ())
        return fields[place].type if place < len(fields) else "any"

    def _text(self, predicate: str, place: int, rank: int) -> str:
        """The name of a thing: `room1` for the field `room`."""
        fields = self._fields.get(predicate, ())
        if self._type(predicate, place) == "boolean":
            return "false" if rank % 2 else "true"
        stem = fields[place].name if place < len(fields) else "x"
        return f"{stem}{rank + 1}"

    def _free(self, predicate: str, place: int, alike: Mapping[tuple[str, int], Value]) -> Value:
        """Any value: that of another fact, if there is one."""
        if (predicate, place) in alike:
            return alike[predicate, place]
        kind = self._type(predicate, place)
        if kind in ("number", "integer"):
            return 0
        return "true" if kind == "boolean" else self._text(predicate, place, 0)


def _results(case: Case) -> Iterator[Constraint]:
    """What arithmetic comes to, where it is linear, as if numbers were exact: of `abs`, `min` and `max` one way to hold."""
    for name, term in case.reckoner.results.items():
        found = _linear(case, term)
        if found is not None:
            yield Constraint(variable(name).plus(found[0], -1), "=")
            yield from found[1]


def _linear(case: Case, term: Expression) -> tuple[Sum, list[Constraint]] | None:  # noqa: PLR0911 - one for each operator
    """An expression as a sum, with what has to hold for that."""
    term = case.resolve(term)
    if not isinstance(term, Arithmetic):
        found = case.sum(term)
        return None if found is None else (found, [])
    parts = [_linear(case, operand) for operand in term.operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    sums, beside = [part[0] for part in known], [each for part in known for each in part[1]]
    first, last = sums[0], sums[-1]
    match term.operator:
        case "+" | "-":
            return first.plus(last, 1 if term.operator == "+" else -1), beside
        case "neg":
            return first.scaled(-1), beside
        case "*" if not first.parts and first.constant:
            return last.scaled(first.constant), beside
        case "*" if not last.parts and last.constant:
            return first.scaled(last.constant), beside
        case "/" if not last.parts and last.constant:
            return first.scaled(inverse(last.constant)), beside
        case "abs":
            return first, [*beside, Constraint(first.scaled(-1), "<=")]
        case "max":
            return last, [*beside, *(Constraint(each.plus(last, -1), "<=") for each in sums[:-1])]
        case "min":
            return last, [*beside, *(Constraint(last.plus(each, -1), "<=") for each in sums[:-1])]
    return None


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)

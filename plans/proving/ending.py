"""Facts that may end what others have begun: guesses, of which the engine then says whether they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from tidelog.plans.proving.guessing import Fact
from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.tree.syntax import Arithmetic, Atom, Comparison, Constant, Expression, Field, Value
from tidelog.plans.tree.traverse import subformulas

_MANY = 5


def endings(
    book: Rulebook, fields: Mapping[str, Sequence[Field]], facts: Sequence[Fact], time: Fraction
) -> Iterator[tuple[Fact, ...]]:
    """Single facts behind a time: of what was reported, with other values, and of what was not, of the same things."""
    rows = {fact.predicate: fact.row for fact in facts}
    known = _known(facts, fields)
    values = list(constants_of(book))
    for later in (Fraction(1), Fraction(2), Fraction(60)):
        for predicate, declared in fields.items():
            for row in _rows(predicate, declared, rows, known, values):
                yield (Fact(time + later, time + later, predicate, row),)
    yield from _of_all(facts, fields, values, time + 1)
    for predicate, declared in fields.items():
        for row in _rows(predicate, declared, rows, known, values):
            yield tuple(Fact(time + later, time + later, predicate, row) for later in range(1, _MANY + 1))


def _of_all(
    facts: Sequence[Fact], fields: Mapping[str, Sequence[Field]], values: Sequence[Value], time: Fraction
) -> Iterator[tuple[Fact, ...]]:
    """All that was reported once more, with one value in place of the last argument."""
    for value in values:
        again = [
            Fact(time, time, fact.predicate, (*fact.row[:-1], value))
            for fact in facts
            if fact.row and _fits(fields.get(fact.predicate, ())[-1:], value)
        ]
        if again:
            yield tuple(dict.fromkeys(again))


def _fits(fields: Sequence[Field], value: Value) -> bool:
    is_number = any(field.type in ("number", "integer") for field in fields)
    return any(field.type == "any" for field in fields) or is_number == (not isinstance(value, str))


def rows_beside(
    facts: Sequence[Fact], fields: Mapping[str, Sequence[Field]], values: Sequence[Value]
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Rows of inputs that are about the same things as some facts."""
    rows = {fact.predicate: fact.row for fact in facts}
    known = _known(facts, fields)
    for predicate, declared in fields.items():
        for row in _rows(predicate, declared, rows, known, values):
            yield predicate, row


def _known(facts: Sequence[Fact], fields: Mapping[str, Sequence[Field]]) -> dict[str, Value]:
    """The values of fields, by their names."""
    return {
        field.name: value for fact in facts for field, value in zip(fields.get(fact.predicate, ()), fact.row, strict=False)
    }


def _rows(
    predicate: str,
    declared: Sequence[Field],
    rows: Mapping[str, tuple[Value, ...]],
    known: Mapping[str, Value],
    values: Sequence[Value],
) -> Iterator[tuple[Value, ...]]:
    """Rows of a predicate: one argument is another than it was."""
    row = rows.get(predicate) or tuple(known.get(field.name, _any(field)) for field in declared)
    yield row
    for place, field in enumerate(declared):
        for value in values:
            if _fits((field,), value):
                yield (*row[:place], value, *row[place + 1 :])


def _any(field: Field) -> Value:
    if field.type in ("number", "integer"):
        return 0
    return "true" if field.type == "boolean" else f"{field.name}1"


def constants_of(book: Rulebook, *, numbers_too: bool = False) -> Iterator[Value]:
    """The texts of a program, its numbers where they are wanted, and numbers beyond all of them."""
    found: dict[Value, None] = {}
    for clause in (each for clauses in book.clauses.values() for each in clauses):
        for part in (each for formula in (clause.head, *clause.body) for each in subformulas(formula)):
            terms = (
                part.arguments if isinstance(part, Atom) else (part.left, part.right) if isinstance(part, Comparison) else ()
            )
            found.update(dict.fromkeys(value for term in terms for value in _constants(term)))
    found.update(dict.fromkeys(value for rows in book.facts.values() for row, _ in rows for value in row))
    numbers = [value for value in found if not isinstance(value, str)]
    yield from numbers if numbers_too else ()
    yield from (value for value in found if isinstance(value, str))
    yield int(max(numbers, default=0)) + 10
    yield int(min(numbers, default=0)) - 10
    yield "other"


def _constants(term: Expression) -> Iterator[Value]:
    if isinstance(term, Constant):
        yield term.value
    elif isinstance(term, Arithmetic):
        for operand in term.operands:
            yield from _constants(operand)

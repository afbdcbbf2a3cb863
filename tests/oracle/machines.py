"""An interpreter of assignments, time by time: it knows what `mode(M)` is now, reads the rules, and sets what it is next.

It shares nothing with the engine but the syntax tree, and has no `since`: what holds is a table, `mode(M)` → values. Bodies
hold atoms at the present time, `not` over these (with `_`), comparisons with a constant, and `M for n` over one atom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from oracle.evaluate import GroundFact
from oracle.values import compare
from tidelog.plans.tree.declared.machines import written_head
from tidelog.plans.tree.syntax import (
    Atom,
    Comparison,
    Constant,
    Formula,
    Negation,
    Program,
    Rule,
    Unary,
    Value,
    Variable,
    Wildcard,
)

Row = tuple[Value, ...]
Held = dict[str, set[Row]]
"""The rows of each predicate that hold at one time."""
Binding = Mapping[str, Value]


def run_machines(program: Program, facts: Sequence[GroundFact], last: int, first: int = 0) -> list[Held]:
    """What holds at the times first … last, on integers, by the assignments of a program alone; before, nothing is set."""
    rules = [item for item in program.statements if isinstance(item, Rule) and item.assigns != "holds"]
    table: dict[tuple[str, Row], set[Value]] = {}
    past: list[Held] = []
    for time in range(first, last + 1):
        held: Held = defaultdict(set)
        for predicate, row, when in facts:
            if when.low <= time <= when.high:
                held[predicate].add(row)
        for (name, key), values in table.items():
            held[name] |= {(*key, value) for value in values}
        past.append(held)
        _derive([rule for rule in rules if not rule.assigns], past)
        assigned: dict[tuple[str, Row], set[Value]] = defaultdict(set)
        cleared: set[tuple[str, Row]] = set()
        for rule in rules:
            if not rule.assigns:
                continue
            key_atom, value = written_head(rule)
            for binding in _solutions(rule.body, past, {}):
                key = (key_atom.predicate, tuple(_value(term, binding) for term in key_atom.arguments))
                if (given := _value(value, binding)) == "none":
                    cleared.add(key)
                else:
                    assigned[key].add(given)
        for each in cleared:
            table.pop(each, None)
        table.update(assigned)
    return past


def _derive(rules: Sequence[Rule], past: list[Held]) -> None:
    """The other rules, which come after one another and read what is above them."""
    for rule in rules:
        assert isinstance(rule.head, Atom)
        found = [tuple(_value(term, binding) for term in rule.head.arguments) for binding in _solutions(rule.body, past, {})]
        past[-1][rule.head.predicate].update(found)


def _solutions(body: Sequence[Formula], past: list[Held], binding: Binding) -> Iterator[Binding]:
    if not body:
        yield binding
        return
    first, *rest = sorted(body, key=lambda part: isinstance(part, Negation | Comparison))
    match first:
        case Atom():
            for row in past[-1][first.predicate]:
                found = _unified(first, row, binding)
                if found is not None:
                    yield from _solutions(rest, past, found)
        case Unary(operator="boxminus", operand=Atom() as atom, interval=interval):
            for row in past[-1][atom.predicate]:
                found = _unified(atom, row, binding)
                if found is not None and _lasted(atom.predicate, row, past, interval.high):
                    yield from _solutions(rest, past, found)
        case Negation(operand=Atom() as atom):
            if all(_unified(atom, row, binding) is None for row in past[-1][atom.predicate]):
                yield from _solutions(rest, past, binding)
        case Comparison():
            if compare(first, dict(binding)):
                yield from _solutions(rest, past, binding)
        case _:
            raise ValueError(f"the interpreter does not know {first!r}")


def _lasted(predicate: str, row: Row, past: list[Held], size: Fraction | float) -> bool:
    now = len(past) - 1
    return now >= size and all(row in past[time][predicate] for time in range(now - int(size), now + 1))


def _unified(atom: Atom, row: Row, binding: Binding) -> Binding | None:
    found = dict(binding)
    for term, value in zip(atom.arguments, row, strict=True):
        if isinstance(term, Wildcard):
            continue
        if isinstance(term, Constant):
            if term.value != value:
                return None
        elif isinstance(term, Variable) and found.setdefault(term.name, value) != value:
            return None
    return found


def _value(term: object, binding: Binding) -> Value:
    if isinstance(term, Constant):
        return term.value
    assert isinstance(term, Variable)
    return binding[term.name]

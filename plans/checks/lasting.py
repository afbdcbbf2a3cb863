"""Check: a reading holds for an instant, so that a box over it never holds; told as a warning."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from tidelog.plans.checks.changing import boxed
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.plans.tree.traverse import children
from tidelog.plans.tree.walk import head_atom, statements_of, supplied

_MANY = 60
"""Readings at more ticks in a row than these are hardly meant. Fewer may well be, such as the hours of a day."""


def check_lasting(program: syntax.Program) -> Iterator[Diagnostic]:
    """`hot(P) for 5 min` where `hot` comes from readings, and nothing says for how long a reading counts.

    A reading is a fact of a declared input with a number: data may give such a fact an interval, but seldom do. What is told
    is what rules derive from readings; of a reading itself, `check_changing` tells that its number has to stay. An operator
    in the head says that somebody has thought of it: `boxplus[0] hot(P)`, where data do have intervals.
    """
    timelines = statements_of(program, syntax.TimelineDeclaration)
    timeline = timelines[0] if timelines else syntax.TimelineDeclaration()
    rules = statements_of(program, syntax.Rule)
    boxes = [box for rule in rules for part in rule.body for box in _boxes(part) if _is_long(box, timeline)]
    if not boxes:
        return
    instants = _instants(program)
    for box in boxes:
        atom = next((each for each in _premises(boxed(box)) if each.predicate in instants), None)
        if atom is not None:
            yield _warning(box, atom, instants[atom.predicate], timeline)


def _is_long(box: syntax.Formula, timeline: syntax.TimelineDeclaration) -> bool:
    """Whether no readings fill what a box looks at: always between the points of a dense timeline."""
    if timeline.kind != "integer":
        return True
    match box:
        case syntax.Unary():
            last = _ticks(box.interval.high, box.interval.high_unit, timeline)
            return last - _ticks(box.interval.low, box.interval.low_unit, timeline) > _MANY
        case syntax.Window():
            return _ticks(box.window.size, box.window.size_unit, timeline) > _MANY
    return False


def _ticks(time: syntax.Time, unit: str, timeline: syntax.TimelineDeclaration) -> syntax.Time:
    if not unit or timeline.unit is None or not isinstance(time, Fraction):
        return time
    return time * UNIT_SECONDS[unit] / timeline.unit


def _boxes(formula: syntax.Formula) -> Iterator[syntax.Formula]:
    """The boxes and the windows that ask for something at more than one time, from the outside in."""
    if boxed(formula) is not None:
        yield formula
    for child in children(formula):
        yield from _boxes(child)


def _premises(formula: syntax.Formula | None) -> Iterator[syntax.Atom]:
    """The atoms that must hold wherever the formula does, at that time or at one at a fixed distance."""
    match formula:
        case syntax.Atom(at=None):
            yield formula
        case syntax.Conjunction():
            for part in formula.parts:
                yield from _premises(part)
        case syntax.Unary() if formula.interval.is_punctual:
            yield from _premises(formula.operand)


def _instants(program: syntax.Program) -> dict[str, syntax.Input]:
    """What rules derive that holds at instants alone, each with the input whose readings it comes from.

    All rules of such a predicate need a reading, or another such predicate, at their own time.
    """
    declared = {item.predicate: item for item in statements_of(program, syntax.Input)}
    heads = [(rule, atom) for rule in statements_of(program, syntax.Rule) if (atom := head_atom(rule)) is not None]
    given = {item.atom.predicate for item in statements_of(program, syntax.FactStatement)}
    given |= {item.predicate for item in supplied(program)}
    missing = Counter(atom.predicate for _, atom in heads)
    readers = defaultdict[str, list[int]](list)
    for number, (rule, atom) in enumerate(heads):
        if rule.head is atom and atom.at is None and atom.predicate not in declared and atom.predicate not in given:
            for premise in {each.predicate for part in rule.body for each in _premises(part)}:
                readers[premise].append(number)
    found: dict[str, syntax.Input] = {}
    waiting = [
        (name, item) for name, item in declared.items() if _has_number(item) and not missing[name] and name not in given
    ]
    told = set[int]()
    while waiting:
        name, source = waiting.pop()
        found[name] = source
        for number in readers[name]:
            derived = heads[number][1].predicate
            missing[derived] -= number not in told
            if number not in told and not missing[derived]:
                waiting.append((derived, source))
            told.add(number)
    return {name: source for name, source in found.items() if name not in declared}


def _has_number(item: syntax.Input) -> bool:
    return any(each.type in ("number", "integer") for each in item.fields)


def _warning(
    box: syntax.Formula, atom: syntax.Atom, source: syntax.Input, timeline: syntax.TimelineDeclaration
) -> Diagnostic:
    name, given = format_predicate(atom.predicate), format_predicate(source.predicate)
    often = "at every tick" if timeline.kind == "integer" else "without a gap"
    message = f"`{name}` holds at the times of `{given}` alone, and is asked for here {often}"
    example = "for 1 min" if timeline.unit is not None else "for 5"
    help = (
        f"say for how long a reading counts, such as `high(X) {example} :- {given}(…), …`; or write `within` below it: "
        f"`{name}(…) within …`"
    )
    notes = (Note(source.span, "a reading lasts for an instant"),)
    return Diagnostic("one-instant", message, atom.span, "holds at instants", notes, help, severity="warning")

"""How supports are shown: premises at one time point after the other as a stretch, and conditions on what is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.operators.ask.partials import Partial
from tidelog.operators.ask.patterns import Awaited, Binding, Pattern, fill
from tidelog.plans.normal.names import expression_variables
from tidelog.plans.preconditions import Slot
from tidelog.plans.questions import GroundLiteral, Open
from tidelog.plans.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable

SHORTEST = 3
"""So many premises in a row are shown as a stretch."""


def in_stretches(literals: Iterable[GroundLiteral]) -> tuple[GroundLiteral, ...]:
    """The literals, those of one fact at three times or more in a row as one: `not heard(n1)@[5,34]`."""
    rows: dict[GroundLiteral, dict[int, GroundLiteral]] = {}
    order: list[GroundLiteral] = []
    for literal in literals:
        base, place = _place(literal)
        rows.setdefault(base, {})[place] = literal
        order.append(literal)
    if len(rows) == len(order):
        return tuple(order)
    lasting = {first: made for times in rows.values() for first, made in _stretches(times)}
    return tuple(lasting[literal] for literal in order if literal in lasting)


def _place(literal: GroundLiteral) -> tuple[GroundLiteral, int]:
    """What a literal is but for its time, and its time less a variable's, if it has one."""
    time = literal.time
    if isinstance(time, Open):
        return replace(literal, time=Open(time.name)), time.offset
    return replace(literal, time=0), time


def _stretches(times: dict[int, GroundLiteral]) -> Iterator[tuple[GroundLiteral, GroundLiteral]]:
    """Each literal that is shown, and as what."""
    places = sorted(times)
    first = 0
    for last, place in enumerate(places):
        if last + 1 < len(places) and places[last + 1] == place + 1:
            continue
        group = [times[each] for each in places[first : last + 1]]
        if len(group) >= SHORTEST:
            yield group[0], replace(group[0], until=group[-1].time)
        else:
            yield from zip(group, group, strict=True)
        first = last + 1


# --- conditions ---------------------------------------------------------------------------------------------------------


def where_of(partial: Partial, columns: Sequence[str], start: int | None) -> Iterator[Comparison]:
    """What has to hold of what is open: the rules' comparisons, which columns are the same, and what must not come."""
    pattern, binding = partial.pattern, partial.binding
    if pattern.is_closed(binding):
        return
    shown = _shown(partial)
    for condition in pattern.where(binding, start):
        if {*expression_variables(condition.left), *expression_variables(condition.right)} <= shown:
            yield condition
    for column, term in zip(columns, pattern.answer, strict=True):
        if isinstance(term, Slot) and binding[term.variable] is None and pattern.names[term.variable] != column:
            yield Comparison("=", Variable(column), _term(fill(term, binding, pattern.names)))
    for i, absent in pattern.clashes:
        if partial.missing >> i & 1:
            yield from _unlike(pattern.premises[i], absent, binding, pattern)


def _shown(partial: Partial) -> set[str]:
    """The variables that are open in the answer and in the premises."""
    pattern, binding = partial.pattern, partial.binding
    terms = [*pattern.answer]
    for item in (*(item for _, item in pattern.missing(partial.missing)), *pattern.negated):
        terms += (*item.premise.arguments, item.premise.time)
    return {pattern.names[t.variable] for t in terms if isinstance(t, Slot) and binding[t.variable] is None}


def _unlike(item: Awaited, absent: Awaited, binding: Binding, pattern: Pattern) -> Iterator[Comparison]:
    """A fact that has to come is not the one that must not, where one variable tells them apart."""
    names = pattern.names
    pairs = zip((*item.premise.arguments, item.premise.time), (*absent.premise.arguments, absent.premise.time), strict=True)
    apart = [
        (one, other)
        for left, right in pairs
        if (one := fill(left, binding, names)) != (other := fill(right, binding, names))
    ]
    if len(apart) == 1 and any(isinstance(term, Open) for term in apart[0]):
        one, other = apart[0] if isinstance(apart[0][0], Open) else reversed(apart[0])
        yield Comparison("!=", _term(one), _term(other))


def _term(term: Value | Open) -> Expression:
    if not isinstance(term, Open):
        return Constant(term)
    if not term.offset:
        return Variable(term.name)
    return Arithmetic("+" if term.offset > 0 else "-", (Variable(term.name), Constant(abs(term.offset))))

"""How supports are shown: those that differ in one time as one way, and conditions on what is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from tidelog.operators.ask.premises.awaited import Awaited, Binding, expression_of, fill
from tidelog.operators.ask.premises.partials import Partial
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.operators.ask.supports.covering import literals_of
from tidelog.plans.plan.preconditions import Slot
from tidelog.plans.plan.questions import GroundLiteral, Open
from tidelog.plans.plan.stretches import SHORTEST
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Comparison, Constant, Value, Variable

# --- ways ---------------------------------------------------------------------------------------------------------------


def as_ways(partials: Sequence[Partial]) -> list[list[Partial]]:
    """The supports, those together that differ in the time of one hypothesis alone, at time points in a row."""
    if len(partials) < SHORTEST:
        return [[partial] for partial in partials]
    places: dict[_Way, dict[int, Partial]] = {}
    for partial in partials:
        for place, time in _places(partial):
            places.setdefault(place, {})[time] = partial
    found: dict[Partial, list[Partial]] = {}
    for times in places.values():
        for way in _runs(times):
            if found.keys().isdisjoint(way):
                found.update(dict.fromkeys(way, way))
    ways = [found.get(partial, [partial]) for partial in partials]
    return list({id(way): way for way in ways}.values())


_Way = tuple[frozenset[GroundLiteral], frozenset[GroundLiteral], GroundLiteral]


def _places(partial: Partial) -> Iterator[tuple[_Way, int]]:
    """What a support says but for the time of one hypothesis, and that time."""
    evidence, hypotheses = map(frozenset, literals_of(partial))
    for literal in literals_of(partial)[1]:  # in their order: which one varies must not depend on how texts are hashed
        if isinstance(literal.time, int):
            yield (evidence, hypotheses - {literal}, replace(literal, time=0)), literal.time


def _runs(times: Mapping[int, Partial]) -> Iterator[list[Partial]]:
    places = sorted(times)
    first = 0
    for last, place in enumerate(places):
        if last + 1 == len(places) or places[last + 1] != place + 1:
            if last + 1 - first >= SHORTEST:
                yield [times[each] for each in places[first : last + 1]]
            first = last + 1


def ranging(way: Sequence[Partial]) -> tuple[list[GroundLiteral], list[Comparison]]:
    """The hypotheses of supports that differ in the time of one alone, which then is a variable, and its bounds."""
    first, last = (literals_of(each)[1] for each in (way[0], way[-1]))
    (lowest,), (highest,) = [x for x in first if x not in last], [x for x in last if x not in first]
    taken = {term.name for x in first for term in (*x.arguments, x.time) if isinstance(term, Open)}
    taken |= {*way[0].pattern.names}
    name = next(new for new in chain(("S", "U", "V"), map("S{}".format, count(2))) if new not in taken)
    made = [replace(literal, time=Open(name)) if literal == lowest else literal for literal in first]
    return made, [
        Comparison(">=", Variable(name), expression_of(lowest.time)),
        Comparison("<=", Variable(name), expression_of(highest.time)),
    ]


# --- conditions ---------------------------------------------------------------------------------------------------------


def where_of(partial: Partial, columns: Sequence[str], start: int | None) -> Iterator[Comparison]:
    """What has to hold of what is open: the rules' comparisons, which columns are the same, and what must not come."""
    pattern, binding = partial.pattern, partial.binding
    if pattern.is_closed(binding):
        return
    shown = _shown(partial)
    where = pattern.where(binding, start)
    yield from _tightest([each for each in where if shown.issuperset(expression_variables(each.left, each.right))])
    for column, term in zip(columns, pattern.answer, strict=True):
        if isinstance(term, Slot) and binding[term.variable] is None and pattern.names[term.variable] != column:
            yield Comparison("=", Variable(column), expression_of(fill(term, binding, pattern.names)))
    for i, absent in pattern.clashes:
        if partial.missing >> i & 1:
            yield from _unlike(pattern.premises[i], absent, binding, pattern)


def _tightest(conditions: list[Comparison]) -> Iterator[Comparison]:
    """The conditions; of several bounds of one variable by numbers, the one that says most."""
    best: dict[tuple[str, str], Value] = {}
    for item in conditions:
        match item:
            case Comparison(">=" | "<=" as sign, Variable(name), Constant(int(value))):
                known = best.setdefault((name, sign), value)
                if isinstance(known, int):
                    best[name, sign] = max(known, value) if sign == ">=" else min(known, value)
    for item in dict.fromkeys(conditions):
        match item:
            case Comparison(">=" | "<=" as sign, Variable(name), Constant(int(value))) if best.get((name, sign)) != value:
                continue
        yield item


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
        yield Comparison("!=", expression_of(one), expression_of(other))

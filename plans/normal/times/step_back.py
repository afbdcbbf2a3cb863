"""Pass: where a circle goes through a `not`, what looks strictly back becomes a step back, and what is left at one time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import taken_names
from tidelog.plans.tree.dependencies import circles, dependencies
from tidelog.plans.tree.names import FreshNames, atom, head_predicate, predicates, variables
from tidelog.plans.tree.syntax import Atom, Binary, Interval, Rule, Time, Unary

_ONE = Interval(Fraction(1), Fraction(1))

Fresh = Callable[[], str]


def step_back(program: NormalProgram) -> NormalProgram:
    """Rewrite operators over predicates that depend on their own negation, so that these go round by `diamondminus` alone.

    Such a circle is run time by time, so it has to be known of each step whether it reads the same time or an earlier one.
    On integers: p was there between two and five times ago if the step back of it was between one and four times ago.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> rules = "timeline integer. on(X) :- begin(X), not boxminus[1,3] on(X)."
    >>> print(text_after("step_back", rules).partition("output on.")[2].strip())
    'on.2'(X) :- diamondminus[1,1] on(X).
    'on.1'(X) :- boxminus[0,2] 'on.2'(X).
    on(X) :- begin(X), not 'on.1'(X).
    """
    is_integer = program.timeline.kind == "integer"
    found = circles(dependencies(program.rules, is_integer=is_integer))
    if not found:
        return program
    fresh = FreshNames(taken_names(program))
    circle_of = {name: circle.members for circle in found for name in circle.members}
    rules: list[Rule] = []
    sources: list[Rule] = []
    for rule, source in zip(program.rules, program.sources, strict=True):
        members = circle_of.get(head_predicate(rule.head) or "", frozenset())
        new = [rule]
        if any(name in members for part in rule.body for name in predicates(part)):
            new = list(_rewritten(rule, members, is_integer, partial(fresh.name, source)))
        rules += [replace(each, span=rule.span) for each in new]
        sources += [source] * len(new)
    return replace(program, rules=tuple(rules), sources=tuple(sources), origins={**program.origins, **fresh.made})


def _rewritten(rule: Rule, members: Collection[str], is_integer: bool, fresh: Fresh) -> Iterator[Rule]:
    match rule.body:
        case (Unary(operator="boxminus", operand=Atom() as operand, clipped=False, step=0) as box,):
            yield from _box(rule, box, operand, is_integer, fresh)
        case (Unary(operator="diamondminus", operand=Atom() as operand, clipped=False, step=0) as diamond,) if is_integer:
            low, high = _distances(diamond.interval)
            if low == 0:
                yield replace(rule, body=(operand,))
            if high > 0:
                yield replace(rule, body=(replace(diamond, interval=_interval(max(low, Fraction(1)), high)),))
        case (Binary(operator="since", left=Atom() as left, right=Atom() as right) as since,) if is_integer:
            yield from _since(rule, since, left, right, fresh)
        case _:
            yield rule


def _box(rule: Rule, box: Unary, operand: Atom, is_integer: bool, fresh: Fresh) -> Iterator[Rule]:
    interval = box.interval
    low, high = _distances(interval) if is_integer else (interval.low, interval.high)
    if low == 0 and (not is_integer or high == 0):
        yield rule
        return
    back = replace(operand, predicate=fresh())
    if low > 0:
        step = Interval(low, low)
        rest = _interval(Fraction(0), high - low) if is_integer else _moved(interval, low)
        yield Rule(back, (Unary("diamondminus", step, operand),))
        yield replace(rule, body=(replace(box, interval=rest, operand=back),))
        return
    before = replace(operand, predicate=fresh())
    yield Rule(back, (Unary("diamondminus", _ONE, operand),))
    yield Rule(before, (replace(box, interval=_interval(Fraction(0), high - 1), operand=back),))
    yield replace(rule, body=(operand, before))


def _since(rule: Rule, since: Binary, left: Atom, right: Atom, fresh: Fresh) -> Iterator[Rule]:
    """`L since[a,b] R`: with what was one time before, R alone, or L now and `since` over one time less."""
    low, high = _distances(since.interval)
    left_before, right_before = replace(left, predicate=fresh()), replace(right, predicate=fresh())
    yield Rule(right_before, (Unary("diamondminus", _ONE, right),))
    if low == 0:
        yield replace(rule, body=(right,))
    if low <= 1 <= high:
        yield replace(rule, body=(right_before,))
    if high >= 2:
        lasting = atom(fresh(), variables(right, left))
        yield Rule(left_before, (Unary("diamondminus", _ONE, left),))
        rest = _interval(max(low - 1, Fraction(1)), high - 1)
        yield Rule(lasting, (replace(since, interval=rest, left=left_before, right=right_before),))
        yield replace(rule, body=(lasting, left_before))


def _distances(interval: Interval) -> tuple[Time, Time]:
    """The first and the last whole distance of an interval."""
    high = interval.high if interval.high == math.inf else interval.high - interval.right_open
    return interval.low + interval.left_open, high


def _interval(low: Time, high: Time) -> Interval:
    return Interval(low, high, False, high == math.inf)


def _moved(interval: Interval, by: Time) -> Interval:
    return replace(interval, low=interval.low - by, high=interval.high - by)

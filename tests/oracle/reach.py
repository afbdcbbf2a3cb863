"""How wide the horizon of an evaluation has to be, and where in it the answers are right.

Facts begin and end at finitely many times; let L and H be the first and the last of them (the stream's start is one
too). Before L nothing changes, and after H nothing. An operator moves the times at which something changes: a past
operator with the finite ends a and b moves them right by at most the larger one, a future operator left. So in a
program without recursion through time nothing that is derived changes before L−l or after H+r, where l and r, the
program's **reach**, are sums of such distances. With a horizon wider than [L−l, H+r] every answer is exact, inside and
beyond it.

A time variable moves changes too: those of `p(X)@T+j in [n step d]` by the width of the window, with `@T+k` in the head
by k−j, and those of all else in both directions, as t is any time that goes with T. A tuple window changes where facts
arrive, and at the next time; what it holds is known exactly at every time. A head's time that is some value adds all
whole numbers of the facts and the program to the times at which something may change. The program's time variables
must be bounded (`Model.meets_edge`).

Recursion through time (`boxplus[1,1] p :- p`) never settles, so that its reach is infinite. Then an answer at t is
right if what it was derived from is: towards the future, up to the horizon's end, minus how far bodies look ahead.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from oracle.evaluate import GroundFact, is_dense, make_grid, program_facts, rules_of
from oracle.grounding import head_atom, is_bottom, parts
from oracle.rule_times import RuleTimes, bounds_of_values, span_of, times_of
from tidelog.plans.tree.syntax import Aggregate, Atom, Binary, Formula, Interval, Latest, Program, Time, Unary, Window

START = "\0start"
"""A name for the stream's start among the predicates: clipped windows depend on it."""
CONSTRAINT = "\0bottom"
"""A name for what the constraints derive."""
ARRIVALS = "\0arrivals"
"""A name for the stream's order among the predicates: tuple windows depend on it."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`head` depends on `body`: how far changes move, and how far away the times are that matter.

    `right` and `left` are finite: how far a change of `body` moves. `behind` and `ahead` are infinite for unbounded
    operators: the truth of `head` at t depends on `body` within [t−behind, t+ahead].
    """

    head: str
    body: str
    right: Time
    left: Time
    behind: Time
    ahead: Time


@dataclass(frozen=True, slots=True)
class Reach:
    """How far before the first and after the last change of its facts a program may derive changes."""

    left: Time
    right: Time


def _largest(interval: Interval) -> Time:
    return interval.low if interval.high == math.inf else interval.high


def _paths(formula: Formula, edge: Edge, times: RuleTimes) -> Iterator[Edge]:
    """An edge for each atom of the formula, `edge` saying what the operators around it add up to."""
    if isinstance(formula, Atom):
        yield _leaf(edge, times, formula)
    elif isinstance(formula, Window):
        yield from _window_paths(formula, edge, times)
        return
    elif isinstance(formula, Aggregate | Latest):
        edge = _past(edge, Interval(Fraction(0), formula.window.size + (formula.window.step or 0)))
    elif isinstance(formula, Unary | Binary):
        is_past = formula.operator in ("diamondminus", "boxminus", "since")
        if isinstance(formula, Binary):
            # over integers since and until hold one time beside their right side whatever the left one says
            edge = (_past if is_past else _future)(edge, Interval(Fraction(0), Fraction(1)))
        edge = (_past if is_past else _future)(edge, formula.interval)
        if isinstance(formula, Unary) and formula.clipped:
            yield _leaf(edge, times, START)
    for part in parts(formula):
        yield from _paths(part, edge, times)


def _window_paths(window: Window, edge: Edge, times: RuleTimes) -> Iterator[Edge]:
    atom, span = window.operand, span_of(window)
    if window.window.tuples:
        yield _leaf(replace(edge, right=edge.right + 1), times, ARRIVALS)
    elif window.mode == "at" and isinstance(atom, Atom):
        yield _leaf(edge, times, atom, span)
        yield _leaf(edge if times.head else _past(edge, Interval(Fraction(0), span)), times, START)
    else:
        edge = _past(edge, Interval(Fraction(0), span))
        yield from _paths(window.operand, edge, times)
        if window.mode == "always":
            yield _leaf(edge, times, START)


def _leaf(edge: Edge, times: RuleTimes, body: Atom | str, span: Time | None = None) -> Edge:
    """The edge to an atom or a name; `span` is that of a time window around an atom with `@T`."""
    far = times.width + times.spread
    point = body.at if isinstance(body, Atom) else None
    if point is None:
        behind, ahead = times.behind, times.ahead
        right, left = (Fraction(0), Fraction(0)) if times.head is None else (far, far)
    else:
        behind, ahead = times.seen(point, span)
        right, left = (behind, ahead) if times.moves(point) else (far, times.spread if times.head is None else far)
    name = body.predicate if isinstance(body, Atom) else body
    return Edge(edge.head, name, edge.right + right, edge.left + left, edge.behind + behind, edge.ahead + ahead)


def _past(edge: Edge, interval: Interval) -> Edge:
    right, behind = edge.right + _largest(interval), edge.behind + interval.high
    return Edge(edge.head, edge.body, right, edge.left, behind, edge.ahead)


def _future(edge: Edge, interval: Interval) -> Edge:
    left, ahead = edge.left + _largest(interval), edge.ahead + interval.high
    return Edge(edge.head, edge.body, edge.right, left, edge.behind, ahead)


def edges(program: Program) -> list[Edge]:
    """Which predicate depends on which, over what distances. A head's `boxplus` is a past operator of the body."""
    found: list[Edge] = []
    for rule in rules_of(program):
        atom, head = head_atom(rule.head), rule.head
        if atom is None and not is_bottom(head):
            continue
        edge = Edge(CONSTRAINT if atom is None else atom.predicate, "", *[Fraction(0)] * 4)
        while isinstance(head, Unary):
            edge = (_past if head.operator == "boxplus" else _future)(edge, head.interval)
            head = head.operand
        times = times_of(rule)
        found.extend(path for formula in rule.body for path in _paths(formula, edge, times))
    return found


def _longest(pairs: Iterable[tuple[str, str, Time]]) -> dict[str, Time]:
    """For each head the largest sum of distances over all paths; infinite if a cycle adds to it."""
    listed = list(pairs)
    total: dict[str, Time] = defaultdict(lambda: Fraction(0))
    for turn in range(2 * len(listed) + 2):
        for head, body, distance in listed:
            if total[body] + distance > total[head]:
                total[head] = math.inf if turn > len(listed) else total[body] + distance
    return total


def reach(program: Program) -> Reach:
    """How far the program's derived changes may lie from its facts' own; infinite for recursion through time."""
    found = edges(program)
    left = _longest((edge.head, edge.body, edge.left) for edge in found)
    right = _longest((edge.head, edge.body, edge.right) for edge in found)
    return Reach(max(left.values(), default=Fraction(0)), max(right.values(), default=Fraction(0)))


def changes(program: Program, facts: Iterable[GroundFact], start: Fraction | int | None = None) -> tuple[Fraction, Fraction]:
    """The first and the last time at which a fact begins or ends, the stream starts, or a value may be a time; else 0."""
    given = [*facts, *program_facts(program)]
    ends = [end for _, _, interval in given for end in (interval.low, interval.high)]
    finite = [Fraction(end) for end in ends if math.isfinite(end)]
    if start is not None:
        finite.append(Fraction(start))
    finite.extend(bounds_of_values(rules_of(program), [row for _, row, _ in given]) or ())
    return min(finite, default=Fraction(0)), max(finite, default=Fraction(0))


def horizon(
    program: Program,
    facts: Iterable[GroundFact],
    *,
    margin: Fraction | int = 8,
    start: Fraction | int | None = None,
) -> tuple[Fraction, Fraction]:
    """A horizon that shows every change; where there is no last one, one wider than the facts by `margin`."""
    given = list(facts)
    first, last = changes(program, given, start)
    step = make_grid(program, given, first, last, start).step
    distance = reach(program)
    left = margin if distance.left == math.inf else distance.left
    right = margin if distance.right == math.inf else distance.right
    return _rounded(first - left - step, last + right + step, is_dense(program))


def _rounded(low: Time, high: Time, dense: bool) -> tuple[Fraction, Fraction]:
    if dense:
        return Fraction(low), Fraction(high)
    return Fraction(math.floor(low)), Fraction(math.ceil(high))


def exact_range(
    program: Program,
    facts: Iterable[GroundFact],
    *,
    low: Fraction | int,
    high: Fraction | int,
    start: Fraction | int | None = None,
) -> tuple[Time, Time]:
    """The first and the last time at which all answers of an evaluation over [low, high] are right.

    -inf and inf where they are right for ever (the horizon's edge cells stand for all that lies beyond). If the first
    is later than the last, no answer can be relied on: the program depends on times without bound on both sides.
    """
    first, last = changes(program, facts, start)
    found = edges(program)
    right = _longest((edge.head, edge.body, edge.right) for edge in found)
    left = _longest((edge.head, edge.body, edge.left) for edge in found)
    names = {name for edge in found for name in (edge.head, edge.body)}
    settled_right = {name: last + right.get(name, Fraction(0)) < high for name in names}
    settled_left = {name: first - left.get(name, Fraction(0)) > low for name in names}
    until = _valid(settled_right, [(edge.head, edge.body, edge.ahead) for edge in found], Fraction(high))
    since = _valid(settled_left, [(edge.head, edge.body, edge.behind) for edge in found], -Fraction(low))
    return -since, until


def _valid(settled: Mapping[str, bool], pairs: list[tuple[str, str, Time]], edge: Fraction) -> Time:
    """Up to where everything is right, towards one side whose horizon ends at `edge`.

    Where a predicate changes beyond the horizon, so may each formula on the way to it: what looks `distance` beyond
    such a formula is right up to that distance before the edge, even if the formula's own atoms are right for ever.
    """
    valid: dict[str, Time] = {name: math.inf if done else edge for name, done in settled.items()}
    for turn in range(2 * len(pairs) + 2):
        for head, body, distance in pairs:
            if settled[head]:
                continue
            bound = min(valid[body], edge) - distance
            if bound < valid[head]:
                valid[head] = -math.inf if turn > len(pairs) else bound
    return min(valid.values(), default=math.inf)

"""Aggregates and held values as explanations see them: the pairs in a window, and when their value is so.

An aggregate is worked out anew from the pairs of its window, by the operator that derives answers (`tidelog verify` does it
by the definition). A threshold may be reached by a part of the pairs. Any other value needs all of them, so it is true
only where all pairs of the window are known by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tidelog.operators.grouped.aggregate import Aggregate as Aggregator
from tidelog.operators.grouped.counting.accounts import NUMERIC
from tidelog.operators.grouped.periods import Periods
from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, compare, evaluate
from tidelog.plans.data.intervals import Range, Ranges, intersected, subtracted, united, within
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.language.printing import format_function
from tidelog.plans.plan.plan import AggregateShape, PeriodShape
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.syntax import Aggregate, Atom, Formula, Latest, Period, Threshold, Value, Variable, Wildcard
from tidelog.runtime.why.evidence.grounding import Binding
from tidelog.runtime.why.evidence.windows import Windows

_ONE_BY_ONE = frozenset(["min", "max"])


@dataclass(frozen=True, slots=True)
class Counted:
    """A row of an aggregate's formula: the values of its variables, what the function takes of it, and when it holds."""

    binding: Binding
    value: Value | None
    ranges: Ranges


class Teller(Protocol):
    """Tells when formulas hold, and with which values; `model` is the one that knows all there is."""

    windows: Windows

    def truth(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Ranges:
        """When a formula holds within `lo … hi`."""

    def instances(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Iterator[Binding]:
        """The bindings under which a formula may hold within `lo … hi`."""


def group_of(part: Aggregate | Latest, binding: Binding) -> dict[str, Value]:
    """The values of what `by` lists: all that an aggregate's formula knows of what stands outside."""
    return {variable.name: binding[variable.name] for variable in part.by}


def pairs_of(teller: Teller, aggregate: Aggregate, group: Binding, lo: int, hi: int) -> list[Counted]:
    """The rows that an aggregate counts for a group, and when they hold within `lo … hi`."""
    names = [name for name in bound(aggregate.operand) if name not in group]
    found: dict[tuple[Value, ...], tuple[Binding, Ranges]] = {}
    for binding in teller.instances(aggregate.operand, group, lo, hi):
        ranges = teller.truth(aggregate.operand, binding, lo, hi)
        if ranges:
            key = tuple([binding[name] for name in names])
            first, known = found.get(key, (binding, []))
            found[key] = first, united([*known, *ranges]) if known else ranges
    return [each for binding, ranges in found.values() for each in _with_value(aggregate, binding, ranges)]


def _with_value(aggregate: Aggregate, binding: Binding, ranges: Ranges) -> Iterator[Counted]:
    if aggregate.argument is None:
        yield Counted(binding, None, ranges)
        return
    try:
        value = evaluate(aggregate.argument, binding)
        value = value if isinstance(value, str) else canonical(value)
    except UNCOMPUTABLE:
        return
    if aggregate.function not in NUMERIC or not isinstance(value, str):
        yield Counted(binding, value, ranges)


def values_of(windows: Windows, aggregate: Aggregate, pairs: Iterable[Counted], until: int) -> list[tuple[Value, Range]]:
    """The values that an aggregate has over some pairs, and when, up to a time."""
    place = None if aggregate.argument is None else 1
    operator: Aggregator | Periods
    if isinstance(window := aggregate.window, Period):
        calendar = windows.calendar(window)
        operator = Periods(PeriodShape(aggregate.function, calendar, (), place, aggregate.fraction), lambda row: ())
        _, until = windows.window_seen(window, until, until)
    else:
        step = 1 if window.step is None else int(window.step)
        shape = AggregateShape(aggregate.function, windows.size(window), step, (), place, aggregate.fraction)
        operator = Aggregator(shape, lambda row: ())
    facts = [((number, each.value or 0), *times) for number, each in enumerate(pairs) for times in each.ranges]
    try:
        told = operator.receive(0, facts, until)
    except OverflowError:
        raise MethodError(f"`{format_function(aggregate)}` has too many values one after another to be explained") from None
    standing = [(row[0], (lo, POS)) for row, lo in operator.standing_rows()]
    return [*((row[0], (lo, hi)) for row, lo, hi in told), *standing]


def reached(windows: Windows, aggregate: Aggregate, limit: Threshold, pairs: Sequence[Counted], until: int) -> Ranges:
    """When some pairs are enough for a threshold, up to a time."""
    if aggregate.function in _ONE_BY_ONE:
        enough = (each.ranges for each in pairs if is_beyond(each.value, limit))
        seeing = (windows.window_seeing(aggregate.window, *times) for ranges in enough for times in ranges)
        return united(times for times in seeing if times is not None)
    return united(times for value, times in values_of(windows, aggregate, pairs, until) if is_beyond(value, limit))


def is_beyond(value: Value | None, limit: Threshold) -> bool:
    """Whether a value is what a threshold asks for."""
    try:
        return value is not None and compare(limit.operator, value, limit.limit)
    except UNCOMPUTABLE:
        return False


def aggregated(known: Teller, every: Teller, aggregate: Aggregate, binding: Binding, lo: int, hi: int) -> Ranges:
    """When an aggregate has the value of its result in a binding, or its threshold is reached, within `lo … hi`.

    `known` tells what is known by now, `every` what holds in the end.
    """
    windows, group = known.windows, group_of(aggregate, binding)
    seen = windows.window_seen(aggregate.window, lo, hi)
    pairs = pairs_of(known, aggregate, group, *seen)
    if aggregate.threshold is not None:
        return within(reached(windows, aggregate, aggregate.threshold, pairs, hi), lo, hi)
    whole = pairs if every is known else pairs_of(every, aggregate, group, *seen)
    result = binding[aggregate.result.name]
    held = within(united(times for value, times in values_of(windows, aggregate, whole, hi) if value == result), lo, hi)
    return subtracted(held, _touched(windows, aggregate, pairs, whole)) if held else []


def _touched(windows: Windows, aggregate: Aggregate, known: Sequence[Counted], whole: Sequence[Counted]) -> Ranges:
    """The times in whose windows there is a pair that is not known."""
    if known is whole:
        return []
    names = bound(aggregate.operand)
    held = {tuple([each.binding[name] for name in names]): each.ranges for each in known}
    missing = [
        times
        for each in whole
        for times in subtracted(each.ranges, held.get(tuple([each.binding[name] for name in names]), []))
    ]
    return united(each for times in missing if (each := windows.window_seeing(aggregate.window, *times)) is not None)


# --- held values --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hold:
    """How long `latest` holds something: it held itself in `source`, and is held in `times` since nothing came in `silence`.

    Where it holds by itself, source and times are the same, and there is no silence.
    """

    times: Range
    source: Range
    silence: Range | None


def opened(latest: Latest) -> Atom:
    """The atom with a variable of its own for each `_`."""
    terms = enumerate(latest.atom.arguments)
    named = tuple(Variable(f"_held{place}") if isinstance(term, Wildcard) else term for place, term in terms)
    return replace(latest.atom, arguments=named)


def rows_of(teller: Teller, latest: Latest, binding: Binding, lo: int, hi: int) -> Iterator[tuple[Binding, Ranges]]:
    """The rows that `latest` may hold, and when they hold themselves within `lo … hi`."""
    atom = opened(latest)
    for full in teller.instances(atom, binding, lo, hi):
        yield full, teller.truth(atom, full, lo, hi)


def held_itself(teller: Teller, latest: Latest, binding: Binding, lo: int, hi: int) -> Ranges:
    """When the atom itself holds within `lo … hi`, for the values of its variables."""
    own = {name: binding[name] for name in variables(latest.atom)}
    return united(times for _, ranges in rows_of(teller, latest, own, lo, hi) for times in ranges)


def held_of(known: Teller, every: Teller, latest: Latest, binding: Binding, lo: int, hi: int) -> list[Hold]:
    """The ways in which `latest` holds within `lo … hi`; `known` and `every` as for `aggregated`."""
    windows, window = known.windows, latest.window
    first, last = windows.window_seen(window, lo, hi)
    own = held_itself(known, latest, binding, first, last)
    if not own:
        return []
    beats = united(times for _, ranges in rows_of(every, latest, group_of(latest, binding), first, last) for times in ranges)
    found = [Hold(times, times, None) for times in own]
    size = windows.size(window)
    for i, (_, end) in enumerate(beats):
        until = beats[i + 1][0] - 1 if i + 1 < len(beats) else last
        until = until if size >= POS else min(until, end + size)
        if end < until and within(own, end, end):
            found.append(Hold((end + 1, until), (end, end), (end + 1, until)))
    return [each for hold in found for each in _shown(windows, latest, hold, lo, hi)]


def _shown(windows: Windows, latest: Latest, hold: Hold, lo: int, hi: int) -> Iterator[Hold]:
    """A way in which `latest` holds at a window's end, at all times at which the window ends there."""
    times = windows.ending_in(latest.window, *hold.times)
    for low, high in [] if times is None else intersected([times], [(lo, hi)]):
        if hold.silence is None:
            ends = windows.window_end(latest.window, low), windows.window_end(latest.window, high)
            yield Hold((low, high), ends, None)
        else:
            yield Hold((low, high), hold.source, (hold.silence[0], windows.window_end(latest.window, high)))

"""Where what holds begins to repeat: two stretches alike, as wide as rules look, in a part of the timeline that is final.

By periodic materialisation (Wałęga, Zawidzki, Wang and Cuenca Grau 2023, AAAI): what a rule derives follows from what holds
within its reach, at whatever time. So if a stretch as wide as this reach returns, what came between them returns as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

Range = tuple[Hashable, int, int]
"""What holds (a predicate's row), from when to when."""


@dataclass(frozen=True, slots=True)
class _Change:
    """At `time` these begin to hold, or hold no more; `state` is a hash of all that holds from then on."""

    time: int
    what: frozenset[Hashable]
    state: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """Behind `start`, what holds at a time holds a `period` later, too; where nothing changes any more it `is_constant`."""

    start: int
    period: int
    is_constant: bool = False


def find_repetition(ranges: Iterable[Range], base: int, end: int, width: int, multiple: int) -> Repetition | None:
    """The repetition of least period that the stretch `base+1 … end` shows, from where it begins.

    The two stretches compared are `width` long, and the last one ends at `end`; the period is a multiple of `multiple`. None
    if there is none. The ranges of one row do not touch.

    >>> p = [("p", 0, 0), ("p", 10, 10), ("p", 20, 20), ("p", 30, 30)]
    >>> find_repetition(p, 0, 35, 8, 2)
    Repetition(start=0, period=10, is_constant=False)
    >>> find_repetition(p, 0, 35, 8, 4)
    Repetition(start=0, period=20, is_constant=False)
    >>> find_repetition([("p", 0, 0), ("p", 10, 10), ("p", 21, 21), ("p", 33, 33)], 0, 35, 13, 2) is None
    True
    """
    changes = _changes(ranges, base, end)
    if not changes or changes[-1].time <= end - width - multiple:
        start = max(base, changes[-1].time - 1) if changes else base
        return Repetition(start, multiple, is_constant=True) if end - width - multiple > base else None
    last = changes[-1]
    for i in range(len(changes) - 2, -1, -1):
        period = last.time - changes[i].time
        if end - width - period <= base:
            return None
        is_alike = changes[i].state == last.state and changes[i].what == last.what
        if is_alike and period % multiple == 0 and changes[i + 1].time > end - period:
            start = max(base, _start(changes, i, period))
            if start < end - width - period and _is_even(changes, i):
                return Repetition(start, period)
    return None


def _start(changes: Sequence[_Change], i: int, period: int) -> int:
    """Since when each change, back from the last one, has its like a period before it, which is change i for the last."""
    now = len(changes) - 1
    while i >= 0 and changes[i].time == changes[now].time - period and changes[i].what == changes[now].what:
        now, i = now - 1, i - 1
    odd = [changes[now].time - period] + [changes[i].time] * (i >= 0)
    return max(odd) - 1


def _is_even(changes: Sequence[_Change], i: int) -> bool:
    """Whether what holds after the last change is what held after change i, not its hash alone."""
    between = Counter(what for change in changes[i + 1 :] for what in change.what)
    return all(count % 2 == 0 for count in between.values())


def _changes(ranges: Iterable[Range], base: int, end: int) -> list[_Change]:
    at: dict[int, set[Hashable]] = {}
    for what, lo, hi in ranges:
        if base < lo <= end:
            at.setdefault(lo, set()).add(what)
        if base <= hi < end:
            at.setdefault(hi + 1, set()).add(what)
    changes = []
    state = 0
    for time in sorted(at):
        for what in at[time]:
            state ^= hash((what, "holds"))
        changes.append(_Change(time, frozenset(at[time]), state))
    return changes

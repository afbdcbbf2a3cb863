"""Where windows over ranges weigh enough: the weight of a window as its end moves on is a line with bends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from tidelog.plans.data.timeline import NEG, POS

Weight = int | Fraction
Range = tuple[int, int, Weight]
"""A fact's begin and end, and what each of its time points weighs."""


def ranges_over(facts: Iterable[Range], size: int, least: Weight, *, strict: bool = False) -> Iterator[tuple[int, int]]:
    """The ranges of ends e at which the facts' time points in [e−size, e] weigh at least so much; more, if `strict`.

    >>> list(ranges_over([(1, 3, 1), (8, 8, 2)], size=4, least=3))
    [(3, 5)]
    """
    bends: dict[int, Weight] = defaultdict(int)
    weight: Weight = 0
    for lo, hi, each in facts:
        if lo <= NEG:
            weight += each * (size + 1)
        else:
            bends[lo] += each
            bends[lo + size + 1] -= each
        if hi < POS:
            bends[hi + 1] -= each
            bends[hi + size + 2] += each
    yield from _joined(_pieces(bends, weight, least, strict))


def _pieces(bends: dict[int, Weight], weight: Weight, least: Weight, strict: bool) -> Iterator[tuple[int, int]]:
    """The ranges between one bend and the next, each as far as there is enough."""
    times = sorted(bends)
    slope: Weight = 0
    if _is_enough(weight, least, strict):
        yield NEG, (times[0] - 1 if times else POS)
    for number, time in enumerate(times):
        slope += bends[time]
        last = times[number + 1] - 1 if number + 1 < len(times) else POS
        found = _piece(time, last, weight, slope, least, strict)
        if found is not None:
            yield found
        if last < POS:
            weight += slope * (last - time + 1)


def _is_enough(weight: Weight, least: Weight, strict: bool) -> bool:
    return weight > least if strict else weight >= least


def _piece(lo: int, hi: int, before: Weight, slope: Weight, least: Weight, strict: bool) -> tuple[int, int] | None:
    """The part of `lo … hi` with enough, where the weight at lo is `before + slope`, and goes on so."""
    if not slope:
        return (lo, hi) if _is_enough(before, least, strict) else None
    ticks = Fraction(least - before) / Fraction(slope)  # after so many from lo − 1 the weight is `least`
    if slope > 0:
        first = int(ticks // 1) + 1 if strict else -int(-ticks // 1)
        lo = max(lo, lo - 1 + first)
    else:
        last = -int(-ticks // 1) - 1 if strict else int(ticks // 1)
        hi = min(hi, lo - 1 + last)
    return (lo, hi) if lo <= hi else None


def _joined(pieces: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges in order, those that touch as one."""
    open_lo, open_hi = POS, NEG
    for lo, hi in pieces:
        if open_lo < POS and lo <= open_hi + 1:
            open_hi = hi
            continue
        if open_lo < POS:
            yield open_lo, open_hi
        open_lo, open_hi = lo, hi
    if open_lo < POS:
        yield open_lo, open_hi

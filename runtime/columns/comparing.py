"""Two programs over one history: what one tells and the other does not, in figures, and beside labels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis, Laid, meetings
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.joining import outside
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import NEG, POS, Timeline

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Figures:
    """What one program tells of an output: how many maximal intervals, and for how long they hold in all.

    Times are in the program's own: `total`, `longest`. `flaps` are intervals that begin less than the flap time behind the
    end of the one before. `a_day` is the count by days of the history, None where the program has no unit. What has no end,
    or no begin, counts as far as the history goes.
    """

    count: int
    total: Fraction
    longest: Fraction
    flaps: int
    a_day: float | None


@dataclass(frozen=True, slots=True)
class Judged:
    """What one program tells of an output, beside labels: intervals in which it should have told.

    `precision` is the share of its intervals that meet a label, `recall` that of the labels that an interval meets; None
    where there are none. `delay` is the median, and `longest_delay` the greatest time from the begin of a label to that of
    the first interval that meets it.
    """

    labels: int
    found: int
    precision: float | None
    recall: float | None
    delay: Fraction | None
    longest_delay: Fraction | None


@dataclass(frozen=True, slots=True)
class Span:
    """The times of a history, encoded, from its first fact to its last."""

    first: int
    last: int


def figures_of(batch: Batch, timeline: Timeline, span: Span, flap: int, pool: Pool) -> Figures:
    """The figures of the maximal runs of an output; `flap` is encoded."""
    if not len(batch):
        return Figures(0, Fraction(0), Fraction(0), 0, _a_day(0, timeline, span))
    tidy = batch.tidied(pool)
    lengths = _lengths(within(tidy.lo, tidy.hi, span), timeline)
    tick = _tick(timeline)
    flaps = tidy.lo[1:] - tidy.hi[:-1] <= flap
    for column in tidy.columns:
        flaps &= column[1:] == column[:-1]
    longest = int(lengths.max())
    total = int(lengths.sum()) if longest * len(lengths) < POS else sum(lengths.tolist())
    return Figures(len(tidy), total * tick, longest * tick, int(np.count_nonzero(flaps)), _a_day(len(tidy), timeline, span))


def judged(batch: Batch, labels: Batch, timeline: Timeline, pool: Pool) -> Judged:
    """What an output says beside labels of the same rows; labels without arguments are labels of every row."""
    answers, wanted = batch.tidied(pool), labels.tidied(pool)
    if not len(wanted) or not len(answers):
        return Judged(len(wanted), 0, 0.0 if len(answers) else None, 0.0 if len(wanted) else None, None, None)
    columns = answers.columns if wanted.width else ()
    (mine, theirs), size = keys_of([columns, wanted.columns], [len(answers), len(wanted)], pool)
    axis = Axis(size, (answers.lo, wanted.lo), (answers.hi, wanted.hi))
    told, given = Laid(axis, mine, answers.lo, answers.hi), Laid(axis, theirs, wanted.lo, wanted.hi)
    left, right = meetings(told.begins, told.ends, given.begins, given.ends, pool.room)
    left, right = told.numbers(left), given.numbers(right)
    first = np.full(len(wanted), POS, np.int64)
    np.minimum.at(first, right, answers.lo[left])
    met = first < POS
    delays = _spans(np.maximum(first[met], wanted.lo[met]) - wanted.lo[met], timeline)
    tick = _tick(timeline)
    return Judged(
        labels=len(wanted),
        found=int(np.count_nonzero(met)),
        precision=len(np.unique(left)) / len(answers),
        recall=int(np.count_nonzero(met)) / len(wanted),
        delay=_median(delays) * tick if len(delays) else None,
        longest_delay=int(delays.max()) * tick if len(delays) else None,
    )


def only_in(batch: Batch, other: Batch, pool: Pool) -> Batch:
    """What of an output one program tells and the other does not, as maximal runs."""
    tidy = batch.tidied(pool)
    return outside(tidy, range(tidy.width), other, pool).tidied(pool)


def within(lo: Array, hi: Array, span: Span) -> tuple[Array, Array]:
    """Ranges, those without an end or a begin as far as the history goes."""
    return np.where(lo <= NEG, min(span.first, span.last), lo), np.where(hi >= POS, np.maximum(span.last, lo), hi)


def _lengths(ranges: tuple[Array, Array], timeline: Timeline) -> Array:
    """How many ticks ranges last."""
    lo, hi = ranges
    return hi - lo + 1 if timeline.is_integer else (hi + 1 >> 1) - (lo >> 1)


def _spans(distances: Array, timeline: Timeline) -> Array:
    """Distances in ticks."""
    return distances if timeline.is_integer else distances >> 1


def _tick(timeline: Timeline) -> Fraction:
    return Fraction(1) if timeline.is_integer else timeline.resolution


def _median(numbers: Array) -> Fraction:
    ordered = np.sort(numbers)
    middle = len(ordered) // 2
    return Fraction(int(ordered[middle]) + int(ordered[(len(ordered) - 1) // 2]), 2)


def _a_day(count: int, timeline: Timeline, span: Span) -> float | None:
    if timeline.unit is None or span.last <= span.first:
        return None
    ticks = span.last - span.first if timeline.is_integer else (span.last - span.first) // 2
    days = ticks * _tick(timeline) * timeline.unit / DAY
    return float(count / days)

"""How much of a calendar its readers see: how far ahead of the present, and how far before the stream's start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.analysis.horizons.looking_back import own_look_back
from tidelog.plans.calendars.ticks import YEAR
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import CalendarShape, DilateShape, ErodeShape, PairShape, PeriodShape, Shape, Step
from tidelog.plans.tree.reaching import reachable

_DAY = 24 * 60 * 60


def with_reach(steps: Mapping[str, Step], facts: Iterable[Record], timeline: Timeline) -> dict[str, Step]:
    """The steps, each calendar with what its readers need of it.

    A calendar is told a day further ahead than any rule looks: so facts that come before the watermark find it there.
    """
    calendars = [step for step in steps.values() if isinstance(step.shape, CalendarShape)]
    if not calendars:
        return dict(steps)
    since = first_begin(facts)
    day, year = day_of(timeline), encoded_seconds(YEAR, timeline)
    found = dict(steps)
    before = max(over_calendars(steps, timeline).values())
    for step in calendars:
        back, ahead = _seen(step.id, steps, year)
        shape = step.shape
        if isinstance(shape, CalendarShape):
            behind = back + before
            found[step.id] = replace(step, shape=replace(shape, ahead=ahead + day, behind=behind, since=since))
    return found


def over_calendars(steps: Mapping[str, Step], timeline: Timeline) -> dict[str, int]:
    """The steps that follow from calendars, or count per period, each with how far before the stream's start it is told
    (encoded): as far as what it follows from looks ahead, a year at most. What lies before may rest on days of a calendar
    that nobody knows."""
    first = [step.id for step in steps.values() if isinstance(step.shape, CalendarShape | PeriodShape)]
    if not first:
        return {}
    readers = readers_of(steps)
    year = encoded_seconds(YEAR, timeline)
    found = {step.id: min(year, _own_look_ahead(step.shape)) for step in steps.values()}
    waiting = list(steps)
    while waiting:
        current = waiting.pop()
        for reader in readers[current]:
            seen = min(year, found[current] + _own_look_ahead(steps[reader].shape))
            if seen > found[reader]:
                found[reader] = seen if steps[reader].loop is None else year
                waiting.append(reader)
    return {name: found[name] for name in reachable(first, readers.__getitem__)}


def told_from(over: Mapping[str, int], facts: Iterable[Record], start: int) -> dict[str, int]:
    """From when on what follows from calendars is told, by the start and the program's facts; without a start never."""
    if start >= POS:
        return dict.fromkeys(over, POS + 1)
    begin = min(start, first_begin(facts))
    return {name: begin - before for name, before in over.items()}


def first_begin(facts: Iterable[Record]) -> int:
    """The first time at which a fact begins; POS where none does."""
    return min((lo for _, _, lo, _ in facts if lo > NEG), default=POS)


def first_time(records: Iterable[Record]) -> int:
    """The first time that facts mention, where a stream over calendars starts; POS where they mention none."""
    return min((time for _, _, lo, hi in records for time in (lo, hi) if NEG < time < POS), default=POS)


def readers_of(steps: Mapping[str, Step]) -> dict[str, list[str]]:
    """The steps that read each step."""
    readers: dict[str, list[str]] = {each: [] for each in steps}
    for step in steps.values():
        for feeder in step.feeders:
            if feeder in readers:
                readers[feeder].append(step.id)
    return readers


def resting_on_calendars(steps: Sequence[Step]) -> frozenset[str]:
    """The steps that rest on calendars, and on no stream."""
    own = {step.id for step in steps if isinstance(step.shape, CalendarShape)}
    readers: dict[str, list[str]] = {step.id: [] for step in steps}
    for step in steps:
        for feeder in step.feeders:
            readers[feeder].append(step.id)
    streams = [
        step.id for step in steps if step.id not in own and any(feed.kind not in ("step", "facts") for feed in step.inputs)
    ]

    def following(name: str) -> list[str]:
        return readers[name]

    on_calendars, on_streams = reachable(own, following), reachable(streams, following)
    return frozenset(on_calendars - on_streams)


def day_of(timeline: Timeline) -> int:
    """A day, encoded, rounded up."""
    return encoded_seconds(_DAY, timeline)


def encoded_seconds(seconds: int, timeline: Timeline) -> int:
    """A length of time, encoded, rounded up."""
    ticks = -(-Fraction(seconds) // ((timeline.unit or Fraction(1)) * timeline.resolution))
    return int(ticks) * (1 if timeline.is_integer else 2)


def _seen(name: str, steps: Mapping[str, Step], most: int) -> tuple[int, int]:
    """How far back and ahead of a step all that follow from it look; `most` where nothing bounds it."""
    readers = readers_of(steps)
    found: dict[str, tuple[int, int]] = {name: (0, 0)}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        back, ahead = found[current]
        for reader in readers[current]:
            shape = steps[reader].shape
            seen = min(most, back + own_look_back(shape)), min(most, ahead + _own_look_ahead(shape))
            known = found.get(reader, (-1, -1))
            if seen[0] > known[0] or seen[1] > known[1]:
                found[reader] = max(seen[0], known[0]), max(seen[1], known[1])
                waiting.append(reader)
    return max(back for back, _ in found.values()), max(ahead for _, ahead in found.values())


def _own_look_ahead(shape: Shape) -> int:
    match shape:
        case DilateShape(metric, True) | ErodeShape(metric, True) | PairShape("until", metric):
            return min(POS, metric.b + 1)
        case PeriodShape(calendar=calendar):
            return calendar.longest
        case _:
            return 0

"""Key figures of alarms over a stretch of time, from their history (ISA-18.2, IEC 62682, EEMUA 191).

An alarm is counted when it becomes active: its condition holds, and it is neither shelved nor out of service. One that comes
back from there while its condition holds counts anew, as it is shown anew. What is suppressed by design is no part of the
history, and is counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Final

from tidelog.plans.alarms.desk import Key
from tidelog.plans.alarms.entries import CORRECTED, Entry
from tidelog.plans.data.timeline import NEG, Timeline
from tidelog.plans.data.uncollected import uncollected

PERIOD: Final = 600
"""Alarms are counted by periods of so many seconds."""
MANY, FEW = 10, 5
"""A flood begins with a period that has more than `MANY` alarms for each operator, and ends before one that has less than
`FEW`."""
MINUTE: Final = 60
CHATTERING: Final = 3
"""One that begins so often within a minute chatters."""
DAY: Final = 24 * 3600
"""One that is active for longer than a day is stale."""
MOST: Final = 10
"""How many are told of the most frequent ones, and of those that nobody acknowledged for longest."""
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """The points (encoded) from `since` on that lie before `until`; a second has the length `second` (encoded)."""

    since: int
    until: int
    second: Fraction

    @property
    def periods(self) -> int:
        """How many periods it has, of which the last one may be cut short."""
        return ceil((self.until - self.since) / (PERIOD * self.second))

    def period(self, at: int) -> int:
        """In which period a point lies."""
        return (at - self.since) // (PERIOD * self.second)

    def begin(self, period: int) -> int:
        """The first point of a period; of the one behind the last, the window's end."""
        return min(self.until, ceil(self.since + period * PERIOD * self.second))

    def seconds(self, length: int) -> float:
        """An encoded length in seconds."""
        return float(length / self.second)


@dataclass(frozen=True, slots=True)
class Flood:
    """More alarms than anybody can answer, from `begins` on, up to `ends`; `most` of them in one period."""

    begins: int
    ends: int
    alarms: int
    most: int


@dataclass(frozen=True, slots=True)
class Wait:
    """How long an alarm was not acknowledged: since it began, and up to `ends`, the last point; None where it goes on."""

    key: Key
    begins: int
    ends: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted. `periods` has those periods alone in which alarms began, by their numbers.

    `chattering` says how many begins of an alarm lie among three within a minute; `stale` since when an alarm is active that
    has been for more than a day; `answered` has the seconds from the begin of each alarm to its acknowledgement, the least
    first.
    """

    window: Window
    operators: int
    begins: Counter[Key] = field(default_factory=Counter)
    periods: Counter[int] = field(default_factory=Counter)
    floods: tuple[Flood, ...] = ()
    chattering: Mapping[Key, int] = field(default_factory=dict)
    stale: Mapping[Key, int] = field(default_factory=dict)
    waits: tuple[Wait, ...] = ()
    answered: tuple[float, ...] = ()

    @property
    def alarms(self) -> int:
        """How many alarms began."""
        return self.begins.total()

    @property
    def flooded(self) -> int:
        """In how many periods there were too many."""
        return sum(count > MANY * self.operators for count in self.periods.values())

    def most_frequent(self) -> list[tuple[Key, int]]:
        """The alarms that began most often, each with how often that was."""
        return sorted(self.begins.items(), key=lambda item: (-item[1], _order(item[0])))[:MOST]

    def answered_within(self, share: Fraction) -> float | None:
        """Within how many seconds this share of all that were acknowledged was (the nearest rank)."""
        return self.answered[max(0, ceil(share * len(self.answered)) - 1)] if self.answered else None


def length_of_second(timeline: Timeline) -> Fraction:
    """How long a second is (encoded); without a unit, 1 is a second."""
    tick = 1 / (timeline.unit or Fraction(1))
    return tick if timeline.is_integer else 2 * tick / timeline.resolution


@uncollected()
def figures(entries: Iterable[Entry], latched: Iterable[str], window: Window, operators: int = 1) -> Figures:
    """The key figures of a window; `latched` are the alarms that wait to be acknowledged also behind their ends."""
    found = Figures(window, operators)
    stays = frozenset(latched)
    chattering: dict[Key, int] = {}
    stale: dict[Key, int] = {}
    waits: list[Wait] = []
    answered: list[float] = []
    for key, story in _stories(entries, window.until).items():
        hidden = story.hidden()
        active = _without(story.held(), hidden)
        begins = [lo for lo, _ in active if lo >= window.since]
        if begins:
            found.begins[key] = len(begins)
            found.periods.update(map(window.period, begins))
        if rattling := _rattling(begins, MINUTE * window.second):
            chattering[key] = rattling
        if active and active[-1][1] >= window.until - 1 and window.until - active[-1][0] > DAY * window.second:
            stale[key] = active[-1][0]
        for lo, hi, is_answered in _unacknowledged(
            active, story.acknowledged, hidden, window.until - 1 if key[0] in stays else None
        ):
            if is_answered and hi + 1 >= window.since:
                answered.append(window.seconds(hi + 1 - lo))
            if hi >= max(lo, window.since):
                is_over = is_answered or hi < window.until - 1
                waits.append(Wait(key, lo, hi if is_over else None, window.seconds(hi + 1 - lo)))
    waits.sort(key=lambda wait: (-wait.seconds, wait.begins, _order(wait.key)))
    return Figures(
        window,
        operators,
        found.begins,
        found.periods,
        tuple(_floods(found)),
        dict(sorted(chattering.items(), key=lambda item: (-item[1], _order(item[0])))),
        dict(sorted(stale.items(), key=lambda item: (item[1], _order(item[0])))),
        tuple(waits[:MOST]),
        tuple(sorted(answered)),
    )


# --- what became of one alarm ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Story:
    """What is known of one alarm up to a `last` point: over what its condition held, by its begins, and what people did."""

    last: int
    conditions: dict[int, int | None] = field(default_factory=dict)
    shelved: set[Range] = field(default_factory=set)
    unshelved: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    restored: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)

    def add(self, entry: Entry) -> None:
        """Note an entry that lies before the window's end."""
        match entry.kind:
            case "began":
                self.conditions.setdefault(entry.at, None)
            case "ended" if entry.began is not None:
                self.conditions[entry.began] = entry.at
            case "shelve":
                self.shelved.add((entry.at, self.last if entry.until is None else min(entry.until - 1, self.last)))
            case "unshelve":
                self.unshelved.add(entry.at)
            case "remove":
                self.removed.add(entry.at)
            case "restore":
                self.restored.add(entry.at)
            case "acknowledge":
                self.acknowledged.add(entry.at)
            case _ if entry.kind == CORRECTED:
                self.conditions.pop(entry.at, None)

    def held(self) -> list[Range]:
        """While its condition held. One of which no end is known had one if there is a further begin."""
        begins = sorted(self.conditions)
        nexts = [*(begin - 1 for begin in begins[1:]), self.last]
        ends = [self.conditions[begin] for begin in begins]
        return [(lo, most if hi is None else min(hi, most)) for lo, hi, most in zip(begins, ends, nexts, strict=False)]

    def hidden(self) -> list[Range]:
        """While people had it hidden: shelved, or out of service."""
        found = [_cut(shelf, self.unshelved) for shelf in self.shelved]
        found += [_cut((at, self.last), self.restored) for at in self.removed]
        return _merged([(lo, hi) for lo, hi in found if lo <= hi])


def _stories(entries: Iterable[Entry], until: int) -> dict[Key, _Story]:
    """What became of each alarm before a point; of an end behind it, the begin counts."""
    found: dict[Key, _Story] = {}
    for entry in entries:
        if (entry.began if entry.kind == "ended" and entry.began is not None else entry.at) < until:
            key = entry.alarm, entry.args
            story = found.get(key)
            if story is None:
                story = found[key] = _Story(until - 1)
            story.add(entry)
    return found


def _cut(given: Range, ends: Iterable[int]) -> Range:
    """A range up to before the first of these ends."""
    lo, hi = given
    return lo, min((end - 1 for end in ends if lo <= end <= hi), default=hi)


def _merged(ranges: Iterable[Range]) -> list[Range]:
    found: list[Range] = []
    for lo, hi in sorted(ranges):
        if found and lo <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(hi, found[-1][1])
        else:
            found.append((lo, hi))
    return found


def _without(ranges: Iterable[Range], hidden: Sequence[Range]) -> list[Range]:
    """Ranges, in order, without the hidden ones."""
    found: list[Range] = []
    ends = [hi for _, hi in hidden]
    for lo, hi in ranges:
        at = lo
        for out in hidden[bisect_left(ends, lo) :]:
            if out[0] > hi:
                break
            if out[0] > at:
                found.append((at, out[0] - 1))
            at = out[1] + 1
        if at <= hi:
            found.append((at, hi))
    return found


def _unacknowledged(
    active: Sequence[Range], acknowledged: Iterable[int], hidden: Sequence[Range], last: int | None
) -> Iterable[tuple[int, int, bool]]:
    """From when to when nobody had acknowledged an alarm, and whether somebody did then.

    With a `last` point it waits also behind its end, until it is hidden: what is active meanwhile is the same.
    """
    answers, covers = sorted(acknowledged), [lo for lo, _ in hidden]
    over = NEG
    for lo, hi in active:
        if lo <= over:
            continue
        until = hi
        if last is not None:
            place = bisect_left(covers, lo)
            until = covers[place] if place < len(covers) else last  # who acknowledges while hiding it has acknowledged it
        place = bisect_left(answers, lo)
        if place < len(answers) and answers[place] <= until:
            over = answers[place]
            yield lo, over - 1, True
        else:
            over = until - 1 if until in covers else until
            yield lo, over, False


def _rattling(begins: Sequence[int], minute: Fraction) -> int:
    """How many of these begins lie among three within a minute."""
    found: set[int] = set()
    for i in range(len(begins) - CHATTERING + 1):
        if begins[i + CHATTERING - 1] - begins[i] <= minute:
            found.update(range(i, i + CHATTERING))
    return len(found)


def _floods(found: Figures) -> Iterable[Flood]:
    window, many, few = found.window, MANY * found.operators, FEW * found.operators
    last = -1
    for period in sorted(found.periods):
        if period < last or found.periods[period] <= many:
            continue
        last = period
        while last < window.periods and found.periods[last] >= few:
            last += 1
        counts = [found.periods[each] for each in range(period, last)]
        yield Flood(window.begin(period), window.begin(last), sum(counts), max(counts))


def _order(key: Key) -> tuple[str, str]:
    return key[0], repr(key[1])

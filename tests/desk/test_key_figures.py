"""Key figures of alarms: what is computed from a history is what somebody counts who goes through it tick by tick."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.plans.alarms.desk import Key
from tidelog.plans.alarms.entries import Entry, EntryKind
from tidelog.plans.alarms.figures import Figures, Flood, Window, figures, length_of_second
from tidelog.plans.data.timeline import Timeline

DAY = 24 * 3600
SECOND = Window(0, DAY, Fraction(1))
"""A day of seconds."""
LATCHED = ["hot"]
ACTIONS: list[EntryKind] = ["acknowledge", "shelve", "unshelve", "remove", "restore"]


# --- who counts by hand ----------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What is counted, as the figures tell it."""

    begins: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    waits: list[tuple[Key, int, int | None, int]] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    stale: dict[Key, int] = field(default_factory=dict)


@dataclass
class Standing:
    """How one alarm stands at a tick."""

    holds: bool = False
    shelves: list[int] = field(default_factory=list)
    is_removed: bool = False
    active_since: int | None = None
    waiting_since: int | None = None


def by_hand(entries: Sequence[Entry], window: Window) -> Tally:
    """Go through all ticks up to the end of the window, and note what changes."""
    at_tick: dict[int, list[Entry]] = defaultdict(list)
    wakes: dict[int, set[Key]] = defaultdict(set)
    for entry in entries:
        at = entry.at + 1 if entry.kind == "ended" else entry.at
        at_tick[at].append(entry)
        wakes[at].add((entry.alarm, entry.args))
        if entry.until is not None:
            wakes[entry.until].add((entry.alarm, entry.args))
    found, alarms = Tally(), defaultdict[Key, Standing](Standing)
    for tick in range(min(at_tick, default=0), window.until):
        for key in sorted(wakes.get(tick, ())):
            own = [entry for entry in at_tick.get(tick, ()) if (entry.alarm, entry.args) == key]
            look(key, alarms[key], own, tick, window, found)
    for key, alarm in alarms.items():
        if alarm.active_since is not None and window.until - alarm.active_since > 24 * 3600 * window.second:
            found.stale[key] = alarm.active_since
        if alarm.waiting_since is not None:
            found.waits.append((key, alarm.waiting_since, None, window.until - alarm.waiting_since))
    return found


def look(key: Key, alarm: Standing, entries: Sequence[Entry], tick: int, window: Window, found: Tally) -> None:
    """How one alarm stands at a tick, after what happened then."""
    kinds = {entry.kind for entry in entries}
    alarm.holds = "began" in kinds or (alarm.holds and "ended" not in kinds)
    alarm.shelves += [entry.until for entry in entries if entry.until is not None]
    alarm.shelves = [] if "unshelve" in kinds else [until for until in alarm.shelves if until > tick]
    alarm.is_removed = "restore" not in kinds and (alarm.is_removed or "remove" in kinds)
    is_hidden = alarm.is_removed or bool(alarm.shelves)
    is_active = alarm.holds and not is_hidden
    if is_active and alarm.active_since is None:
        alarm.active_since = tick
        if tick >= window.since:
            found.begins[key].append(tick)
        if alarm.waiting_since is None:
            alarm.waiting_since = tick
    if not is_active:
        alarm.active_since = None
    is_settled = is_hidden if key[0] in LATCHED else not is_active
    is_answered = "acknowledge" in kinds and (key[0] in LATCHED or is_active)
    if alarm.waiting_since is not None and (is_settled or is_answered):
        if is_answered and tick >= window.since:
            found.answered.append(tick - alarm.waiting_since)
        if tick > max(alarm.waiting_since, window.since):
            found.waits.append((key, alarm.waiting_since, tick - 1, tick - alarm.waiting_since))
        alarm.waiting_since = None


def periods_by_hand(found: Tally, window: Window) -> list[int]:
    """How many alarms began in each ten minutes."""
    ticks = [tick for begins in found.begins.values() for tick in begins]
    counts, begin = [], Fraction(window.since)
    while begin < window.until:
        counts.append(sum(begin <= tick < begin + 600 * window.second for tick in ticks))
        begin += 600 * window.second
    return counts


def floods_by_hand(counts: list[int], operators: int) -> list[tuple[int, int, int]]:
    """The first period, the one behind the last, and the alarms of each flood."""
    floods, begun = [], None
    for i, count in enumerate([*counts, 0]):
        if begun is None and count > 10 * operators:
            begun = i
        elif begun is not None and count < 5 * operators:
            floods.append((begun, i, sum(counts[begun:i])))
            begun = None
    return floods


def rattling_by_hand(begins: list[int], window: Window) -> int:
    """How many begins have two others beside them, all within a minute."""
    minute = 60 * window.second
    triples = [set(begins[i : i + 3]) for i in range(len(begins) - 2) if begins[i + 2] - begins[i] <= minute]
    return len(set[int]().union(*triples))


def check(entries: Sequence[Entry], window: Window, operators: int = 1) -> Figures:
    """The figures of a history are those that are counted by hand."""
    found, told = by_hand(entries, window), figures(entries, LATCHED, window, operators)
    counts, length = periods_by_hand(found, window), 600 * window.second
    assert {key: len(ticks) for key, ticks in found.begins.items()} == told.begins
    assert told.alarms == sum(counts) and window.periods == len(counts)
    assert {i: count for i, count in enumerate(counts) if count} == told.periods
    assert told.flooded == sum(count > 10 * operators for count in counts)
    floods = [(flood.begins, flood.ends, flood.alarms) for flood in told.floods]
    assert floods == [
        (-int(-(window.since + first * length) // 1), min(window.until, -int(-(window.since + last * length) // 1)), alarms)
        for first, last, alarms in floods_by_hand(counts, operators)
    ]
    rattling = {key: rattling_by_hand(begins, window) for key, begins in found.begins.items()}
    assert told.chattering == {key: count for key, count in rattling.items() if count}
    assert told.stale == found.stale
    waits = [(wait.key, wait.begins, wait.ends, wait.seconds) for wait in told.waits]
    expected = sorted(((*wait[:3], float(wait[3] / window.second)) for wait in found.waits), key=longest_first)
    assert waits == expected[:10]
    assert [*told.answered] == [float(length / window.second) for length in sorted(found.answered)]
    return told


def longest_first(wait: tuple[Key, int, int | None, float]) -> tuple[float, int, str, str]:
    """What tells the order of waits."""
    return -wait[3], wait[1], wait[0][0], repr(wait[0][1])


# --- drawn histories -------------------------------------------------------------------------------------------------------


def of_alarm(key: Key, held: Sequence[int], done: Sequence[tuple[int, EntryKind, int]]) -> Iterator[Entry]:
    """The history of an alarm whose condition begins, and ends, at these times in turn; and of what is done with it."""
    for i, at in enumerate(held):
        yield Entry(at, "began", *key) if i % 2 == 0 else Entry(at - 1, "ended", *key, began=held[i - 1])
    for at, kind, length in done:
        yield Entry(at, kind, *key, "anna", until=at + length if kind == "shelve" else None)


@st.composite
def histories(draw: st.DrawFn, span: int, most: int) -> list[Entry]:
    """Some alarms over a span of ticks, in the order in which things become known: ends late, actions in between."""
    times, found = st.integers(0, span - 1), list[Entry]()
    for key in draw(
        st.lists(st.tuples(st.sampled_from(["hot", "odd"]), st.tuples(st.integers(0, 2))), unique=True, max_size=4)
    ):
        held = sorted(draw(st.sets(times, max_size=most)))
        done = st.tuples(times, st.sampled_from(ACTIONS), st.integers(1, span))
        found += of_alarm(key, held, draw(st.lists(done, max_size=most // 2)))
    return sorted(found, key=lambda entry: entry.at)


@given(histories(120, 30), st.integers(0, 60), st.integers(61, 130), st.sampled_from([1, Fraction(1, 10), Fraction(1, 300)]))
def test_figures_are_those_counted_by_hand(entries: list[Entry], since: int, until: int, second: Fraction) -> None:
    """Close together, so that alarms chatter, and come while they are shelved; ticks of a second, and of minutes."""
    check(entries, Window(since, until, Fraction(second)))


@given(histories(262_800, 40), st.integers(0, 250_000), st.integers(1, 3))
def test_figures_of_a_drawn_year(entries: list[Entry], since: int, operators: int) -> None:
    """A year of ticks of two minutes, of which the window has the rest from some time on; not all of it by periods."""
    window = Window(since, 262_800, Fraction(1, 120))
    found, told = by_hand(entries, window), figures(entries, LATCHED, window, operators)
    assert {key: len(ticks) for key, ticks in found.begins.items()} == told.begins
    assert told.stale == found.stale
    assert [*told.answered] == [120.0 * length for length in sorted(found.answered)]
    assert sum(told.periods.values()) == told.alarms


def test_figures_of_a_large_year() -> None:
    """A year of ticks of ten seconds with 30 alarms, floods among them, some of which nobody answers."""
    chance, year = random.Random(20), 365 * 8640
    entries: list[Entry] = []
    floods = [chance.randrange(year) for _ in range(12)]
    for i in range(30):
        key: Key = (chance.choice(["hot", "odd"]), (i,))
        at = {chance.randrange(year) for _ in range(2 * chance.randrange(60))}
        at |= {min(year - 1, begin + chance.randrange(30)) for begin in floods for _ in range(8)}
        held = sorted(at)
        done = [(begin + chance.randrange(400), chance.choice(ACTIONS), chance.randrange(1, 3000)) for begin in held[::3]]
        entries += of_alarm(key, held, [item for item in done if item[0] < year])
    entries.sort(key=lambda entry: entry.at)
    window = Window(0, year, Fraction(1, 10))
    found = by_hand(entries, window)
    told = figures(entries, LATCHED, window)
    assert {key: len(ticks) for key, ticks in found.begins.items()} == told.begins
    assert told.stale == found.stale
    assert {key: rattling_by_hand(begins, window) for key, begins in found.begins.items()} == {
        key: told.chattering.get(key, 0) for key in told.begins
    }
    assert [wait.seconds for wait in told.waits] == sorted((10.0 * wait[3] for wait in found.waits), reverse=True)[:10]
    assert [*told.answered] == [10.0 * length for length in sorted(found.answered)]
    month = Window(year - 30 * 8640, year, Fraction(1, 10))
    assert check(entries, month).alarms > 50
    assert len(told.floods) >= 10 and told.chattering and told.stale


# --- by name ---------------------------------------------------------------------------------------------------------------


def test_a_flood_goes_on_until_there_are_few() -> None:
    """It begins with a period of eleven, and ends before the one with four; its alarms are all between."""
    times = [*range(600, 611), *range(1200, 1205), *range(1800, 1804)]
    entries = [Entry(at, "began", "hot", (at,)) for at in times]
    told = check(entries, SECOND)
    assert told.floods == (Flood(600, 1800, 16, 11),)
    assert (told.flooded, told.window.periods) == (1, 144)
    assert not check(entries, SECOND, operators=2).floods  # two have 5.5 each


def test_what_was_taken_back_is_not_counted() -> None:
    """An alarm that never was, as a fact was corrected; one that was told anew afterwards is."""
    entries = [
        Entry(10, "began", "hot"),
        Entry(10, "corrected", "hot", began=10),
        Entry(20, "began", "odd"),
        Entry(20, "corrected", "odd", began=20),
        Entry(29, "ended", "odd", began=20),
    ]
    assert figures(entries, LATCHED, SECOND).begins == {("odd", ()): 1}


def test_a_begin_without_an_end_ends_at_the_next_one() -> None:
    """A line of the history was lost: the alarm is not stale because of it."""
    entries = [Entry(10, "began", "hot"), Entry(90_000, "began", "hot"), Entry(90_005, "ended", "hot", began=90_000)]
    told = figures(entries, LATCHED, Window(0, 100_000, Fraction(1)))
    assert (told.alarms, told.stale) == (2, {})


def test_an_end_tells_of_a_begin_that_was_forgotten() -> None:
    """The history keeps the last entries alone."""
    assert figures([Entry(29, "ended", "hot", began=20)], LATCHED, SECOND).begins == {("hot", ()): 1}


@pytest.mark.parametrize(("share", "seconds"), [(Fraction(1, 2), 3.0), (Fraction(9, 10), 5.0), (Fraction(1), 5.0)])
def test_quantiles_are_the_nearest_ranks(share: Fraction, seconds: float) -> None:
    """Of five."""
    assert Figures(SECOND, 1, answered=(1.0, 2.0, 3.0, 4.0, 5.0)).answered_within(share) == seconds
    assert Figures(SECOND, 1).answered_within(share) is None


def test_seconds_are_those_of_the_unit() -> None:
    """A tick of a rational timeline is two points; without a unit, 1 is a second."""
    assert length_of_second(Timeline("integer", unit=Fraction(60))) == Fraction(1, 60)
    assert length_of_second(Timeline("rational", Fraction(1, 10), Fraction(1))) == 20
    assert length_of_second(Timeline("integer")) == 1

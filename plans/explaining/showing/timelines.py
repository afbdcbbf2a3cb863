"""Facts as a timeline: one lane a row, or, where a predicate has values that change, lines on a scale for each measure.

What comes in is cool, what rules derive is warm, and nothing is green: no colour says that all is well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from tidelog.plans.data.facts import Fact, Record, Row, Schema, format_atom, format_record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.timeline import Timeline as Times
from tidelog.plans.explaining.showing.measures import Measures, Scale, name_of
from tidelog.plans.explaining.showing.usage import Usage
from tidelog.plans.pictures.lanes import Bar, BarLane, Lane, Note, Sample, Series, Timeline, Tone, ValueLane
from tidelog.plans.pictures.paint import cool, warm

MOST_ROWS = 12
"""How many rows of a predicate are drawn unless told otherwise."""
FIRST_DATE = 10 * 365 * 86400
"""Times before 1980 are drawn as numbers: a program that counts from 0 has no dates."""
_PAD = 0.02
_MOST_LINES = 8
"""How many lines one scale has at most."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to draw: these predicates (in this order), or all, those of `order` first; between these encoded times, or as far
    as facts reach."""

    predicates: Sequence[str] | None = None
    order: Sequence[str] = ()
    begin: int | None = None
    end: int | None = None
    rows: int = MOST_ROWS
    title: str = ""

    @property
    def first(self) -> int:
        """The first time of the picture, encoded."""
        return NEG if self.begin is None else self.begin

    @property
    def last(self) -> int:
        """The last one."""
        return POS if self.end is None else self.end


def timeline_of(records: Iterable[Record], schema: Schema, choice: Choice, usage: Usage) -> Timeline:
    """The timeline of these facts, for a program whose rules do this with their arguments."""
    facts = _within(records, choice, usage)
    if choice.predicates is None:
        place = {name: i for i, name in enumerate(choice.order)}
        facts = {name: facts[name] for name in sorted(facts, key=lambda name: (place.get(name, len(place)), name))}
    clock = Clock(schema.timeline)
    begin, end = clock.range((fact for own in facts.values() for fact in own), choice)
    lanes: list[Lane] = []
    given, derived = count(), count()
    for predicate, own in facts.items():
        tone = warm(next(derived)) if predicate in usage.derived else cool(next(given))
        lanes += _Lanes(predicate, sorted(own, key=lambda fact: fact[1]), schema, clock, choice, tone).lanes(usage)
    lanes += _absent(facts, choice)
    return Timeline(lanes, begin, end, clock.is_date(begin), choice.title, clock.is_whole)


def _within(records: Iterable[Record], choice: Choice, usage: Usage) -> dict[str, list[Fact]]:
    """The facts of each predicate that is drawn, as far as they lie in the picture, or right beside it: so they are the same
    whatever is known beyond. What is given and has no end on either side stays so."""
    facts: dict[str, list[Fact]] = {name: [] for name in choice.predicates or ()}
    first, last = choice.first, choice.last
    for predicate, row, lo, hi in records:
        if hi >= first and lo <= last and (choice.predicates is None or predicate in facts):
            if lo > NEG or hi < POS or predicate in usage.derived:
                lo, hi = max(lo, first - 1), min(hi, last + 1)
            facts.setdefault(predicate, []).append((row, lo, hi))
    return facts


def _absent(facts: Mapping[str, Sequence[Fact]], choice: Choice) -> Iterator[Lane]:
    """What a part of a history has nothing of."""
    absent = [format_atom(name, ()) for name in choice.order if name not in facts]
    if absent and choice.predicates is None and (choice.begin is not None or choice.end is not None):
        yield Note(f"no {', '.join(absent)}")


class Clock:
    """Encoded times as floats: seconds since 1970 where a unit is declared, else the program's numbers."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._tick = float(1 if times.is_integer else times.resolution)
        self._unit = 1.0 if times.unit is None else float(times.unit)

    @property
    def is_whole(self) -> bool:
        """Whether a time is a whole number."""
        return self._times.is_integer and self._unit.is_integer()

    def begin(self, lo: int) -> float:
        """Where a range begins."""
        return -math.inf if lo == NEG else (lo if self._times.is_integer else lo >> 1) * self._tick * self._unit

    def end(self, hi: int) -> float:
        """Where a range ends."""
        return math.inf if hi == POS else (hi if self._times.is_integer else (hi + 1) >> 1) * self._tick * self._unit

    def range(self, facts: Iterable[Fact], choice: Choice) -> tuple[float, float]:
        """From when to when a picture goes: a little further than facts reach."""
        known = [time for _, lo, hi in facts for time in (self.begin(lo), self.end(hi)) if math.isfinite(time)]
        begin = min(known, default=0.0) if choice.begin is None else self.begin(choice.begin)
        end = max(known, default=begin + 1.0) if choice.end is None else self.end(choice.end)
        pad = (end - begin) * _PAD if end > begin else self._tick * self._unit
        return begin - (pad if choice.begin is None else 0.0), end + (pad if choice.end is None or end <= begin else 0.0)

    def is_date(self, begin: float) -> bool:
        """Whether times are those of the calendar."""
        return self._times.unit is not None and begin >= FIRST_DATE


class _Lanes:
    """The lanes of one predicate, whose facts come in the order of their begins."""

    def __init__(
        self, predicate: str, facts: Sequence[Fact], schema: Schema, clock: Clock, choice: Choice, tone: Tone
    ) -> None:
        self._predicate, self._facts, self._clock = predicate, facts, clock
        self._schema, self._choice, self._rows, self._tone = schema, choice, choice.rows, tone

    def lanes(self, usage: Usage) -> Iterator[Lane]:
        """Scales where an argument is a value that changes, else one lane a row; a note where there is nothing."""
        if not self._facts:
            yield Note(f"no {format_atom(self._predicate, ())}")
            return
        measures = Measures(self._predicate, self._facts, self._schema.predicates.get(self._predicate), usage)
        if not measures.positions:
            yield from self._bars()
            return
        tone = warm if self._predicate in usage.derived else cool
        scales = list(measures.scales(self._rows))
        keys = sorted({key for scale in scales for key in scale.lines}, key=name_of)
        tones = {key: tone(i) for i, key in enumerate(keys)}
        for scale in scales[: self._rows]:
            yield from self._values(scale, tones)
        if len(scales) > self._rows:
            yield Note(f"and {len(scales) - self._rows:,} more measures of {self._predicate}")

    def _values(self, scale: Scale, tones: Mapping[Row, Tone]) -> Iterator[Lane]:
        keys = sorted(scale.lines, key=name_of)
        shown = keys[: min(self._rows, _MOST_LINES)]
        series = [Series(name_of(key), self._samples(scale, key), tones[key]) for key in shown]
        yield ValueLane(scale.name, series, scale.thresholds)
        if len(keys) > len(shown):
            yield Note(f"and {len(keys) - len(shown):,} more lines of {self._predicate}")

    def _samples(self, scale: Scale, key: Row) -> list[Sample]:
        return [
            Sample(self._clock.begin(lo), self._clock.end(hi), float(value))
            for row, lo, hi in scale.lines[key]
            if not isinstance(value := row[scale.position], str)
        ]

    def _bars(self) -> Iterator[Lane]:
        rows: dict[Row, list[Bar]] = {}
        for row, lo, hi in self._facts:
            rows.setdefault(row, []).append(Bar(self._clock.begin(lo), self._clock.end(hi), self._text(row, lo, hi)))
        names = {row: format_atom(self._predicate, row) for row in rows}
        ordered = sorted(rows, key=names.__getitem__)
        lasting = [row for row in ordered if rows[row][0].begin == -math.inf and rows[row][0].end == math.inf]
        passing = [row for row in ordered if row not in set(lasting)]
        for row in passing[: self._rows]:
            yield BarLane(names[row], rows[row], self._tone)
        if len(passing) > self._rows:
            yield Note(f"and {len(passing) - self._rows:,} more rows of {self._predicate}")
        if lasting:
            yield Note("at all times: " + "  ".join(names[row] for row in lasting[: self._rows]) + self._others(lasting))

    def _text(self, row: Row, lo: int, hi: int) -> str:
        """The fact, as far as it lies in the picture, and on which sides it goes on."""
        first, last = self._choice.first, self._choice.last
        text = format_record((self._predicate, row, max(lo, first), min(hi, last)), self._schema.timeline)
        beyond = [word for word, goes_on in (("before", lo < first), ("after", hi > last)) if goes_on]
        return f"{text}, and {' and '.join(beyond)}" if beyond else text

    def _others(self, rows: Sequence[Row]) -> str:
        return f"  and {len(rows) - self._rows:,} more" if len(rows) > self._rows else ""

"""The shape of encoders, and the times of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import NEG, POS, Timeline, format_time
from tidelog.plans.data.times import EPOCH
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer

_DECIMALS = 18
"""The most decimals of a second that ISO-8601 output writes; finer times stay numbers."""
_LAST_DAY = date.max.toordinal()


class Encoder(Protocol):
    """Answers to the bytes of one format: pure, no I/O."""

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        """These answers as lines, each with its newline; hypothetical ones come only where the schema has questions."""
        ...


class Hiding:
    """An encoder that leaves out the answers of some predicates."""

    def __init__(self, encoder: Encoder, hidden: frozenset[str]) -> None:
        self._encoder, self._hidden = encoder, hidden

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        return self._encoder.encode([answer for answer in answers if predicate_of(answer) not in self._hidden])


def encode_with_ids(encoder: Encoder, heading: Heading, answers: Sequence[AnyAnswer]) -> bytes:
    """Answers as lines, each with the id that tells its answer from every other: its run, and its number in it.

    In JSON lines that is a last member, `"id":["RUN",17]`; in text a comment behind the fact, `% id RUN 17`.
    """
    lines = []
    for number, line in enumerate(_each(encoder, answers), heading.first):
        if line.endswith(b"}\n"):
            lines.append(b'%b,"id":["%b",%d]}\n' % (line[:-2], heading.run.encode(), number))
        elif line:
            lines.append(b"%b %% id %b %d\n" % (line[:-1], heading.run.encode(), number))
    return b"".join(lines)


def _each(encoder: Encoder, answers: Sequence[AnyAnswer]) -> list[bytes]:
    """The lines of each answer. Only answers to questions may have none, or more than one."""
    lines = encoder.encode(answers).splitlines(keepends=True)
    if len(lines) == len(answers) and not any(isinstance(answer, HypotheticalAnswer) for answer in answers):
        return lines
    return [encoder.encode([answer]) for answer in answers]


def are_changes(answers: Sequence[AnyAnswer]) -> bool:
    """Whether these derived facts are changes: a run's are, all of them, or none."""
    return bool(answers) and isinstance(answers[0], ChangeRecord)


def predicate_of(answer: AnyAnswer) -> str:
    """The predicate of an answer, or the name of the question that it answers."""
    return answer.query if isinstance(answer, HypotheticalAnswer) else answer[0]


def number_or_text(text: str) -> int | str:
    """A time as JSON has it: a number where it is a whole one."""
    return int(text) if text.removeprefix("-").isdigit() else text


class TimeFormatter:
    """Writes encoded times: exact integers and fractions, or ISO-8601 in UTC with `iso`.

    Raises SpecError for `iso` where the program does not say what a unit of time is.
    """

    def __init__(self, timeline: Timeline, iso: bool = False) -> None:
        if iso and timeline.unit is None:
            raise SpecError("ISO-8601 output needs a unit: declare one, such as `timeline integer, unit 1 s`")
        self._timeline = timeline
        self._is_integer = timeline.is_integer
        self._unit = timeline.unit if iso else None
        ticks = 1 if timeline.is_integer else 1 / timeline.resolution
        self._scale = ticks.numerator * (1 if timeline.is_integer else 2) if ticks.denominator == 1 else 0
        """What the number 1 is encoded as, where that is whole ticks; even on rationals, so that it divides no gap."""
        self._tick = (self._unit or 0) * (1 if timeline.is_integer else timeline.resolution)
        """How many seconds a tick has, where times are written as ISO-8601."""
        self.is_whole = timeline.is_integer and self._unit is None
        """Whether each time is written as the whole number that encodes it."""

    @property
    def is_plain(self) -> bool:
        """Whether times are written as numbers: without `iso`."""
        return self._unit is None

    def is_point(self, lo: int, hi: int) -> bool:
        """Whether the range is one time, not an interval (a gap of a rational timeline is an interval)."""
        return lo == hi and (self._is_integer or not lo & 1)

    def point(self, point: int) -> str:
        """A point: `17`, `5/2`, or `2010-07-01T00:00:00Z`; of a gap its left end."""
        if self._unit is None:
            whole, rest = divmod(point, self._scale) if self._scale else (0, 1)
            return self._timeline.format_point(point) if rest else str(whole)
        ticks, tick = point if self._is_integer else point >> 1, self._tick
        written = _written(ticks * tick.numerator, tick.denominator)
        return written or self._timeline.format_point(point)

    def range(self, lo: int, hi: int) -> str:
        """A range as an interval: `[1,5/2)`, `[2010-07-01T00:00:00Z,inf)`."""
        if self.is_whole and lo > NEG and hi < POS:
            return f"[{lo},{hi}]"
        return f"{self.begin(lo)},{self.end(hi)}"

    def at(self, lo: int, hi: int) -> str:
        """What stands behind a fact's `@`: a point where the range is one, otherwise an interval."""
        return self.point(lo) if self.is_point(lo, hi) else self.range(lo, hi)

    def begin(self, lo: int) -> str:
        """Where what holds from `lo` on begins, with its bracket: `[17`, `(5/2`, `(-inf`."""
        if lo == NEG:
            return "(-inf"
        return f"({self.point(lo - 1)}" if lo & 1 and not self._is_integer else f"[{self.point(lo)}"

    def end(self, hi: int) -> str:
        """Where what holds up to `hi` ends, with its bracket: `17]`, `5/2)`."""
        if hi == POS:
            return "inf)"
        return f"{self.point(hi + 1)})" if hi & 1 and not self._is_integer else f"{self.point(hi)}]"

    def length(self, ticks: int) -> str:
        """An encoded length of time: `30`; with `iso`, `30 min`, in the unit that the program declares."""
        length = self._timeline.decode_point(ticks)
        if self._unit is None:
            return format_time(length)
        name = _unit_of(self._unit)
        return f"{format_time(length * self._unit / UNIT_SECONDS[name])} {name}"


def _unit_of(seconds: Fraction) -> str:
    """The largest unit of which it is a whole number."""
    largest_first = reversed(list(UNIT_SECONDS.items()))
    return next((name for name, length in largest_first if (seconds / length).denominator == 1), "s")


def exact_ends(timeline: Timeline, lo: int, hi: int) -> tuple[str | None, str | None, bool, bool]:
    """A range as `start`, `end`, `start_open`, `end_open`: exact numbers as text, None where it has no end on that side.

    >>> exact_ends(Timeline("integer"), 1, 3)
    ('1', '3', False, False)
    """
    interval = timeline.decode_interval(lo, hi)
    start = None if lo == NEG else str(interval.low)
    end = None if hi == POS else str(interval.high)
    return start, end, interval.left_open, interval.right_open


def format_iso(seconds: Fraction) -> str | None:
    """Seconds since 1970 as `2010-07-01T00:00:00Z`; None where ISO-8601 has no exact text for them.

    >>> format_iso(Fraction(86400)), format_iso(Fraction(11, 2))
    ('1970-01-02T00:00:00Z', '1970-01-01T00:00:05.5Z')
    """
    return _written(seconds.numerator, seconds.denominator)


def _written(above: int, below: int) -> str | None:
    """The same for the seconds `above / below`."""
    whole, rest = divmod(above, below)
    decimals, finer = divmod(rest * 10**_DECIMALS, below)
    day, second = divmod(whole, 86400)
    if finer or not 1 <= day + EPOCH <= _LAST_DAY:
        return None
    text = f"{_date(day + EPOCH)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    if rest:
        text += "." + f"{decimals:0{_DECIMALS}}".rstrip("0")
    return text + "Z"


@lru_cache(maxsize=16)
def _date(day: int) -> str:
    """A day as text; those of one moment repeat."""
    return date.fromordinal(day).isoformat()

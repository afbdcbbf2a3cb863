"""The shape of encoders, and the times of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Protocol

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import NEG, POS, Timeline, format_interval, format_time
from tidelog.plans.data.times import EPOCH
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.plans.tree.syntax import Time
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer

_DECIMALS = 18
"""The most decimals of a second that ISO-8601 output writes; finer times stay numbers."""


class Encoder(Protocol):
    """Answers to the bytes of one format: pure, no I/O."""

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        """These answers as lines, each with its newline; hypothetical ones come only where the schema has questions."""
        ...


def encode_with_ids(encoder: Encoder, heading: Heading, answers: Sequence[AnyAnswer]) -> bytes:
    """Answers as lines, each with the id that tells its answer from every other: its run, and its number in it.

    In JSON lines that is a last member, `"id":["RUN",17]`; in text a comment behind the fact, `% id RUN 17`.
    """
    lines = []
    for number, answer in enumerate(answers, heading.first):
        line = encoder.encode([answer])
        if line.endswith(b"}\n"):
            lines.append(b'%b,"id":["%b",%d]}\n' % (line[:-2], heading.run.encode(), number))
        elif line:
            lines.append(b"%b %% id %b %d\n" % (line[:-1], heading.run.encode(), number))
    return b"".join(lines)


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
        self._unit = timeline.unit if iso else None
        ticks = Fraction(1) if timeline.is_integer else 2 / timeline.resolution
        self._scale = ticks.numerator if ticks.denominator == 1 else 0

    @property
    def is_plain(self) -> bool:
        """Whether times are written as numbers: without `iso`."""
        return self._unit is None

    def is_point(self, lo: int, hi: int) -> bool:
        """Whether the range is one time, not an interval (a gap of a rational timeline is an interval)."""
        return lo == hi and (self._timeline.is_integer or not lo & 1)

    def point(self, point: int) -> str:
        """A point: `17`, `5/2`, or `2010-07-01T00:00:00Z`."""
        if self._unit is None:
            whole, rest = divmod(point, self._scale) if self._scale else (0, 1)
            return self._timeline.format_point(point) if rest else str(whole)
        return self._end(self._timeline.decode_point(point), self._unit)

    def range(self, lo: int, hi: int) -> str:
        """A range as an interval: `[1,5/2)`, `[2010-07-01T00:00:00Z,inf)`."""
        interval = self._timeline.decode_interval(lo, hi)
        if self._unit is None:
            return format_interval(interval)
        left, right = "(" if interval.left_open else "[", ")" if interval.right_open else "]"
        return f"{left}{self._end(interval.low, self._unit)},{self._end(interval.high, self._unit)}{right}"

    def at(self, lo: int, hi: int) -> str:
        """What stands behind a fact's `@`: a point where the range is one, otherwise an interval."""
        return self.point(lo) if self.is_point(lo, hi) else self.range(lo, hi)

    def begin(self, lo: int) -> str:
        """Where what holds from `lo` on begins, with its bracket: `[17`, `(5/2`, `(-inf`."""
        return self.range(lo, POS).partition(",")[0]

    def end(self, hi: int) -> str:
        """Where what holds up to `hi` ends, with its bracket: `17]`, `5/2)`."""
        return self.range(NEG, hi).partition(",")[2]

    def length(self, ticks: int) -> str:
        """An encoded length of time: `30`; with `iso`, `30 min`, in the unit that the program declares."""
        length = self._timeline.decode_point(ticks)
        if self._unit is None:
            return format_time(length)
        name = _unit_of(self._unit)
        return f"{format_time(length * self._unit / UNIT_SECONDS[name])} {name}"

    def _end(self, time: Time, unit: Fraction) -> str:
        written = None if isinstance(time, float) else format_iso(time * unit)
        return written or format_time(time)


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
    whole, rest = divmod(seconds, 1)
    decimals = rest * 10**_DECIMALS
    day, second = divmod(whole, 86400)
    if decimals.denominator != 1 or not 1 <= day + EPOCH <= date.max.toordinal():
        return None
    text = f"{date.fromordinal(day + EPOCH).isoformat()}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    if rest:
        text += "." + f"{decimals.numerator:0{_DECIMALS}}".rstrip("0")
    return text + "Z"

"""The settings of a session: told once, by `Session` and `Engine`, and handed on as they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, TypedDict

from tidelog.operators.ask.telling.telling import Telling
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.plan.questions import Status
from tidelog.runtime.emission.modes import check_mode
from tidelog.runtime.intake.arguments import check_lead
from tidelog.runtime.intake.intake import MAX_LEAD
from tidelog.runtime.network.state_bound import MAX_STATE, check_max_state
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.runtime.sessions.questions import AnswerFilter, answer_filter

SOURCE = "session"
"""The name of the source of a session that has one alone."""


class Encoded(NamedTuple):
    """The times among the settings, as a timeline encodes them."""

    lateness: int
    start: int | None
    max_ahead: int | None
    warn: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What decides, besides the plan, what follows from what sources say, and what is kept and told of it.

    `Session` says what each means. Where one is set that can be none, whatever the plan, TypeError or ValueError is raised;
    times are read by the timeline of a plan (`encoded`).

    >>> Settings(max_lead=0)
    Traceback (most recent call last):
    ValueError: `max_lead` is 1 or more, got 0
    """

    emit: EmitMode = "intervals"
    lateness: TimeLike | timedelta = 0
    start: TimeLike | None = None
    max_ahead: TimeLike | timedelta | None = None
    max_lead: int = MAX_LEAD
    prospects: bool = True
    min_evidence: int = 0
    count_absences: bool = False
    warn: TimeLike | timedelta | None = None
    grouped: bool = False
    statuses: Collection[Status] | None = None
    sources: Sequence[str] = (SOURCE,)
    max_state: int | None = MAX_STATE
    remember: int = 0
    explain: bool = False
    held: bool = False

    def __post_init__(self) -> None:
        check_mode(self.emit)
        check_lead(self.max_lead)
        check_max_state(self.max_state)
        self.answer_filter(None)

    def encoded(self, timeline: Timeline) -> Encoded:
        """The times as a timeline encodes them; DataError for one that is none."""
        times = TimeReader(timeline)
        return Encoded(
            times.duration(self.lateness),
            None if self.start is None else times.point(self.start),
            None if self.max_ahead is None else times.duration(self.max_ahead),
            None if self.warn is None else times.duration(self.warn),
        )

    def answer_filter(self, warn: int | None) -> AnswerFilter:
        """Which answers to questions are told; `warn` is encoded, ValueError where it is less than 0."""
        return answer_filter(Telling(self.min_evidence, self.count_absences, warn, self.grouped), self.statuses)


class SessionOptions(TypedDict, total=False):
    """The same but for the form of answers, on which the type of a session depends: for those who check types."""

    lateness: TimeLike | timedelta
    start: TimeLike | None
    max_ahead: TimeLike | timedelta | None
    max_lead: int
    prospects: bool
    min_evidence: int
    count_absences: bool
    warn: TimeLike | timedelta | None
    grouped: bool
    statuses: Collection[Status] | None
    sources: Sequence[str]
    max_state: int | None
    remember: int
    explain: bool
    held: bool

"""The options of a session but for the form of its answers, for those who check types."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TypedDict

from tidelog.plans.data.times import TimeLike
from tidelog.plans.plan.questions import Status


class SessionOptions(TypedDict, total=False):
    """What `Session` tells of each."""

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

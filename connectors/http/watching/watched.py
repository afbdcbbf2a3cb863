"""What a watch asks of those whom it watches, and who explain: shapes alone, so that nothing of the engine is known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tidelog.plans.alarms.desk import OpenAlarm
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.actors import ActorStatistics
from tidelog.runtime.ports.durability import Owing
from tidelog.runtime.ports.interfaces import SinkStatistics


class IntakeCounts(Protocol):
    """What the intake counts."""

    @property
    def accepted(self) -> int: ...
    @property
    def unused(self) -> int: ...
    @property
    def late(self) -> int: ...
    @property
    def frontier(self) -> int: ...


class StepCounts(Protocol):
    """What a step has done, and stores."""

    @property
    def received(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def entries(self) -> int: ...


class SourceCounts(Protocol):
    """What is counted of a source, and how far it has come."""

    @property
    def watermark(self) -> int: ...
    @property
    def lead(self) -> int: ...
    @property
    def parts(self) -> Mapping[str | int | float | None, object]: ...
    @property
    def has_ended(self) -> bool: ...


class RunCounts(Protocol):
    """What a run has done."""

    @property
    def intake(self) -> IntakeCounts: ...
    @property
    def steps(self) -> Mapping[str, StepCounts]: ...
    @property
    def sources(self) -> Mapping[str, SourceCounts]: ...


class Reason(Protocol):
    """A reason as text and as SVG; `notes` say what it does not know. What does not hold has one, too."""

    @property
    def holds(self) -> bool: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def text(self) -> str: ...
    def svg(self) -> str: ...
    def given(self) -> list[Record]: ...


class Reasons(Protocol):
    """Finds out why an answer holds, over what is remembered; in a thread of its own."""

    def why(self, fact: Record) -> Reason:
        """Why a fact holds; may take long. A TidelogError where that cannot be told."""
        ...


class Watched(Protocol):
    """What runs, and tells what it has done."""

    def statistics(self) -> RunCounts: ...

    def actors(self) -> Sequence[ActorStatistics]: ...

    def set_aside(self) -> Sequence[tuple[str, str]]: ...

    def holding(self, present: int) -> list[Record]: ...

    def open_alarms(self, present: int | None = None) -> list[OpenAlarm]: ...

    def open_alarm(self, identity: str, present: int | None = None) -> OpenAlarm | None: ...

    def alarms_version(self, present: int | None = None) -> tuple[int, int]: ...

    @property
    def frontier(self) -> int: ...

    def waiting(self) -> list[tuple[str, int]]: ...

    def owing(self) -> Owing | None: ...

    def source_statistics(self) -> Mapping[str, SourceCounts]: ...

    def sink_statistics(self) -> list[tuple[str, SinkStatistics]]: ...

    def connected(self) -> list[tuple[str, bool]]: ...

    @property
    def remembers(self) -> bool: ...

    def known(self, at: Callable[[int, int], str] | None = None) -> Reasons: ...


class Violated(Protocol):
    """A constraint that is violated from some time on."""

    @property
    def lo(self) -> int: ...
    @property
    def hi(self) -> int: ...
    @property
    def rule(self) -> str: ...
    @property
    def facts(self) -> tuple[str, ...]: ...

"""What a session has done, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelog.operators.operator import OperatorStatistics
from tidelog.runtime.intake.intake import IntakeStatistics
from tidelog.runtime.intake.source_state import SourceStatistics

if TYPE_CHECKING:
    from tidelog.operators.ask.asker import AskerStatistics


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """What a session has done: its intake's counts, each step's, each question's, each source's.

    So many facts of frames have gone `in_columns` (`Session.push_frames`); all others went row by row.
    """

    intake: IntakeStatistics
    steps: dict[str, OperatorStatistics]
    violations: int
    questions: dict[str, AskerStatistics] = field(default_factory=dict)
    sources: dict[str, SourceStatistics] = field(default_factory=dict)
    in_columns: int = 0

    @property
    def entries(self) -> int:
        """How many ranges are stored in all steps together."""
        return sum(step.entries for step in self.steps.values())

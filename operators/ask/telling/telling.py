"""The options that say which possible answers get a line, and when again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.plans.plan.questions import GroundLiteral


@dataclass(frozen=True, slots=True)
class Telling:
    """Which possible answers get a line, and when again.

    Possible answers are told once `min_evidence` facts speak for them, with `count_absences` absences among these; and
    again when their deadline is `warn` away, in ticks. If `grouped`, of answers that rest on the same evidence and differ in
    time only the one that is decided first is told.
    """

    min_evidence: int = 0
    count_absences: bool = False
    warn: int | None = None
    grouped: bool = False

    def lacks(self, evidence: Iterable[GroundLiteral]) -> int:
        """How much more has to speak for an answer."""
        if self.min_evidence <= 1:  # there is no answer without a fact
            return 0
        counted = sum(literal.count for literal in evidence if self.count_absences or not literal.negated)
        return max(self.min_evidence - counted, 0)

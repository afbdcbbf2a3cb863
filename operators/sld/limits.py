"""How large an unfolding may be."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.tree.syntax import Time

MAX_PRECONDITIONS = 10_000
"""More preconditions, in all queries of an `ask` together, are refused."""
MAX_PREMISES = 200_000
"""More premises in all of them are refused."""
MAX_STEPS = 5_000_000
"""After so many steps of resolution it is given up, whether or not they led to anything."""
LONGEST_LIST = 5
"""An operator that bridges more distances has a time of its own with bounds, in place of a list of alternatives."""


def is_long(low: Time, high: Time) -> bool:
    """Whether so many distances have a time of their own; what has no end has one, too."""
    return high - low >= LONGEST_LIST


def too_large(what: str, span: Span) -> ProgramError:
    """The error for a query that unfolds into too much."""
    message = f"the query unfolds into {what}"
    most = f"at most {MAX_PRECONDITIONS:,} alternatives and {MAX_PREMISES:,} premises are kept"
    help = f"shorten the intervals and windows, or ask for less; {most}"
    return ProgramError([Diagnostic("ask-too-large", message, span, help=help)])


@dataclass(slots=True)
class Budget:
    """What is left of the limits, for all queries of one `ask`."""

    span: Span
    preconditions: int = 0
    premises: int = 0
    steps: int = 0

    def take(self, premises: int) -> None:
        """Count one more precondition; ProgramError if that is one too many."""
        self.preconditions += 1
        self.premises += premises
        if self.preconditions > MAX_PRECONDITIONS:
            raise too_large(f"more than {MAX_PRECONDITIONS:,} alternatives", self.span)
        if self.premises > MAX_PREMISES:
            raise too_large(f"more than {MAX_PREMISES:,} premises", self.span)

    def take_step(self, steps: int = 1) -> None:
        """Count steps of resolution, or work that takes as long; ProgramError if these are too many."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise too_large(f"more than {MAX_STEPS:,} steps", self.span)

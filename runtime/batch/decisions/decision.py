"""What was decided about a question, by which method, and how that is told between processes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, Protocol

from tidelog.plans.diagnostics.errors import MethodError
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.emission.violations import Violation

Truth = Literal["true", "false", "inconsistent", "undecided"]
Method = Literal["auto", "materialise", "automata", "ltl"]

METHODS: tuple[Method, ...] = ("auto", "materialise", "automata", "ltl")
ENOUGH = "it had not come to an end"
"""Why a materialisation that was stopped decides nothing."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided. `violation` is the constraint that materialisation found violated, where it did; where nothing was
    decided, `reason` says why."""

    answer: Truth
    violation: Violation | None = None
    reason: str = ""


class Watch(Protocol):
    """Is told how far it has come."""

    def round(self, done: Materialisation) -> None:
        """A round of this materialisation begins."""

    def wait(self) -> None:
        """A little time has passed in which other processes were at work."""


class _Unwatched:
    def round(self, done: Materialisation) -> None:
        pass

    def wait(self) -> None:
        pass


UNWATCHED: Watch = _Unwatched()


def undecided(reason: str) -> Decision:
    """No decision, and why."""
    return Decision("undecided", reason=reason)


def both_reasons(materialisation: str, automata: str) -> str:
    """Why neither method decides."""
    return f"by materialisation: {materialisation}; by automata: {automata}"


def told(decision: Decision | None) -> str:
    """A worker's decision as JSON; MethodError if it is none.

    >>> heard(told(Decision("false")))
    Decision(answer='false', violation=None, reason='')
    """
    if decision is None or decision.answer == "undecided":
        raise MethodError(ENOUGH if decision is None else decision.reason)
    violation = decision.violation
    shown = None if violation is None else (violation.rule, violation.facts, violation.during, violation.lo, violation.hi)
    return json.dumps([decision.answer, shown])


def heard(message: str) -> Decision:
    """The decision that a worker has told."""
    answer, shown = json.loads(message)
    if shown is None:
        return Decision(answer)
    rule, facts, during, lo, hi = shown
    return Decision(answer, Violation(rule, tuple(facts), during, lo, hi))

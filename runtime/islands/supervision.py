"""What becomes of actors that fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Supervision:
    """What becomes of actors that fail.

    With the strategy `aside`, one that had to be started anew more than `restarts` times `within` so many seconds, or that
    fails by no single fact, or by more than `poisons` facts within that time, is set aside. A worker that does not answer
    `answers_within` so many seconds is ended; an actor by which that happens twice at one place is set aside. With `end`,
    the first failure that is not that of a process ends the run. What needs more than its limit is set aside at
    once: more rows than `max_state`, or, in a worker, more than so many bytes of `memory`.

    With `spares` a worker has a copy of itself, which takes its place where it ends.
    """

    strategy: Literal["aside", "end"] = "aside"
    restarts: int = 5
    within: float = 60.0
    poisons: int = 100
    memory: int | None = None
    spares: bool = True
    answers_within: float = 60.0

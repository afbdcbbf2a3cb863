"""The settings of a run: how its sources and sinks are treated, where it is stored, and who is told what."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from tidelog.plans.data.times import TimeLike
from tidelog.runtime.actors.silence import check_seconds
from tidelog.runtime.actors.supervision import RestartPolicy
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.arguments import AtEnd, check_at_end
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports.actors import Actors, actors_for, check_actors
from tidelog.runtime.ports.durability import EVERY, Backlog, Keep, Reload, StateStore, check_reload
from tidelog.runtime.ports.interfaces import DeadLetters, Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What an engine is told beside the settings of its session.

    `Engine` says what each means. Where one is set that can be none, TypeError or ValueError is raised; of the clock, of
    corrections and of idle sources only what runs them can tell.

    >>> RunSettings(at_end="wait")
    Traceback (most recent call last):
    ValueError: unknown end 'wait': expected finish, stop
    """

    idle_after: float | None = None
    dead_letters: DeadLetters | None = None
    on_violation: Callable[[Violation], None] | None = None
    restarts: RestartPolicy | None = None
    at_end: AtEnd = "finish"
    clock: TimeLike | timedelta | None = None
    now: Callable[[], float] = time.time
    state: StateStore | None = None
    commit_every: float = EVERY
    keep: Keep | None = None
    backlog: Backlog | None = None
    reload: Reload = "refuse"
    corrections: bool = False
    observer: Observer | None = None
    actors: Actors | None = None
    workers: int = 1
    supervision: Supervision | None = None
    held: bool = False
    """Whether somebody asks for the answers that hold (`Runner.holding`), so that they are kept."""

    def __post_init__(self) -> None:
        check_at_end(self.at_end)
        check_seconds("commit_every", self.commit_every)
        check_reload(self.reload)
        check_actors(self.actors, self.workers)

    @property
    def cut(self) -> Actors:
        """What becomes an actor: where nothing is said, islands if there are several workers."""
        return actors_for(self.actors, self.workers)

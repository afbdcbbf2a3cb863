"""The engine: a plan from sources to sinks, on trio or asyncio."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from tidelog.plans.data.times import TimeLike
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import Status
from tidelog.runtime.actors.supervision import RestartPolicy
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.arguments import AtEnd
from tidelog.runtime.intake.intake import MAX_LEAD
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.network.state_bound import MAX_STATE
from tidelog.runtime.ports.actors import Actors
from tidelog.runtime.ports.durability import EVERY, Backlog, Keep, Reload, StateStore
from tidelog.runtime.ports.interfaces import DeadLetters, EmitMode, Listener, Observer, Sink, Source
from tidelog.runtime.running.runner import Runner
from tidelog.runtime.running.settings import RunSettings
from tidelog.runtime.sessions.settings import Settings


class Engine(Runner):
    """Runs a plan from sources to sinks until every source has ended, or `stop` is called.

    A source that is a `Listener` brings others while the engine runs.

    `emit`, `lateness`, `start`, `max_ahead`, `prospects`, `min_evidence`, `count_absences`, `warn`, `grouped`, `statuses`
    and `max_state` are those of `Session`; what waits for the sinks counts as held. With `remember`, `known` explains, by so
    many facts at the most. With `explain`, changes carry
    their premises, from as many of the facts accepted last. `idle_after` (seconds) tells to ignore a
    source that has been silent for so long, until it speaks again; without it each source holds back the watermark. A source
    that is more than `max_lead` facts ahead of the slowest is not read until that one has come nearer.
    With `at_end="stop"` the end of all sources is not the stream's: nothing is claimed about times behind those that they
    have promised. With `clock`, a duration, time also moves with the machine's clock, which `now` reads (the seconds since
    1970): facts are expected at most so far behind it, and at most `max_ahead` ahead of it, which is then the lateness and
    five minutes unless told (`math.inf`: any distance). It needs a program with a unit.
    With `state`, a store such as `tidelog.StateDirectory`, a run that was killed goes on with the next one: no fact is lost
    that a source can bring again, and no answer; `runtime/ports/durability.py` has what sources and sinks promise. A commit
    is due `commit_every` seconds after the last one, once something happens. `keep` says how long input stays in the
    journal, `backlog` how much may wait for sinks. A run goes on with a program that has changed; `reload` says what becomes
    of state that the program does not take up: `refuse` (SpecError), or `drop`.
    A sink that is away is then tried again without end, unless `restarts` says so.
    With `corrections`, facts that are in the journal can be taken back (`Batch.retractions`): what would not have been told
    without them is taken back, too. It needs `emit="changes"`, and sinks that take it; SpecError otherwise.
    With `workers` above 1 the operators run in so many processes: islands of the plan that have a key in all of them, each
    with keys of its own, other islands in one. `actors` says what fails alone: `one` (all operators together), `islands`, or
    `rule` (each rule, as far as it can be cut off). The answers are the same, and each row's in the same order. Workers need
    a system that can fork, such as Linux. `supervision` says what becomes of actors that fail: started anew, or set aside.
    `dead_letters` takes what could not be read or was refused, and answers that a sink can never deliver. `on_violation` is
    told when a constraint begins to be violated, `observer` of all that is done. Raises TypeError, ValueError or DataError
    for an option that is none.

    Building an engine starts nothing. Memory is bounded by the plan and the channels: a slow sink slows down the sources.

    >>> import anyio, tidelog
    >>> plan = tidelog.compile("alarm(X) :- diamondminus[0,5] hot(X).")
    >>> source, sink = tidelog.MemorySource([("hot", ("pump",), 0, 0)]), tidelog.MemorySink()
    >>> anyio.run(tidelog.Engine(plan, [source], [sink]).run, backend="trio")
    >>> [str(plan.answer(record)) for record in sink.answers]
    ['alarm(pump)@[0,5]']
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        plan: Plan,
        sources: Sequence[Source | Listener],
        sinks: Sequence[Sink],
        *,
        emit: EmitMode = "intervals",
        lateness: TimeLike | timedelta = 0,
        start: TimeLike | None = None,
        max_ahead: TimeLike | timedelta | None = None,
        max_lead: int = MAX_LEAD,
        idle_after: float | None = None,
        dead_letters: DeadLetters | None = None,
        on_violation: Callable[[Violation], None] | None = None,
        restarts: RestartPolicy | None = None,
        prospects: bool = True,
        min_evidence: int = 0,
        count_absences: bool = False,
        warn: TimeLike | timedelta | None = None,
        grouped: bool = False,
        statuses: Collection[Status] | None = None,
        at_end: AtEnd = "finish",
        clock: TimeLike | timedelta | None = None,
        now: Callable[[], float] = time.time,
        max_state: int | None = MAX_STATE,
        state: StateStore | None = None,
        commit_every: float = EVERY,
        keep: Keep | None = None,
        backlog: Backlog | None = None,
        reload: Reload = "refuse",
        corrections: bool = False,
        explain: int = 0,
        remember: int = 0,
        observer: Observer | None = None,
        actors: Actors | None = None,
        workers: int = 1,
        supervision: Supervision | None = None,
    ) -> None:
        run = RunSettings(
            idle_after=idle_after,
            dead_letters=dead_letters,
            on_violation=on_violation,
            restarts=restarts,
            at_end=at_end,
            clock=clock,
            now=now,
            state=state,
            commit_every=commit_every,
            keep=keep,
            backlog=backlog,
            reload=reload,
            corrections=corrections,
            observer=observer,
            held=observer is not None,
            actors=actors,
            workers=workers,
            supervision=supervision,
        )
        settings = Settings(
            emit=emit,
            lateness=lateness,
            start=start,
            max_ahead=max_ahead,
            max_lead=max_lead,
            prospects=prospects,
            min_evidence=min_evidence,
            count_absences=count_absences,
            warn=warn,
            grouped=grouped,
            statuses=statuses,
            max_state=max_state,
            remember=max(explain, remember),
            explain=bool(explain),
        )
        super().__init__(plan, sources, sinks, settings, run)

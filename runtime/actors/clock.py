"""The machine's clock: with it time moves on when nothing comes, so that what waits for later facts is decided.

A fact is expected at most `behind` after its time. So what the clock reads less that is a floor for the watermark of every
source: a silent one holds back nothing behind it. The clock is looked at when a tick ends, and not more often than every
`SHORTEST` seconds. Two things it waits for:

* What is recorded (files) is read first: its facts are old, and none of them is late by the clock.
* While a source has more to say than the engine takes, time does not move with the clock: what came in time is never late
  because the engine is slow. What time it is, for `max_ahead`, is told nevertheless.

A run that goes on after an outage has heard nothing meanwhile, which says nothing about what was. So its clock stands for
`behind`, until sources are back, and then goes on from where it stood, at its pace. It does so until each source has caught
up, has ended or is idle, or until as much time has passed as the outage took. What a source brings of the outage counts, and
silence counts only while somebody listened. Some sources know whether they have caught up, and time stands until they have
(`runtime/actors/hearing.py`); another one has when it has brought something of the time since the restart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from tidelog.plans.data.timeline import LIMIT, NEG, POS, Timeline
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.actors.hearing import Ears
from tidelog.runtime.actors.listening import ListenerActor
from tidelog.runtime.actors.supervision import SourceActor, SourceEvent
from tidelog.runtime.ports.channels import Channel, Sender
from tidelog.runtime.ports.interfaces import Batch, Tick

NAME = "clock"
"""What the clock is called among those who tell the intake something."""
SHORTEST = 0.1
"""The least seconds between two looks at the clock, however short a tick is."""
LONGEST = 60.0
"""The most seconds between two looks at the clock: somebody may set it."""
_NO_UNIT = "a clock needs to know what a unit of time is: declare one, such as `timeline integer, unit 1 s`"
_FAR = LIMIT >> 4
"""So many ticks lie beyond all that a clock will ever say."""
_LAG = 0.001
"""How long behind a tick's end the clock is looked at: a fact that is exactly `behind` old is in time."""
BUSY = 1.0
"""How many seconds lie between two looks at the clock while a source has more to say."""
USUAL_AHEAD = 300
"""How many seconds, beside the lateness, a fact may lie ahead of the clock unless told otherwise."""
_MOMENTS = 5
"""How often other tasks get their turn while it is seen whether a source has more to say."""


class Outage:
    """How far the clock lags, because nobody listened for `length` units, until it read `end`.

    First it stands for `grace` units: so long sources have to come back. What lies behind `since` (encoded) is of now.
    """

    def __init__(self, length: Fraction, end: Fraction, grace: Fraction, since: int, silent: Iterable[str]) -> None:
        self._length, self._end, self._grace, self._since = length, end, grace, since
        self._silent = set(silent)

    def caught_up(self, names: Iterable[str]) -> None:
        """These sources know that they have."""
        self._silent.difference_update(names)

    def heard(self, name: str, event: Batch | Tick | str, moment: float) -> None:
        """A source has said something. Only what lies behind the outage shows that it has caught up."""
        if isinstance(event, Batch):
            known = max((record[2] for record in event.records), default=NEG)
            if max(known, NEG if event.watermark is None else event.watermark) >= self._since:
                self._silent = {silent for silent in self._silent if name != silent and not name.startswith(f"{silent} #")}
        elif event == "ended" or (event == "idle" and moment < math.inf):
            self._silent.discard(name)

    def lag(self, time: Fraction) -> Fraction:
        """By how many units the clock lags when it reads `time`; once it is 0, it stays so."""
        passed = time - self._end
        if not self._silent or passed >= self._length + self._grace:
            self._silent.clear()
            return Fraction(0)
        return self._length + min(passed, self._grace)


class Clock:
    """Tells the intake how late it is. `now` gives the seconds since 1970.

    A fact may lie ahead of the clock by `ahead` (None: any distance). DataError for a program without a unit, or for a
    length of time that is none.
    """

    def __init__(
        self, timeline: Timeline, behind: TimeLike | timedelta, now: Callable[[], float], ahead: Fraction | None = None
    ) -> None:
        if timeline.unit is None:
            raise DataError(_NO_UNIT)
        self._timeline = timeline
        self._unit = timeline.unit
        self._behind = TimeReader(timeline).length(behind)
        self._now = now
        self._ahead = ahead
        self._told = NEG
        self._stood = NEG
        self._stood_still = False
        self._unheard = 0
        self._outage: Outage | None = None
        self._actors: Mapping[str, SourceActor] = {}
        self._left: list[SourceActor | ListenerActor] = []
        self._recorded: list[SourceActor | ListenerActor] = []
        self._ears = Ears(now, float(self._behind * self._unit))
        self._is_read: anyio.Event
        self._scope: anyio.CancelScope | None = None

    def go_on(self, stood: int) -> None:
        """To be called before `start`: an earlier run was told the watermark `stood` last; NEG where there was none."""
        self._stood = stood

    def heard(self, name: str, event: Batch | Tick | str, moment: float) -> None:
        """The session is told this by a source, or a listener's connection."""
        self._ears.heard(name, event)
        if self._outage is not None and not (name in self._ears and isinstance(event, Batch)):
            self._outage.heard(name, event, moment)

    def before(self, event: Batch | Tick | str) -> tuple[Tick | None, Batch | Tick | str]:
        """To be called before the session is told an event. Returns the tick that the session has to be told first, if time
        stops now, and the event as it is to be told.

        A tick that was on its way when time stopped does not let it go on.
        """
        if isinstance(event, Tick) and self._ears.holds:
            return None, replace(event, holds=True)
        return self._stopped() if isinstance(event, Batch) else None, event

    def _stopped(self) -> Tick | None:
        return self._at(self._told, self._units(), holds=True) if self._ears.begins() else None

    def start(
        self,
        tasks: TaskGroup,
        actors: Sequence[SourceActor | ListenerActor],
        present: Mapping[str, SourceActor],
        events: Channel[SourceEvent],
    ) -> None:
        """Run the sources, and beside them the clock, which speaks first, and ends with the last of them.

        `present` are the actors that are there at any time, also of those that listeners bring.
        """
        self._actors = present
        self._left, self._recorded = list(actors), [actor for actor in actors if actor.is_recorded]
        self._is_read, self._scope = anyio.Event(), anyio.CancelScope()
        if not actors:
            return
        self._outage = self._outage_before([actor.name for actor in actors if not actor.is_of_now])
        hearing = {actor.name: actor.hearing for actor in actors if isinstance(actor, SourceActor) and actor.hearing}
        self._ears.begin(hearing, goes_on=self._stood > NEG)
        self._told = self._stood
        sender = events.sender()
        stopped = self._stopped()
        if stopped is not None:
            sender.send_nowait((NAME, stopped, 0.0))
        elif not self._recorded:
            sender.send_nowait((NAME, self._tick(self._units()), 0.0))
        tasks.start_soon(self._run, self._scope, sender, name=NAME)
        for actor in actors:
            tasks.start_soon(self._follow, actor, events.sender(), name=actor.name)

    def stop(self) -> None:
        """Tell nothing more."""
        if self._scope is not None:
            self._scope.cancel()

    async def _follow(self, actor: SourceActor | ListenerActor, events: Sender[SourceEvent]) -> None:
        await actor.run(events)
        self._left.remove(actor)
        if actor in self._recorded:
            self._recorded.remove(actor)
        if not self._recorded:
            self._is_read.set()
        if not self._left:
            self.stop()

    async def _run(self, scope: anyio.CancelScope, events: Sender[SourceEvent]) -> None:
        with events, scope:
            if self._recorded:
                await self._is_read.wait()
            else:
                await anyio.sleep(SHORTEST)  # `start` has just read it
            looked = -math.inf
            while True:
                wait = SHORTEST
                if await self._is_quiet() and not self._stands():
                    time = self._units()
                    tick = self._tick(time)
                    if tick.watermark > self._told or tick.unheard or self._stood_still:
                        self._told, self._unheard, self._stood_still = max(self._told, tick.watermark), 0, False
                        await events.send((NAME, tick, 0.0))
                    wait = min(LONGEST, max(SHORTEST, self._until_next(time - self._lag(time)) + _LAG))
                    if self._outage is not None or self._ears:
                        wait = min(wait, 1.0)  # sources may have caught up by then, or be lost
                elif anyio.current_time() - looked >= BUSY:
                    looked = anyio.current_time()
                    await events.send((NAME, self._at(self._told, self._units(), holds=self._ears.holds), 0.0))
                self._ears.expect(wait)
                await anyio.sleep(wait)

    def _stands(self) -> bool:
        """Whether time stands still, since a source that knows so has not caught up."""
        if not self._ears.holds and not self._ears.begins():
            return False
        self._stood_still = True
        unheard = self._ears.ends()
        if unheard is None:
            return True
        if self._outage is not None:
            self._outage.caught_up(self._ears.names)
        self._unheard = POS if unheard == math.inf else self._timeline.earliest(Fraction(unheard) / self._unit)
        return False

    async def _is_quiet(self) -> bool:
        """Whether no source has more to say at once."""
        for _ in range(_MOMENTS):
            if any(actor.is_passing_on for actor in self._actors.values()):
                return False
            await anyio.lowlevel.checkpoint()
        return True

    # --- time -----------------------------------------------------------------------------------------------------------

    def _units(self) -> Fraction:
        """What the clock reads, in the program's units."""
        return Fraction(self._now()) / self._unit

    def _tick(self, time: Fraction) -> Tick:
        return self._at(self._timeline.earliest(time - self._behind - self._lag(time)) - 1, time, unheard=self._unheard)

    def _at(self, watermark: int, time: Fraction, *, holds: bool = False, unheard: int = 0) -> Tick:
        earliest = self._timeline.earliest
        gap = 0 if self._timeline.is_integer else 1  # what begins in the gap behind a time comes at that time
        ceiling = POS if self._ahead is None else min(POS, earliest(time + self._ahead) + gap)
        return Tick(watermark, earliest(time), ceiling, holds, unheard)

    def _outage_before(self, names: Sequence[str]) -> Outage | None:
        """What has passed since an earlier run was told the time, if there was one."""
        if self._stood <= NEG:
            return None
        time = self._units()
        length = time - self._behind - self._timeline.decode_point(self._stood + 1)
        since = self._timeline.earliest(time - self._behind)
        return Outage(length, time, self._behind, since, names) if length > 0 else None

    def _lag(self, time: Fraction) -> Fraction:
        """By how many units it lags behind what it reads."""
        lag = Fraction(0) if self._outage is None else self._outage.lag(time)
        if not lag:
            self._outage = None
        return lag

    def _until_next(self, time: Fraction) -> float:
        """The seconds until the watermark can move."""
        length = Fraction(1) if self._timeline.is_integer else self._timeline.resolution
        ticks = (time - self._behind) / length
        if self._timeline.rounding == "down":
            end = Fraction(math.floor(ticks) + 1)
        elif self._timeline.rounding == "nearest":
            end = math.floor(ticks + Fraction(1, 2)) + Fraction(1, 2)
        else:
            end = Fraction(math.ceil(ticks))
        return float((end - ticks) * length * self._unit)


def read_max_ahead(told: TimeLike | None) -> TimeLike | None:
    """What `max_ahead` says in files and on the command line: `none` stands for any distance."""
    return math.inf if told == "none" else told


def ahead_of(timeline: Timeline, max_ahead: TimeLike | timedelta | None, lateness: TimeLike | timedelta) -> Fraction | None:
    """How far ahead of a clock a fact may lie: `max_ahead`; untold, `USUAL_AHEAD` seconds and the lateness.

    None is any distance, as `math.inf` is for `max_ahead`. DataError without a unit, or for a length of time that is none.
    """
    if timeline.unit is None:
        raise DataError(_NO_UNIT)
    times = TimeReader(timeline)
    if max_ahead == math.inf:
        return None
    length = USUAL_AHEAD / timeline.unit + times.length(lateness) if max_ahead is None else times.length(max_ahead)
    return None if length > _FAR * timeline.resolution else length


def start_sources(
    tasks: TaskGroup,
    actors: Sequence[SourceActor | ListenerActor],
    present: Mapping[str, SourceActor],
    events: Channel[SourceEvent],
    clock: Clock | None,
) -> None:
    """Run the sources, which tell their events, and the clock, if there is one; `present` is as for `Clock.start`."""
    if clock is not None:
        clock.start(tasks, actors, present, events)
        return
    for actor in actors:
        tasks.start_soon(actor.run, events.sender(), name=actor.name)

"""Whether the sources hear. What was not heard since nobody listened is not missing.

Some sources know whether they hear (`Hearing` in `runtime/ports/interfaces.py`): for a broker's client somebody keeps what
comes while it is away. While such a source is behind, time stands still, also where facts would move it: their times may be
those of their arrival, which say nothing about what still waits. Time goes on once all of them have caught up, and then what
is looked for in a window, and was there when time stopped, is not missed before a window has passed since.

A source is behind when a run goes on, when its connection is lost, and when the process did not run for a while. It is
waited for `PATIENCE` seconds at most, from when time stopped; then its silence counts as that of any other source. A run
that begins anew has nothing to miss: its sources count once they have been there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from tidelog.runtime.ports.interfaces import Batch, Hearing, Tick

logger = logging.getLogger("tidelog")

PATIENCE = 300.0
"""For how many seconds a source that is behind is waited for."""
STALL = 1.0
"""So many seconds, or as many as a fact may be late, are no stall yet."""


class Ears:
    """Which of the sources that can tell are behind, and since when time stands still for them. `now` gives seconds since
    1970; facts come at most `behind` seconds after their time."""

    def __init__(self, now: Callable[[], float], behind: float) -> None:
        self._now = now
        self._slack = max(STALL, behind)
        self._sources: Mapping[str, Hearing] = {}
        self._excused: set[str] = set()
        self._gone: set[str] = set()
        self._expected = math.inf
        self._since: float | None = None
        self._stalled = 0.0

    def begin(self, sources: Mapping[str, Hearing], *, goes_on: bool) -> None:
        """To be called once, before the sources start; `goes_on` where an earlier run has heard something."""
        self._sources = sources
        self._excused = set() if goes_on else set(sources)

    @property
    def names(self) -> Iterable[str]:
        """Those of the sources."""
        return self._sources

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def holds(self) -> bool:
        """Whether time stands still."""
        return self._since is not None

    def heard(self, name: str, event: Batch | Tick | str) -> None:
        """A source has said something, has ended, or is ignored since it is idle."""
        if name in self._sources:
            if isinstance(event, Batch):
                self._gone.discard(name)
            elif event in ("ended", "idle"):
                self._gone.add(name)

    def expect(self, seconds: float) -> None:
        """The clock is looked at again after so many seconds."""
        if self._sources:
            self._look_for_stall()  # the clock may be behind sources that had much to say when the process went on
            self._expected = self._now() + seconds

    def begins(self) -> bool:
        """Whether time has to stop now, though it went on so far."""
        if self._since is not None or not self._sources:
            return False
        self._look_for_stall()
        for name in list(self._excused):
            if not self._sources[name].is_behind:
                self._excused.discard(name)
        if next(self._behind(), None) is None:
            return False
        self._since = self._now()
        return True

    def ends(self) -> float | None:
        """For how many seconds nobody listened (inf if that is not known), where time goes on now; None where it stands.

        0 where a source has been waited for too long.
        """
        if self._since is None:
            return None
        self._look_for_stall()
        waited, behind = self._now() - self._since, list(self._behind())
        if behind and waited <= PATIENCE:
            return None
        for name in behind:
            logger.warning("%s: away for %g s: its silence counts from now on", name.partition(":")[2], PATIENCE)
        self._excused |= set(behind)
        unheard = self._stalled if self._stalled > waited else math.inf
        self._since, self._stalled = None, 0.0
        return 0.0 if behind else unheard

    def _behind(self) -> Iterator[str]:
        for name, source in self._sources.items():
            if name not in self._excused and name not in self._gone and source.is_behind:
                yield name

    def _look_for_stall(self) -> None:
        """Whether the process did not run when it should have."""
        late = self._now() - self._expected
        if late > self._slack:
            self._expected = math.inf
            self._stalled += late
            for source in self._sources.values():
                source.listen_again()

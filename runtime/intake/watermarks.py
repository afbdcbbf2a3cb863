"""The watermarks of all sources, and the least of them: how far time has come.

A source promises that later facts begin after its watermark. The least promise of the sources that count is the engine's
watermark, which never goes back. A source that has ended does not count, nor one of which all parts are idle; when the last
one has ended all time is complete. Sources are there from the start (`fixed`), or come while the engine runs: what is known
of those is forgotten once they have ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.intake.source_state import Counts, SourceState, SourceStatistics, counts_of
from tidelog.runtime.intake.tracks import Least, Track
from tidelog.runtime.ports.interfaces import Tick, WritesTimes


class Watermarks:
    """Sources by name, with the watermark (encoded) that follows from their promises.

    By the machine's clock, where one is told, it is `present`; what begins behind `ceiling` comes from a wrong clock.
    `times` writes times where people are told of facts that are refused.
    """

    def __init__(self, sources: Iterable[str], times: WritesTimes) -> None:
        self.times = times
        self.watermark = self.floor = self.present = NEG
        self.ceiling = POS
        self.holds = False
        """Whether the watermark stays where it is, since a source has not caught up."""
        self.sources: dict[str, SourceState] = {}
        self._ended: dict[str, Counts] = {}
        self._least: Least[SourceState] = Least()
        for name in sources:
            self.add(name, is_fixed=True)

    def add(self, name: str, *, is_fixed: bool = False) -> None:
        """A source counts from now on."""
        state = self.sources[name] = SourceState(name, is_fixed=is_fixed)
        state.track(None, 0.0)
        self._refresh(state)

    def knows(self, name: str) -> bool:
        """Whether there is such a source, or one that has ended."""
        return name in self.sources or name in self._ended

    def find(self, name: str) -> SourceState:
        """A source that is there, or one that has ended, of which nothing is taken any more. KeyError for no source."""
        if name not in self._ended:
            return self.sources[name]
        ended = SourceState(name, is_fixed=True)
        ended.floor = POS
        return ended

    def end(self, state: SourceState) -> None:
        """The source has ended, and all of its parts were dropped."""
        state.refresh()
        del self.sources[state.name]
        if state.is_fixed:
            self._ended[state.name] = state.counts()

    def advance(self, state: SourceState) -> None:
        """Let time go on as far as the parts of this source, in which something has changed, and the others allow."""
        if state.name in self.sources:
            self._refresh(state)
        slowest = self._least.first()
        if slowest is not None:
            self.reach(slowest.promised)
        elif not self.sources:
            self.reach(POS)

    def advance_one(self, state: SourceState, track: Track, promise: int) -> None:
        """The same where a source that is not divided promises more than all did."""
        track.promised = promise
        if len(self.sources) > 1 or self.holds:
            self.advance(state)
        else:  # nobody else counts
            state.promised = self.watermark = promise

    def pass_time(self, tick: Tick) -> None:
        """The machine's clock has gone on."""
        self.floor, self.present, self.ceiling = max(self.floor, tick.watermark), tick.present, tick.ceiling
        self.holds = tick.holds
        if self.sources:
            slowest = self._least.first()
            self.reach(self.floor if slowest is None else max(self.floor, slowest.promised))

    def reach(self, watermark: int) -> None:
        """The watermark is at least this, unless it is held while there are sources."""
        if not self.holds or not self.sources:
            self.watermark = max(self.watermark, watermark)

    def _refresh(self, state: SourceState) -> None:
        if state.refresh():
            self._least.add(state)

    def lead(self, source: str) -> int:
        """How many facts of a source wait for slower ones."""
        state = self.sources.get(source)
        return state.lead(self.watermark) if state is not None else 0

    def slowest(self) -> str | None:
        """A source that the others wait for; None where all are idle, or have ended."""
        state = self._least.first()
        return None if state is None else state.name

    def oldest(self, source: str) -> float | None:
        """The moment of the part of a source that has been silent longest; None where none counts."""
        state = self.sources.get(source)
        return state.oldest() if state is not None else None

    def temporary(self) -> list[str]:
        """The sources that have come while the engine ran, and have not ended."""
        return [name for name, state in self.sources.items() if not state.is_fixed]

    def statistics(self) -> dict[str, SourceStatistics]:
        """What is known of each source by its name; of those that came while the engine ran, and ended, nothing is."""
        ended = {name: SourceStatistics(*counts) for name, counts in self._ended.items()}
        return ended | {name: state.statistics(self.watermark) for name, state in self.sources.items()}

    def snapshot(self) -> dict[str, Any]:
        """All promises as plain data."""
        return {
            "watermark": self.watermark,
            "clock": [self.floor, self.present, self.ceiling],
            "holds": self.holds,
            "sources": {name: state.snapshot() for name, state in self.sources.items()},
            "ended": {name: list(counts) for name, counts in self._ended.items()},
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.sources = {name: SourceState.restored(name, state) for name, state in data["sources"].items()}
        self._ended = {name: counts_of(counts) for name, counts in data["ended"].items()}
        self._least = Least()
        for state in self.sources.values():
            self._refresh(state)
        self.watermark = data["watermark"]
        self.floor, self.present, self.ceiling = data["clock"]
        self.holds = data.get("holds", False)  # a snapshot from before does not say


def with_sources(data: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The snapshot of watermarks for other sources: those that are gone say nothing more, and new ones have said nothing."""
    kept = {name: state for name, state in data["sources"].items() if not state["fixed"] or name in names}
    new = {name: SourceState(name, is_fixed=True).snapshot() for name in names if name not in {*kept, *data["ended"]}}
    return {**data, "sources": {**kept, **new}}


def plain_name(source: str) -> str:
    """A source's name as users know it: engines number theirs, as `0:temps.csv`.

    >>> plain_name("0:temps.csv"), plain_name("tcp://127.0.0.1:9000")
    ('temps.csv', 'tcp://127.0.0.1:9000')
    """
    number, _, name = source.partition(":")
    return name if number.isdigit() else source

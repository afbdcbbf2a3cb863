"""What the intake knows of one source: the tracks of its parts, and how far it runs ahead of the others.

A source that is not divided has one track. A divided one has one for each part that has spoken; how many there are is
bounded, and one that is silent for long, counted in facts of its own source, is dropped: nobody waits for it until it speaks
again. A source without tracks holds back nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.intake.tracks import Least, Track
from tidelog.runtime.ports.interfaces import Part

MAX_PARTS = 10_000
"""How many parts of one source are told apart at once; with one more, the one that has been silent longest is dropped."""
_MOST_STEPS = 1024
"""Into how many portions the facts of a source that runs ahead are counted."""


Counts = tuple[int, int, int]
"""How many facts were accepted, late, too far ahead."""


@dataclass(frozen=True, slots=True)
class PartStatistics:
    """Of a part of a source that counts: facts accepted, late, ahead; and its watermark, encoded."""

    accepted: int
    late: int
    ahead: int
    watermark: int


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """Of a source: facts accepted, late, ahead, of all its parts; and its watermark, encoded, the least one of its parts.

    `parts` are those that count now: None where the source is not divided; none where it is idle or has ended. `lead` is
    how many of its facts wait for slower sources, `dropped` how often a part was dropped because it was silent while many
    facts of the others came.
    """

    accepted: int
    late: int
    ahead: int
    watermark: int = POS
    lead: int = 0
    dropped: int = 0
    parts: dict[Part, PartStatistics] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.watermark == POS


class SourceState:
    """The tracks of one source, in the order in which they last brought a fact, and the least promise of all of them."""

    def __init__(self, name: str, *, is_fixed: bool) -> None:
        self.name = name
        self.is_fixed = is_fixed
        self.tracks: dict[Part, Track] = {}
        self.only: Track | None = None
        """The track of a source that is not divided."""
        self.floor = self.promised = NEG
        self.gone = True
        self.taken = self.dropped = 0
        self._least: Least[Track] = Least()
        self._portions: deque[list[int]] = deque()
        self._waiting = 0
        self._past: Counts = (0, 0, 0)

    def track(self, part: Part, moment: float) -> Track:
        """The track of a part, new where it was not there."""
        track = self.tracks.get(part)
        if track is None:
            track = Track(part, self.floor, self.taken, moment)
            self._enter(track)
        return track

    def _enter(self, track: Track) -> None:
        self.tracks[track.part] = track
        self._least.add(track)
        self._find_only()

    def _find_only(self) -> None:
        self.only = self.tracks.get(None) if len(self.tracks) == 1 else None

    def heard(self, track: Track, count: int, moment: float) -> None:
        """A part has brought so many facts that are taken, or a promise."""
        self.taken += count
        track.last, track.moment, track.heard = self.taken, moment, track.heard or count > 0
        track.accepted += count
        if len(self.tracks) > 1:
            self.tracks[track.part] = self.tracks.pop(track.part)

    def drop(self, track: Track) -> None:
        """Nobody waits for this part until it speaks again."""
        track.gone = True
        self.tracks.pop(track.part, None)
        self._find_only()
        self._past = self.counts(track)

    def due(self, max_lead: int) -> int:
        """With which fact of the source a part may have been silent for more than so many."""
        first = next(iter(self.tracks.values()), None)
        return (self.taken if first is None else first.last) + max_lead + 1

    def stalest(self, max_lead: int) -> Track | None:
        """A part that has been silent while more than so many facts of the others came, or that is one too many."""
        first = next(iter(self.tracks.values()))
        return first if self.taken - first.last > max_lead or len(self.tracks) > MAX_PARTS else None

    def oldest(self) -> float | None:
        """When the part that has been silent longest last brought a fact; None where there is none."""
        track = next(iter(self.tracks.values()), None)
        return None if track is None else track.moment

    def refresh(self) -> bool:
        """Find the least promise anew; returns whether it may have become less."""
        was, was_gone = self.promised, self.gone
        first = self._least.first()
        self.gone = first is None
        self.promised = NEG if first is None else first.promised
        return not self.gone and (was_gone or self.promised < was)

    # --- running ahead --------------------------------------------------------------------------------------------------

    def run_ahead(self, count: int) -> None:
        """So many facts have been taken: they wait for the others until time has reached what is now promised."""
        if not count:
            return
        self._waiting += count
        last = self._portions[-1] if self._portions else None
        if last is not None and (last[0] >= self.promised or len(self._portions) >= _MOST_STEPS):
            last[0] = max(last[0], self.promised)
            last[1] += count
        else:
            self._portions.append([self.promised, count])

    def lead(self, watermark: int) -> int:
        """How many facts wait for other sources."""
        while self._portions and (self._portions[0][0] <= watermark or self.promised <= watermark):
            self._waiting -= self._portions.popleft()[1]
        return self._waiting

    def counts(self, *tracks: Track) -> Counts:
        """How many facts were accepted, late, ahead: of these parts, and of those that were dropped."""
        accepted, late, ahead = self._past
        for track in tracks:
            accepted, late, ahead = accepted + track.accepted, late + track.late, ahead + track.ahead
        return accepted, late, ahead

    def statistics(self, watermark: int) -> SourceStatistics:
        """An immutable record; `watermark` is the engine's."""
        parts = {
            part: PartStatistics(track.accepted, track.late, track.ahead, track.promised)
            for part, track in self.tracks.items()
        }
        counts = self.counts(*self.tracks.values())
        return SourceStatistics(*counts, self.promised, self.lead(watermark), self.dropped, parts)

    def snapshot(self) -> dict[str, Any]:
        """Its state as plain data."""
        return {
            "fixed": self.is_fixed,
            "floor": self.floor,
            "taken": self.taken,
            "dropped": self.dropped,
            "past": list(self._past),
            "portions": [list(portion) for portion in self._portions],
            "tracks": [track.snapshot() for track in self.tracks.values()],
        }

    @classmethod
    def restored(cls, name: str, data: dict[str, Any]) -> SourceState:
        """A source as it was when the snapshot was taken; all of its parts are heard from now on."""
        state = cls(name, is_fixed=data["fixed"])
        state.floor, state.taken, state.dropped = data["floor"], data["taken"], data["dropped"]
        state._past = counts_of(data["past"])
        state._portions = deque(list(portion) for portion in data["portions"])
        state._waiting = sum(count for _, count in state._portions)
        for track in map(Track.restored, data["tracks"]):
            state._enter(track)
        return state


def counts_of(data: Sequence[int]) -> Counts:
    """Counts as a snapshot has them."""
    accepted, late, ahead = data
    return accepted, late, ahead

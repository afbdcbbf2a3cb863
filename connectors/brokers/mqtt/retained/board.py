"""What is to be retained at a broker: the places, what holds at each, and which of it is shown there.

A place is what a subscriber looks at: a topic, or several that belong together. Where several rows hold at one place, that
which began last is shown (of those that began at one time, that which was told last). So it does not matter whether the end
of an old value is told before the begin of the new one.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.connectors.brokers.mqtt.retained.store import Changes, Held, Key, Stored, StoredPlace, encode_row
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.timeline import POS

Message = tuple[str, bytes]
"""A topic, and what the broker is to retain there; nothing, where it is to retain nothing."""
NOTHING = b""


class Presenter(Protocol):
    """How places look."""

    @property
    def most(self) -> int | None:
        """How many places are kept at which nothing holds; None where such a place is gone at once."""
        ...

    def place(self, change: ChangeRecord) -> str:
        """Where a row is shown. LookupError where it is not, and what an encoder raises for one that cannot be."""
        ...

    def introduced(self, place: str, held: Held) -> Sequence[Message]:
        """What is retained once for a place that is new."""
        ...

    def shown(self, place: str, held: Held) -> Sequence[Message]:
        """What is retained while this holds, or, where it has an end, after it. Always at the same topics."""
        ...

    def standing(self) -> Sequence[Held]:
        """What has a place from the begin on, though it has not held yet."""
        ...


class TopicPresenter:
    """A place is a topic of the template: it has the payload while something holds, and nothing otherwise.

    `told` are the predicates that the sink is told.
    """

    most = None

    def __init__(self, topic: TopicTemplate, template: Template, told: Collection[str]) -> None:
        self._topic, self._template, self._told = topic, template, told

    def place(self, change: ChangeRecord) -> str:
        """Its topic; LookupError where the sink is not told of it."""
        if change.predicate not in self._told:
            raise LookupError(change.predicate)
        return self._topic.topic(change)

    def introduced(self, place: str, held: Held) -> Sequence[Message]:
        return ()

    def shown(self, place: str, held: Held) -> Sequence[Message]:
        return [(place, self._template.payload(change_of(held)) if held.hi is None else NOTHING)]

    def standing(self) -> Sequence[Held]:
        return ()


def change_of(held: Held) -> ChangeRecord:
    """The change that told it."""
    return ChangeRecord(held.predicate, held.row, held.lo, POS if held.hi is None else held.hi)


@dataclass(slots=True)
class _Place:
    """What holds at a place, and the order of it: the first is shown. The order may have what does not hold any more."""

    topics: tuple[str, ...] = ()
    last: Held | None = None
    holding: dict[Key, Held] = field(default_factory=dict)
    order: list[tuple[int, int, Key]] = field(default_factory=list)

    def add(self, held: Held) -> None:
        self.holding[held.key] = held
        heapq.heappush(self.order, (-held.lo, -held.number, held.key))

    def top(self) -> Held | None:
        """What began last of what holds."""
        while self.order:
            _, number, key = self.order[0]
            found = self.holding.get(key)
            if found is not None and found.number == -number:
                return found
            heapq.heappop(self.order)
        return None


class Board:
    """All places of a sink, as `stored` by an earlier run, or by an earlier one of `run` itself.

    What changes is collected until `take_changes`, to be written before it is published. A place that is gone is forgotten
    only once the broker has been told (`published`). What another run has told to hold does not hold: nobody will tell its
    end.
    """

    def __init__(self, presenter: Presenter, stored: Stored, run: str) -> None:
        self._presenter = presenter
        self._places: dict[str, _Place] = {}
        self._idle: dict[str, None] = {}  # places at which nothing holds, in the order in which that ended
        self._changes = Changes()
        self._standing: set[str] = set()  # places that always are
        self._dropped: set[str] = set()  # places that are gone, and written
        self._stale: set[str] = set()  # topics at which something may be retained that no place has
        self._begin(stored, is_same_run=stored.run == run)

    def __len__(self) -> int:
        return len(self._places)

    def _begin(self, stored: Stored, *, is_same_run: bool) -> None:
        """Take what is stored, but for what has no place in this run."""
        for place, held in stored.holding:
            found = self._place_of(held) if is_same_run else None
            if found is not None:
                self._at(found).add(held)
            if found != place:
                self._changes.rows[held.key] = None if found is None else encode_row(found, held)
        for held in self._presenter.standing():
            found = self._place_of(held)
            if found is not None:
                self._standing.add(found)
                self._at(found).last = held
        for place, known in stored.places.items():
            is_idle = self._presenter.most is not None and known.last is not None and self._place_of(known.last) == place
            if place in self._places or is_idle:
                mine = self._at(place)
                mine.topics, mine.last = known.topics, known.last or mine.last
            else:
                self._stale |= set(known.topics)
                self._dropped.add(place)
        for place, mine in self._places.items():
            if mine.top() is None and place not in self._standing:
                self._idle[place] = None

    def _place_of(self, held: Held) -> str | None:
        try:
            return self._presenter.place(change_of(held))
        except (ValueError, TypeError, OverflowError, LookupError):
            return None

    def _at(self, place: str) -> _Place:
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = _Place()
        return found

    # --- changes --------------------------------------------------------------------------------------------------------

    def take(self, change: ChangeRecord, number: int) -> list[Message]:
        """What is to be published for a change, in order. Raises what an encoder raises for what cannot be shown."""
        place = self._presenter.place(change)
        held = Held(change.predicate, change.row, change.lo, None, number)
        ends = change.has_ended is not isinstance(change, RetractedChange)
        messages, row = (
            self._presenter.shown(place, held),
            encode_row(place, held),
        )  # before anything is noted: they may raise
        is_new = place not in self._places
        mine = self._at(place)
        before = mine.top()
        if ends:
            mine.holding.pop(held.key, None)
            self._changes.rows[held.key] = None
        else:
            mine.add(held)
            self._changes.rows[held.key] = row
        now = mine.top()
        if now is not None and before is not None and now.key == before.key and now.number == before.number:
            return []
        if now is None:
            now = Held(change.predicate, change.row, change.lo, min(change.hi, POS - 1), number)
            found = [*self._forget_over(place)]
        else:
            self._idle.pop(place, None)
            found = []
        mine.last = now
        if now.key != held.key or now.hi is not None:
            messages = self._presenter.shown(place, now)
        if is_new:
            messages = [*self._presenter.introduced(place, now), *messages]
            mine.topics = tuple(topic for topic, payload in messages)
        if place in self._places and (is_new or self._presenter.most is not None):
            self._changes.places[place] = StoredPlace(mine.topics, mine.last)
        return [*messages, *found]

    def _forget_over(self, place: str) -> Iterator[Message]:
        """Nothing holds at a place now: it is gone, or, if such places are too many, the oldest of them is."""
        self._idle.pop(place, None)
        if self._presenter.most is None:
            self._drop(place)
            return
        if place not in self._standing:
            self._idle[place] = None
        while len(self._idle) > self._presenter.most:
            oldest = next(iter(self._idle))
            topics = self._places[oldest].topics
            self._drop(oldest)
            yield from [(topic, NOTHING) for topic in topics]

    def _drop(self, place: str) -> None:
        del self._places[place]
        self._idle.pop(place, None)
        self._dropped.add(place)

    def published(self) -> None:
        """The broker has all that was to be published: places that are gone can be forgotten."""
        self._stale.clear()
        for place in self._dropped:
            if place not in self._places:
                self._changes.places[place] = None
        self._dropped.clear()

    def take_changes(self) -> Changes:
        """What has changed since the last time, to be written."""
        changes, self._changes = self._changes, Changes()
        return changes

    # --- all of it ------------------------------------------------------------------------------------------------------

    @property
    def places(self) -> list[str]:
        """All places."""
        return [*self._places]

    def all_of(self, place: str) -> tuple[Held, list[Message]] | None:
        """What is retained for a place now, and what it tells; None for one that is gone."""
        mine = self._places.get(place)
        held = None if mine is None else mine.top() or mine.last
        if mine is None or held is None:
            return None
        messages = [*self._presenter.introduced(place, held), *self._presenter.shown(place, held)]
        topics = tuple(topic for topic, _ in messages)
        cleared = [(topic, NOTHING) for topic in mine.topics if topic not in topics]
        if topics != mine.topics:
            mine.topics = topics
            self._changes.places[place] = StoredPlace(topics, held)
        return held, [*cleared, *messages]

    def stale(self) -> set[str]:
        """Topics at which something may be retained, though nothing is to be there any more."""
        return self._stale - {topic for mine in self._places.values() for topic in mine.topics}

"""The devices of a cold store, and what they say, second by second.

Each room's temperature swings around -18 °C, and rises while its door is open, its defroster is on, or no brine comes. Doors
are opened now and then, and sometimes left open; a device falls silent now and then. Where a pump trips, all else is calm.
"""

import csv
import random
from collections.abc import Iterator
from pathlib import Path

Reading = tuple[int, str, str, float | str]
"""When, which place, what is read there, and its value: `temp` in °C, `flow` in litres, else a state."""
ROOMS = ("r1", "r2", "r3")
"""Those that have devices, unless a pump trips."""
MACHINES = ("p1", "p2", "c1", "c2", "f1", "f2")


def readings(seconds: int, seed: int = 1, trip: int | None = None) -> Iterator[Reading]:
    """All readings in their order; with `trip`, pump p1 trips at that second, and all its rooms are there."""
    chance = random.Random(seed)
    names = ROOMS if trip is None else rooms_of("p1")
    rooms = {name: _Room(random.Random(chance.random()), trip) for name in names}
    for second in range(seconds):
        if second % 60 == 0 or second == trip:
            for name in MACHINES:
                tripped = name == "p1" and trip is not None and second >= trip
                yield second, name, "machine", "tripped" if tripped else "on"
        for name, room in rooms.items():
            for kind, value in room.live(second):
                yield second, name, kind, value


def rooms_of(pump: str) -> list[str]:
    """The rooms that a pump sends brine to."""
    with (Path(__file__).parent / "piping.csv").open(newline="") as file:
        return [row["room"] for row in csv.DictReader(file) if row["pump"] == pump]


class _Room:
    """One room: how warm it is, and what its door, its defroster, its fan and its cooler do."""

    def __init__(self, chance: random.Random, trip: int | None) -> None:
        self._chance, self._trip = chance, trip
        self._celsius, self._closes, self._defrosts, self._speaks = -18.0, 0, 0, 0

    def live(self, second: int) -> Iterator[tuple[str, float | str]]:
        """One second, and what is sent in it."""
        is_dry = self._trip is not None and second >= self._trip
        warming = 0.04 if second < self._closes else 0.02 if second < self._defrosts or is_dry else 0.0
        self._celsius += warming + (-18.0 - self._celsius) * 0.003 + self._chance.gauss(0, 0.02)
        if self._trip is None:
            yield from self._door(second)
            yield from self._defroster(second)
        if second % 10 == 0:
            yield "temp", round(self._celsius, 2)
            yield "flow", 0.0 if is_dry else 12.0
        if second % 60 == 0:
            yield "fan", "off" if second < self._defrosts else "on"
        if second % 30 == 0 and second >= self._speaks:
            yield "alive", "alive"
            if self._trip is None and self._chance.random() < 1 / 60:
                self._speaks = second + 300

    def _door(self, second: int) -> Iterator[tuple[str, str]]:
        if self._closes <= second and self._chance.random() < 1 / 400:
            self._closes = second + int(self._chance.choice((10, 20, 30, 400)))
            yield "door", "open"
        elif second == self._closes > 0:
            yield "door", "closed"

    def _defroster(self, second: int) -> Iterator[tuple[str, str]]:
        if second % 1800 == 900:
            self._defrosts = second + 300
            yield "defroster", "on"
        elif second == self._defrosts > 0:
            yield "defroster", "off"

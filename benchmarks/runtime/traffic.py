"""Made-up traffic, second by second, as the vehicles of the paper's first hackathon stream (S1) report it.

Each second some 40 of 68 vehicles are heard of, between 18 and 62 of them, each with three facts: where it stands (`Pos`: at
zero speed, `NotPos`: moving, `NotOnMap`), its heading, and whether it slows down or accelerates. As in S1 the values of one
second say nothing about those of the next, and each is as likely as its alternatives. The same seed gives the same facts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

VEHICLES = 68
SECONDS = 200
SEED = 1

_STATES = ("Pos", "NotPos", "NotOnMap")
_HEADINGS = ("NorthHeading", "EastHeading", "SouthHeading", "WestHeading")
_CHANGES = ("SlowDown", "Acceleration")


class Report(NamedTuple):
    """One fact: what a vehicle reports in a second."""

    predicate: str
    vehicle: str
    second: int


def traffic(seconds: int = SECONDS, vehicles: int = VEHICLES, seed: int = SEED) -> Iterator[Report]:
    """The facts of `seconds` seconds, from second 1 on, in the order of time."""
    chance = random.Random(seed)
    names = [f"veh{i}" for i in range(vehicles)]
    for second in range(1, seconds + 1):
        for name in chance.sample(names, chance.randint(18, 62)):
            for values in (_STATES, _HEADINGS, _CHANGES):
                yield Report(chance.choice(values), name, second)


def as_text(reports: Iterable[Report]) -> str:
    """The facts as text, written as those of S1 are."""
    return "".join(f"{predicate}({name})@[{second},{second}]\n" for predicate, name, second in reports)


def as_json(reports: Iterable[Report]) -> str:
    """The facts as JSON lines."""
    return "".join(
        f'{{"predicate":"{predicate}","args":["{name}"],"time":{second}}}\n' for predicate, name, second in reports
    )

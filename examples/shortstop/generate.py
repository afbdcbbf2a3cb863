"""Writes a made-up traffic jam as text facts, second by second: input for shortstop.tide.

    python examples/shortstop/generate.py --seconds 200 --vehicles 50 --seed 1 > traffic.txt

Each second a vehicle that is heard of says where it stands (`Pos`: at zero speed, `NotPos`: moving, `NotOnMap`), its
heading, and whether it slows down or accelerates. Vehicles drive, stop for a few seconds, drive on, and leave the map
for a while. The same seed writes the same facts.
"""

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass

HEADINGS = ("North", "East", "South", "West")
NEXT = {
    "NotPos": {"NotPos": 0.80, "Pos": 0.17, "NotOnMap": 0.03},
    "Pos": {"Pos": 0.70, "NotPos": 0.30},
    "NotOnMap": {"NotOnMap": 0.85, "NotPos": 0.15},
}
"""From what a vehicle does to what it does a second later, with the probabilities."""
TURNING = 0.1
"""How probable it is that a moving vehicle changes its heading within a second."""
UNHEARD = 0.02
"""How probable it is that nothing is heard of a vehicle in a second."""


@dataclass
class Vehicle:
    """One vehicle: what it does, and where it is heading."""

    name: str
    state: str
    heading: str

    def move(self, chance: random.Random) -> str:
        """Go on by a second; returns whether that slowed the vehicle down or accelerated it."""
        before, following = self.state, NEXT[self.state]
        self.state = chance.choices(list(following), list(following.values()))[0]
        if self.state == "NotPos" and chance.random() < TURNING:
            self.heading = chance.choice(HEADINGS)
        if self.state == before:
            return chance.choice(["SlowDown", "Acceleration"])
        return "SlowDown" if self.state == "Pos" else "Acceleration"


def traffic(seconds: int, vehicles: int, seed: int) -> Iterator[str]:
    """The facts of `seconds` seconds, from second 1 on, in the order of time."""
    chance = random.Random(seed)
    fleet = [Vehicle(f"veh{i}", chance.choice(list(NEXT)), chance.choice(HEADINGS)) for i in range(vehicles)]
    for second in range(1, seconds + 1):
        for vehicle in fleet:
            change = vehicle.move(chance)
            if chance.random() >= UNHEARD:
                for predicate in (vehicle.state, f"{vehicle.heading}Heading", change):
                    yield f"{predicate}({vehicle.name})@{second}"


def main() -> None:
    """Write the facts to standard output."""
    parser = argparse.ArgumentParser(description="Write a made-up traffic jam as text facts.")
    parser.add_argument("--seconds", type=int, default=200)
    parser.add_argument("--vehicles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for fact in traffic(options.seconds, options.vehicles, options.seed):
        print(fact)


if __name__ == "__main__":
    main()

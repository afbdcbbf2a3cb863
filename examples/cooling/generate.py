"""Writes made-up temperatures of water, reading by reading, as text facts: input for cooling.tide.

    python examples/cooling/generate.py --ticks 200 --seed 1 > temperatures.txt

A heater is switched on and off: for some time points the water grows warmer, to boiling and beyond, then it cools down, to
freezing. The readings of one time point lie a little apart, and now and then there are none. The same seed writes the same
facts.
"""

import argparse
import random
from collections.abc import Iterator

COLDEST, HOTTEST = -20.0, 180.0
STEP = 20.0
"""By how much the water can grow warmer or colder within a time point."""
APART = 2.0
"""How far a reading can lie from the water's temperature."""
SWITCHED = 0.12
"""How probable it is that the heater is switched at a time point."""
UNHEARD = 0.05
"""How probable it is that a time point has no reading."""


def temperatures(ticks: int, most: int, seed: int) -> Iterator[str]:
    """The facts of `ticks` time points, from 1 on, in the order of time, with up to `most` readings each."""
    chance = random.Random(seed)
    water, is_heated = 20.0, True
    for tick in range(1, ticks + 1):
        if chance.random() < SWITCHED:
            is_heated = not is_heated
        change = chance.uniform(0, STEP)
        water = min(HOTTEST, max(COLDEST, water + (change if is_heated else -change)))
        if chance.random() >= UNHEARD:
            readings = {round(water + chance.uniform(-APART, APART), 1) for _ in range(chance.randint(1, most))}
            yield from (f"temp({celsius})@{tick}" for celsius in sorted(readings))


def main() -> None:
    """Write the facts to standard output."""
    parser = argparse.ArgumentParser(description="Write made-up temperatures of water.")
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--most", type=int, default=3, help="the most readings at a time point (default 3)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for fact in temperatures(options.ticks, options.most, options.seed):
        print(fact)


if __name__ == "__main__":
    main()

"""Weather: daily temperature and wind of stations on a grid, and which states heat and heavy wind affect.

After the Weather Benchmark of Wang et al. (section 6.2), whose data are observations over a grid of the United States: four
rules without recursion, two for heat and two for wind. Hot and windy spells come at random and last for some days.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.batch.drawing import Drawing
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS, Timeline

SEED = 1
DAYS = 100
STATIONS_OF_A_STATE = 25
SPELL_BEGINS, SPELL_ENDS = 0.05, 0.25
"""How likely a spell begins on a day, and how likely it ends."""

RULES = """
timeline rational, resolution 0.5.
excessiveHeat(S) :- temperature(S, V), V >= 35.
heatAffected(State) :- inState(S, State), boxminus[0,2] excessiveHeat(S).
heavyWind(S) :- wind(S, V), V >= 14.
heavyWindAffected(State) :- inState(S, State), diamondminus[0,1] boxminus[0,1] heavyWind(S).
"""


@dataclass(slots=True)
class _Quantity:
    """What a station measures, on ordinary days and in a spell."""

    ordinary: tuple[int, int]
    extreme: tuple[int, int]
    in_spell: bool = False

    def next_day(self, draw: Drawing) -> int:
        chance = draw.random()
        self.in_spell = chance >= SPELL_ENDS if self.in_spell else chance < SPELL_BEGINS
        return draw.randint(*(self.extreme if self.in_spell else self.ordinary))


def weather(facts: int, timeline: Timeline, seed: int = SEED) -> Iterator[Record]:
    """So many facts: of each station its state, and for each of `DAYS` days temperature and wind over the whole day."""
    draw = Drawing(timeline, seed)
    day = timeline.encode_point(timeline.resolution) * int(1 / timeline.resolution)
    names = [f"state{number}" for number in range(facts // (2 * DAYS * STATIONS_OF_A_STATE) + 1)]
    for number in range(facts):
        station, which = divmod(number, 2 * DAYS + 1)
        if which == 0:
            name = f"station{station}"
            quantities = (("temperature", _Quantity((-10, 34), (33, 45))), ("wind", _Quantity((0, 12), (12, 30))))
            yield "inState", (name, names[station // STATIONS_OF_A_STATE]), NEG, POS
            continue
        predicate, quantity = quantities[(which - 1) % 2]
        begin = (which - 1) // 2 * day
        yield predicate, (name, quantity.next_day(draw)), begin, begin + day - 1

"""The two sides on which a model goes on for ever, behind all data and before them.

Times on the past side are mirrored (negated), so that both sides read the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PAST, FUTURE = -1, 1
SIDES = (PAST, FUTURE)


@dataclass(frozen=True, slots=True)
class Settled:
    """One side of a predicate's model, in times as they are seen from that side.

    Behind `start` it repeats after each `period`, or nothing changes if that is 0. What is stored is the model up to
    `end`; what the data say of the predicate, and of what it depends on, ends at `edge`. (`NEG`: nowhere.)
    """

    start: int
    period: int
    end: int
    edge: int


Sides = Mapping[int, Settled]
"""How a predicate goes on at both sides."""


def mirrored(side: int, lo: int, hi: int) -> tuple[int, int]:
    """A range as it is seen from one side, or back."""
    return (lo, hi) if side == FUTURE else (-hi, -lo)

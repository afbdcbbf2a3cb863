"""A ground theory: propositions, and Horn clauses between them at fixed distances on a discrete timeline.

Time is cut into *positions*, the integers. On dense time with the unit g, the position 2k is the time point k·g and the
position 2k+1 the open gap behind it; g divides every number of the program and its facts, so what holds somewhere
in a gap holds in all of it (the (Π,D)-intervals of Wałęga et al. 2023, section 3.3). On integers the position k is the
time k; or, where g is above 1 and no operator asks which integers follow each other, multiples of g and the gaps between
them take turns as on dense time.

A theory has a model exactly if the program and its facts, which it stands for, are consistent. In its models a proposition
of an atom of the program holds at least where that atom has to hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Literal = tuple[int, int]
"""A proposition (its number), and how many positions behind the clause's own it is looked at; before it, if negative."""


@dataclass(frozen=True, slots=True)
class Clause:
    """At each position t (of one `parity` alone, unless that is None): the body's literals, at t plus their offsets,
    imply the head at t plus its offset; without a head they exclude each other. A body is never empty."""

    head: Literal | None
    body: tuple[Literal, ...]
    parity: int | None = None


@dataclass(frozen=True, slots=True)
class Always:
    """The proposition `flag`, no clause's head, holds wherever `operand` holds there and at all positions behind it
    (`future`), or before it."""

    flag: int
    operand: int
    future: bool


@dataclass(frozen=True, slots=True)
class Given:
    """A proposition that holds from the position `low` to the position `high`, both included; None: without an end."""

    atom: int
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Theory:
    """What has to have a model over all integers as positions; propositions are numbered in the order of `names`.

    `is_dense`: even positions are points, odd ones gaps. `unit` is g, in the program's unit of time.
    """

    names: tuple[str, ...]
    clauses: tuple[Clause, ...]
    always: tuple[Always, ...]
    given: tuple[Given, ...]
    is_dense: bool
    unit: Fraction = Fraction(1)

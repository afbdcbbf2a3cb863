"""Theories in tests: grounding text, and the least model over a stretch of positions by trying every clause everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from batch.materialising import plan_of, records

from tidelog.operators.horn.grounding import ground
from tidelog.operators.horn.theory import Always, Clause, Theory

EDGE = 60
"""The last position of the stretch; what is near either end of it is not exact."""


def theory_of(text: str, facts: Iterable[str]) -> Theory:
    """The theory of a program and facts given as text."""
    plan = plan_of(text)
    return ground(plan, records(plan, facts))


def least_model(theory: Theory, edge: int = EDGE) -> list[set[int]]:
    """For each proposition the positions from -edge to edge at which it has to hold.

    Facts reach to the ends of the stretch where they have none, and `Always` looks no further.
    """
    held: list[set[int]] = [set() for _ in theory.names]
    for given in theory.given:
        low = -edge if given.low is None else given.low
        high = edge if given.high is None else given.high
        held[given.atom] |= set(range(low, high + 1))
    stretch = range(-edge, edge + 1)
    while any(
        [_apply(clause, held, stretch) for clause in theory.clauses] + [_mark(item, held, edge) for item in theory.always]
    ):
        pass
    return held


def _apply(clause: Clause, held: Sequence[set[int]], stretch: range) -> bool:
    if clause.head is None:
        return False
    head, offset = clause.head
    new = {t + offset for t in bodies(clause, held, stretch)} & set(stretch) - held[head]
    held[head].update(new)
    return bool(new)


def bodies(clause: Clause, held: Sequence[set[int]], stretch: range) -> set[int]:
    """The positions of a clause at which its whole body holds."""
    places = {t for t in stretch if clause.parity is None or t % 2 == clause.parity}
    return places.intersection(*({t - by for t in held[atom]} for atom, by in clause.body))


def _mark(item: Always, held: Sequence[set[int]], edge: int) -> bool:
    way = 1 if item.future else -1
    place = way * edge
    new = set()
    while place in held[item.operand]:
        new.add(place)
        place -= way
    new -= held[item.flag]
    held[item.flag].update(new)
    return bool(new)


def shown(theory: Theory, name: str) -> list[str]:
    """Where an atom holds, as intervals in units of the grid; an end at the stretch's edge (nearly) is infinite."""
    if name not in theory.names:
        return []
    held = sorted(least_model(theory)[theory.names.index(name)])
    begins = [t for t in held if t - 1 not in held]
    ends = [t for t in held if t + 1 not in held]
    return [_interval(lo, hi, theory.is_dense) for lo, hi in zip(begins, ends, strict=True)]


def _interval(lo: int, hi: int, is_dense: bool) -> str:
    factor = 2 if is_dense else 1
    left = "(-inf" if lo < 20 - EDGE else f"{'(' if is_dense and lo & 1 else '['}{lo // factor}"
    right = "inf)" if hi > EDGE - 20 else f"{-(-hi // factor)}{')' if is_dense and hi & 1 else ']'}"
    return f"{left},{right}"

"""Strata: which predicates are finished before others may ask what does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.components import components
from tidelog.plans.tree.names import predicates
from tidelog.plans.tree.syntax import Aggregate, Atom, Formula, Latest, Negation

Strata = tuple[tuple[str, ...], ...]


def strata_of(normal: NormalProgram) -> Strata:
    """The program's own predicates by stratum: each is above what it negates, and not below what it reads.

    Fresh predicates take part, but are not listed; a stratum of nothing else is left out.
    """
    return by_level({name: number for name, number in levels_of(normal).items() if name not in normal.origins})


def by_level(levels: Mapping[str, int]) -> Strata:
    """Names of one level each, from below; a level of nothing is left out."""
    return tuple(
        tuple(name for name, number in levels.items() if number == wanted) for wanted in sorted(set(levels.values()))
    )


def levels_of(normal: NormalProgram) -> dict[str, int]:
    """How far above the ground each predicate that rules mention stands, fresh ones too: so many negations, at most.

    What depends on its own negation, at earlier times or by constants, is finished as a whole: it waits for all that it
    reads, and what reads it waits for it.
    """
    reads = _reads(normal)
    level: dict[str, int] = {}
    whole = set(normal.split)
    for members in components(_feeds(reads)):
        if any(negated and name in members for member in members for name, negated in reads[member].items()):
            whole.update(members)
        below = [
            level[name] + (negated or name in whole or member in whole)
            for member in members
            for name, negated in reads[member].items()
            if name not in members
        ]
        level.update(dict.fromkeys(members, max(below, default=0)))
    return level


def _reads(normal: NormalProgram) -> dict[str, dict[str, bool]]:
    """For each predicate, those that its rules read, and whether one of them negates it."""
    reads: dict[str, dict[str, bool]] = {}
    for rule in normal.rules:
        head = rule.head.predicate if isinstance(rule.head, Atom) else ""
        for part in rule.body:
            for name in predicates(part):
                reads.setdefault(name, {})
                known = reads.setdefault(head, {})
                known[name] = known.get(name, False) or rule.assigns == "kept" or _waits(part)
    return reads


def _waits(part: Formula) -> bool:
    if isinstance(part, Aggregate):
        return part.threshold is None
    return isinstance(part, Negation | Latest)


def _feeds(reads: dict[str, dict[str, bool]]) -> dict[str, list[str]]:
    feeds: dict[str, list[str]] = {name: [] for name in reads}
    for head, name in _pairs(reads):
        feeds[name].append(head)
    return feeds


def _pairs(reads: dict[str, dict[str, bool]]) -> Iterator[tuple[str, str]]:
    for head, names in reads.items():
        for name in names:
            yield head, name

"""From a leaf of a derivation to a precondition: its variables get names that a user knows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from tidelog.operators.sld.comparisons.comparing import rename
from tidelog.operators.sld.leaves.leaves import Leaf
from tidelog.plans.plan.preconditions import START, Precondition, Slot


def precondition_of(leaf: Leaf, columns: Sequence[str]) -> Precondition:
    """The precondition that a leaf is; the query's columns keep their names."""
    names = _names(leaf, columns)
    written = {f"#{number}": name for number, name in enumerate(names)}
    comparisons = tuple(rename(item, written) for item in leaf.comparisons)
    streamed = tuple(premise for premise in leaf.premises if not premise.is_given)
    given = tuple(premise for premise in leaf.premises if premise.is_given)
    return Precondition(leaf.answer, streamed, leaf.negated, comparisons, tuple(names), given)


def _names(leaf: Leaf, columns: Sequence[str]) -> list[str]:
    """A name for each variable, none twice: a column's own, or what the rules call it, with a number if need be."""
    own = {t.variable: c for c, t in reversed(list(zip(columns, leaf.answer, strict=True))) if isinstance(t, Slot)}
    taken = {START, *columns}  # a column that is another one, or a constant, lends its name to nothing else
    names = dict[int, str]()
    for variable, called in enumerate(leaf.names):
        name = own.get(variable, called)
        if variable in own or not (name in taken or name.startswith("_")):
            taken.add(name)
            names[variable] = name
    for variable, called in enumerate(leaf.names):
        if variable not in names:
            names[variable] = _unused(called, taken)
            taken.add(names[variable])
    return [names[variable] for variable in range(len(leaf.names))]


def _unused(name: str, taken: set[str]) -> str:
    base, first = ("_", 1) if name.startswith("_") else (name.rstrip("0123456789") or name, 2)
    return next(new for k in count(first) if (new := f"{base}{k}") not in taken)

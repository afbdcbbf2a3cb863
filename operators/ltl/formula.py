"""Propositional formulas of linear temporal logic over the positions 0, 1, 2, …, with operators into the future alone.

Equal formulas are one object, so that shared parts are stored once, and comparing and hashing take no recursion however
deep a formula is. There is no `F` and no `U`: no theory needs them. Formulas are built with the functions of this module,
never with `Formula` itself.
"""

from __future__ import annotations

from enum import Enum
from typing import final
from weakref import WeakValueDictionary


class Kind(Enum):
    """What a formula's outermost connective is; the value is its sign in the common syntax of LTL solvers."""

    TRUE = "true"
    FALSE = "false"
    PROPOSITION = ""
    NOT = "!"
    AND = "&"
    OR = "|"
    IMPLIES = "->"
    NEXT = "X"
    ALWAYS = "G"


@final
class Formula:
    """A formula: its `kind`, the `name` of a proposition, its `operands` in order.

    `size` counts its nodes as a tree, as it is written; `depth` is how deep `X` is nested in it.
    """

    __slots__ = ("__weakref__", "depth", "kind", "name", "operands", "size")

    kind: Kind
    name: str
    operands: tuple[Formula, ...]
    size: int
    depth: int

    def __init__(self, kind: Kind, name: str, operands: tuple[Formula, ...]) -> None:
        self.kind = kind
        self.name = name
        self.operands = operands
        self.size = 1 + sum(part.size for part in operands)
        self.depth = max((part.depth for part in operands), default=0) + (kind is Kind.NEXT)

    def __repr__(self) -> str:
        return f"<formula {self.kind.name.lower()} {self.name} of {self.size} nodes>"


_known: WeakValueDictionary[tuple[Kind, str, tuple[Formula, ...]], Formula] = WeakValueDictionary()


def _make(kind: Kind, *operands: Formula, name: str = "") -> Formula:
    key = (kind, name, operands)
    found = _known.get(key)
    if found is None:
        found = _known[key] = Formula(kind, name, operands)
    return found


TRUE = _make(Kind.TRUE)
FALSE = _make(Kind.FALSE)


def proposition(name: str) -> Formula:
    """The proposition of a name: a letter, then letters, digits or `_`, if solvers are to read it."""
    return _make(Kind.PROPOSITION, name=name)


def negation(operand: Formula) -> Formula:
    """`!p`."""
    return _make(Kind.NOT, operand)


def conjunction(*operands: Formula) -> Formula:
    """`p & q & …`; `true` without operands."""
    return operands[0] if len(operands) == 1 else _make(Kind.AND, *operands) if operands else TRUE


def disjunction(*operands: Formula) -> Formula:
    """`p | q | …`; `false` without operands."""
    return operands[0] if len(operands) == 1 else _make(Kind.OR, *operands) if operands else FALSE


def implication(premise: Formula, conclusion: Formula) -> Formula:
    """`p -> q`."""
    return _make(Kind.IMPLIES, premise, conclusion)


def following(operand: Formula, times: int = 1) -> Formula:
    """`X p`, or `X X … p`.

    >>> following(proposition("p"), 3).depth
    3
    """
    for _ in range(times):
        operand = _make(Kind.NEXT, operand)
    return operand


def always(operand: Formula) -> Formula:
    """`G p`: now and at all later positions."""
    return _make(Kind.ALWAYS, operand)

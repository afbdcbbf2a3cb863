"""The bounds on memory that the theory gives: Theorems 12 and 15 of Wałęga et al. 2023."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Literal

from tidelog.plans.analysis.horizons.extent import Extent
from tidelog.plans.analysis.horizons.forward import Obstacle
from tidelog.plans.data.refining import common_divisor
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.syntax import Arithmetic, Atom, Comparison, Formula, Rule, Unary, Variable
from tidelog.plans.tree.traverse import children

_MAX_BITS = 1 << 20
"""The length of the largest number that is computed; a bound beyond it is told as a formula alone."""


@dataclass(frozen=True, slots=True)
class MemoryBound:
    """At most `factor` · nᴬ facts in window and history, for n distinct constants (`objects`); A is `exponent`.

    n counts the constants of the stream, of the program and of its background. `factor` is None where the theorem does not
    apply; then `why` says why, otherwise what the bound rests on.
    """

    theorem: Literal[12, 15]
    factor: Fraction | None
    exponent: int
    why: str

    def value(self, objects: int) -> int | None:
        """The bound for so many distinct constants, exactly; None without a bound, or beyond a million bits."""
        if objects < 0:
            raise ValueError(f"the number of constants cannot be {objects}")
        if self.factor is None or objects.bit_length() * self.exponent > _MAX_BITS:
            return None
        power: int = objects**self.exponent
        return math.floor(self.factor * power)


@dataclass(frozen=True, slots=True)
class Signature:
    """The numbers of Π in the theorems: its predicates P, the largest arity A among them, its rules R."""

    predicates: int
    arity: int
    rules: int


def signature_of(normal: NormalProgram) -> Signature:
    """P, A and R of the normalised rules."""
    arities: dict[str, int] = {}
    for rule in normal.rules:
        for atom in _atoms((rule.head, *rule.body)):
            arities[atom.predicate] = len(atom.arguments)
    return Signature(len(arities), max(arities.values(), default=0), len(normal.rules))


def memory_bounds(
    normal: NormalProgram, extent: Extent, forward: tuple[Obstacle, ...], spacing: Fraction, step: Fraction
) -> tuple[MemoryBound, MemoryBound]:
    """Both bounds, for a stream whose timestamps are multiples of `spacing`, read in steps of `step`.

    They bound the facts in 𝒲 ∪ ℋ of the paper's algorithms, which store each predicate of the normal form once.
    """
    signature = signature_of(normal)
    obstacle = _obstacle(normal, forward)
    return (
        _theorem_12(signature, extent, obstacle, (spacing, step)),
        _theorem_15(signature, extent, obstacle, step),
    )


def _theorem_12(signature: Signature, extent: Extent, obstacle: str, grid: tuple[Fraction, Fraction]) -> MemoryBound:
    """(4 · ((t_Π + step) / gcd(𝕋 ∪ ℕ ∪ {step}) + 1)² + 1) · P · |O|ᴬ, where ℕ are the endpoints in Π."""
    if obstacle:
        return MemoryBound(12, None, signature.arity, obstacle)
    spacing, step = grid
    divisor = greatest_common_divisor([spacing, step, *extent.endpoints])
    points = (extent.window + step) / divisor + 1
    why = f"timestamps are multiples of {spacing}, read in steps of {step}"
    return MemoryBound(12, (4 * points**2 + 1) * signature.predicates, signature.arity, why)


def _theorem_15(signature: Signature, extent: Extent, obstacle: str, step: Fraction) -> MemoryBound:
    """9 · (2 · (t_Π / gran(Π) + 2) · R · (t_Π + step) / K)² · P · |O|ᴬ, whatever the stream's timestamps are.

    The product R · (t_Π + step) / K is the proof's: the number of sums of endpoints that a fact can begin at. (Copies of
    the theorem's statement show it as a power of R.) The proof counts one endpoint of one rule in each sum, which is
    right for steps of up to K; within a longer step endpoints of several rules add up, so `why` then says that the
    figure is the paper's alone. Where no endpoint is above 0 there are no sums, and the factor is 1.
    """
    if not obstacle and extent.granularity == 0:
        obstacle = f"the granularity is 0: `{extent.granularity_rule}` has a punctual interval"
    if obstacle:
        return MemoryBound(15, None, signature.arity, obstacle)
    gaps = extent.window / extent.granularity if isinstance(extent.granularity, Fraction) else Fraction(0)
    sums = Fraction(1) if extent.least is None else signature.rules * (extent.window + step) / extent.least
    factor = 9 * (2 * (gaps + 2) * sums) ** 2 * signature.predicates
    why = f"whatever the timestamps are, read in steps of {step}"
    if extent.least is not None and step > extent.least:
        why += f"; the paper's figure, proven for steps of up to {extent.least} alone"
    return MemoryBound(15, factor, signature.arity, why)


def greatest_common_divisor(numbers: Iterable[Fraction]) -> Fraction:
    """The greatest rational that divides all numbers without a rest; 0 if all are 0."""
    return reduce(common_divisor, numbers, Fraction(0))


# --- where the theorems apply -------------------------------------------------------------------------------------------


def _obstacle(normal: NormalProgram, forward: tuple[Obstacle, ...]) -> str:
    """Why the theorems do not apply to a program; empty where they do."""
    if not normal.rules:
        return "the program has no rules"
    if forward:
        return f"the program is not forward-propagating: {forward[0].what}"
    for rule in normal.rules:
        body = rule.body[0]
        if isinstance(body, Unary) and body.operator.startswith("box") and not isinstance(body.interval.high, Fraction):
            return f"`{format_statement(rule)}` looks back without end"
        if computes_values(rule):
            return f"`{format_statement(rule)}` computes constants that are in no stream"
    return ""


def computes_values(rule: Rule) -> bool:
    """Whether a rule binds a variable to the value of an expression."""
    atoms = [part for part in rule.body if not isinstance(part, Comparison)]
    return any(binds_value(part, set(variables(*atoms))) for part in rule.body if isinstance(part, Comparison))


def binds_value(comparison: Comparison, bound: set[str]) -> bool:
    """Whether a comparison gives a variable that no atom binds the value of an expression."""
    sides = ((comparison.left, comparison.right), (comparison.right, comparison.left))
    return comparison.operator == "=" and any(
        isinstance(variable, Variable) and variable.name not in bound and isinstance(value, Arithmetic)
        for variable, value in sides
    )


def _atoms(formulas: Iterable[Formula]) -> Iterator[Atom]:
    for formula in formulas:
        if isinstance(formula, Atom):
            yield formula
        yield from _atoms(children(formula))

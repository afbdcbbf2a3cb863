"""From an LTL formula to clauses: some that hold at 0, some that hold everywhere, and eventualities.

The literals of a clause are propositions, or their complements, at distances ahead. `X` moves into the distances, and
whatever cannot stand in a clause gets a proposition of its own that implies it everywhere (Fisher's separated normal
form; with one direction alone, as Plaisted and Greenbaum do it, since negations have been moved inwards). The clauses
have a model exactly if the formula has one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.operators.ltl.formula import TRUE, Formula, Kind
from tidelog.plans.diagnostics.errors import MethodError

Clause = tuple[tuple[int, int], ...]
"""One of these literals holds, each `(distance ahead, literal)`, sorted; 2·v is the variable v, 2·v+1 its complement."""

MAX_LITERALS = 5_000_000
"""The most literals that all clauses together may have."""


@dataclass(frozen=True, slots=True)
class ClausalForm:
    """Clauses at the position 0 (`first`) and at all positions (`everywhere`).

    Each of `eventualities` is a pair of literals: it must not be, from some position on, that the first one always holds and
    the second never.
    """

    first: tuple[Clause, ...]
    everywhere: tuple[Clause, ...]
    eventualities: tuple[tuple[int, int], ...]


def clausal_form(formula: Formula, max_literals: int = MAX_LITERALS) -> ClausalForm:
    """The clauses of a formula; MethodError if they have more literals than the limit."""
    return _Clausifier(max_literals).form(formula)


_Part = tuple[Formula, int, bool]
"""A formula, how far ahead it is meant, and whether it is meant itself, or its negation."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """One of the literals or parts holds: at the position 0, or everywhere."""

    is_everywhere: bool
    literals: tuple[tuple[int, int], ...]
    parts: tuple[_Part, ...]


@dataclass
class _Clausifier:
    max_literals: int
    claims: deque[_Claim] = field(default_factory=deque)
    named: dict[object, int] = field(default_factory=dict)
    first: dict[Clause, None] = field(default_factory=dict)
    everywhere: dict[Clause, None] = field(default_factory=dict)
    eventualities: list[tuple[int, int]] = field(default_factory=list)
    written: int = 0

    def form(self, formula: Formula) -> ClausalForm:
        self.claims.append(_Claim(False, (), ((formula, 0, True),)))
        while self.claims:
            self._settle(self.claims.popleft())
        return ClausalForm(tuple(self.first), tuple(self.everywhere), tuple(self.eventualities))

    def _settle(self, claim: _Claim) -> None:
        """A claim becomes a clause, or simpler claims."""
        literals, rest, is_true = self._flatten(claim)
        if is_true:
            return
        if len(rest) == 1 and self._distribute(claim.is_everywhere, literals, rest[0]):
            return
        literals += [(ahead, self._name(part, is_meant)) for part, ahead, is_meant in rest]
        clause = tuple(sorted(set(literals)))
        found = {*clause}
        if any((ahead, literal ^ 1) in found for ahead, literal in clause):
            return
        self.written += 1 + len(clause)
        if self.written > self.max_literals:
            raise MethodError(f"the LTL formula's clauses have more than {self.max_literals:,} literals")
        (self.everywhere if claim.is_everywhere else self.first)[clause] = None

    def _flatten(self, claim: _Claim) -> tuple[list[tuple[int, int]], list[_Part], bool]:
        """A claim's literals, what else it is a disjunction of, and whether it is true anyway."""
        literals, rest, waiting = list(claim.literals), list[_Part](), list(claim.parts)
        while waiting:
            part, ahead, is_meant = waiting.pop()
            if part.kind is Kind.PROPOSITION:
                literals.append((ahead, self._variable(part) * 2 + (not is_meant)))
            elif part.kind in (Kind.TRUE, Kind.FALSE):
                if (part is TRUE) == is_meant:
                    return [], [], True
            elif part.kind in (Kind.NOT, Kind.NEXT):
                waiting.append((part.operands[0], ahead + (part.kind is Kind.NEXT), is_meant != (part.kind is Kind.NOT)))
            elif _is_conjunction(part, is_meant) or part.kind is Kind.ALWAYS:
                rest.append((part, ahead, is_meant))
            else:
                waiting += _operands(part, ahead, is_meant)
        return literals, rest, False

    def _distribute(self, is_everywhere: bool, literals: Sequence[tuple[int, int]], part: _Part) -> bool:
        """Take one part apart where that costs nothing: a conjunction, or a `G` that is claimed everywhere already."""
        formula, ahead, is_meant = part
        if _is_conjunction(formula, is_meant):
            self.claims += [_Claim(is_everywhere, tuple(literals), (item,)) for item in _operands(formula, ahead, is_meant)]
            return True
        if formula.kind is Kind.ALWAYS and is_meant and not literals and (is_everywhere or not ahead):
            self.claims.append(_Claim(True, (), ((formula.operands[0], ahead, is_meant),)))
            return True
        return False

    def _variable(self, key: object) -> int:
        return self.named.setdefault(key, len(self.named))

    def _name(self, formula: Formula, is_meant: bool) -> int:
        """A literal that implies a part, wherever it holds."""
        key = (formula, is_meant)
        is_new = key not in self.named
        name = self._variable(key) * 2
        if is_new:
            self._define(name, formula, is_meant)
        return name

    def _define(self, name: int, formula: Formula, is_meant: bool) -> None:
        """`formula` is a conjunction, or a `G`; or it is a `G` that is denied, which is an eventuality."""
        here, later = (0, name ^ 1), (1, name)
        if _is_conjunction(formula, is_meant):
            for part in _operands(formula, 0, is_meant):
                self._claim((here,), part)
        elif is_meant:
            self._claim((here,), (formula.operands[0], 0, True))
            self._claim((here, later))
        else:
            goal = self._literal(formula.operands[0], False)
            self._claim((here, (0, goal), later))
            self.eventualities.append((name, goal))

    def _claim(self, literals: tuple[tuple[int, int], ...], *parts: _Part) -> None:
        self.claims.append(_Claim(True, literals, parts))

    def _literal(self, formula: Formula, is_meant: bool) -> int:
        """A literal for any formula: its own where it is one, else a new one that implies it."""
        while formula.kind is Kind.NOT:
            formula, is_meant = formula.operands[0], not is_meant
        if formula.kind is Kind.PROPOSITION:
            return self._variable(formula) * 2 + (not is_meant)
        key = ("goal", formula, is_meant)
        is_new = key not in self.named
        name = self._variable(key) * 2
        if is_new:
            self._claim(((0, name ^ 1),), (formula, 0, is_meant))
        return name


def _is_conjunction(formula: Formula, is_meant: bool) -> bool:
    return formula.kind is Kind.AND if is_meant else formula.kind in (Kind.OR, Kind.IMPLIES)


def _operands(formula: Formula, ahead: int, is_meant: bool) -> Iterable[_Part]:
    """What a formula, or its negation, is a conjunction or a disjunction of."""
    for number, operand in enumerate(formula.operands):
        is_premise = formula.kind is Kind.IMPLIES and number == 0
        yield operand, ahead, is_meant != is_premise

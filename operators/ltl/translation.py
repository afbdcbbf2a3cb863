"""From a ground Horn theory over all integers to one LTL formula over 0, 1, 2, … (Wałęga et al. 2023, 4.2).

The data are moved to begin at 0, so that they nest as few `X` as there are positions between them, however far from 0 their
times are. There the timeline is folded: each proposition has two copies, `r` at n for the position n, `l` at n for the
position -1-n. So there are no operators into the past: what looks back on one side looks ahead on the other. A clause whose
literals lie on one side is one `G`, at every position of that side; those of its instances that straddle the fold are
written one by one. The formula is satisfiable exactly if the theory has a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tidelog.operators.horn.theory import Always, Clause, Given, Literal, Theory
from tidelog.operators.ltl.formula import (
    FALSE,
    TRUE,
    Formula,
    Kind,
    always,
    conjunction,
    disjunction,
    following,
    implication,
    negation,
    proposition,
)
from tidelog.plans.diagnostics.errors import MethodError

MAX_NODES = 1_000_000
"""The largest formula: as text, some 3 MB."""


@dataclass(frozen=True, slots=True)
class Translation:
    """An LTL formula that stands for a theory; `names` say what its propositions are, as `r0, l0` → `p(a)`.

    `begin` is the theory's position where the formula's data begin, at 0; None where no data have a begin or an end. On
    dense time it is even, and the data begin there or in the gap behind it. `unit` is the theory's.
    """

    formula: Formula
    names: Mapping[str, str]
    is_dense: bool
    begin: int | None
    unit: Fraction


def translate(theory: Theory, max_nodes: int = MAX_NODES) -> Translation:
    """The formula that is satisfiable exactly if the theory has a model; MethodError if it is too large.

    It is told from where the data begin: the formula's position n is the theory's at as much behind `begin`.

    >>> from tidelog.operators.ltl.printing import to_text
    >>> step = Clause((0, 1), ((0, 0),))
    >>> to_text(translate(Theory(("p",), (step,), (), (Given(0, 1, 1),), False)).formula)
    'r0 & (l0 -> r0) & G (r0 -> X r0) & G (X l0 -> l0)'
    """
    begin = _begin(theory)
    moved = theory if begin is None else replace(theory, given=tuple(_moved(given, -begin) for given in theory.given))
    formula = _Translator(moved, max_nodes).formula()
    return Translation(formula, _names(theory), theory.is_dense, begin, theory.unit)


def _begin(theory: Theory) -> int | None:
    """The first finite position of the data; on dense time the even one before it, as parity has to stay what it is."""
    ends = (given.high if given.low is None else given.low for given in theory.given)
    first = min((end for end in ends if end is not None), default=None)
    if first is None:
        return None
    has_parity = theory.is_dense or any(clause.parity is not None for clause in theory.clauses)
    return first - first % 2 if has_parity else first


def _moved(given: Given, by: int) -> Given:
    low, high = given.low, given.high
    return Given(given.atom, None if low is None else low + by, None if high is None else high + by)


def _names(theory: Theory) -> dict[str, str]:
    names = {f"r{number}, l{number}": name for number, name in enumerate(theory.names)}
    for number, item in enumerate(theory.always):
        side = "before 0: from there on" if item.future else "from 0 on: up to there"
        names[f"a{number}"] = f"{side}, always {theory.names[item.operand]}"
    return names


@dataclass(frozen=True, slots=True)
class _Rule:
    """Any of the `bodies` implies the head: clauses whose single body literals differ in offset alone (a ◇) are one rule."""

    head: Literal | None
    bodies: tuple[tuple[Literal, ...], ...]
    parity: int | None

    def literals(self) -> Iterator[Literal]:
        for body in self.bodies:
            yield from body
        if self.head is not None:
            yield self.head


@dataclass
class _Translator:
    theory: Theory
    max_nodes: int
    starts: dict[int, list[Formula]] = field(default_factory=dict)
    """What holds at one position, for each: data, and instances at the fold."""
    everywhere: list[Formula] = field(default_factory=list)
    nodes: int = 0

    def formula(self) -> Formula:
        for given in self.theory.given:
            self._add_given(given)
        rules = tuple(_merged(self.theory.clauses))
        if any(rule.parity is not None for rule in rules):
            self._add_clock()
        for rule in rules:
            self._add_rule(rule)
        for number, item in enumerate(self.theory.always):
            self._add_always(number, item)
        started = [(position, formula) for position, formulas in self.starts.items() for formula in formulas]
        first = _nested(started, conjunction) if started else TRUE
        return conjunction(*_conjuncts(first), *dict.fromkeys(self.everywhere))

    def _start(self, position: int, formula: Formula) -> None:
        self._require_room(position)
        self._count(formula)
        self.starts.setdefault(position, []).append(formula)

    def _count(self, formula: Formula) -> None:
        self.nodes += formula.size
        if self.nodes > self.max_nodes:
            raise MethodError(f"the LTL formula would have more than {self.max_nodes:,} nodes")

    def _add_given(self, given: Given) -> None:
        """Its begin, or its end where it has no begin, is 0 or more."""
        right = _copy("r", given.atom)
        first = given.low or 0
        if given.high is None:
            self._start(first, always(right))
        else:
            self._require_room(given.high)
            for position in range(first, given.high + 1):
                self._start(position, right)
        if given.low is None:
            self._start(0, always(_copy("l", given.atom)))

    def _add_clock(self) -> None:
        even = proposition("even")
        self._start(0, even)
        self.everywhere.append(always(implication(even, following(negation(even)))))
        self.everywhere.append(always(implication(negation(even), following(even))))

    def _add_rule(self, rule: _Rule) -> None:
        offsets = [offset for _, offset in rule.literals()]
        low, high = min(offsets, default=0), max(offsets, default=0)
        self._require_room(high - low)
        right = _written(rule, lambda offset: ("r", offset - low))
        self._everywhere(right, None if rule.parity is None else (rule.parity + low) % 2)
        left = _written(rule, lambda offset: ("l", high - offset))
        self._everywhere(left, None if rule.parity is None else (rule.parity + 1 + high) % 2)
        for position in range(-high, -low):
            if rule.parity in (None, position % 2):
                self._at_fold(rule, position)

    def _everywhere(self, formula: Formula, parity: int | None) -> None:
        if parity is not None:
            even = proposition("even")
            formula = implication(negation(even) if parity else even, formula)
        self._count(formula)
        self.everywhere.append(always(formula))

    def _at_fold(self, rule: _Rule, position: int) -> None:
        """One instance with literals on both sides of 0, as late as its first literal, so that it nests less `X`."""
        first = min(_folded(position + offset)[1] for _, offset in rule.literals())

        def place(offset: int) -> tuple[str, int]:
            side, depth = _folded(position + offset)
            return side, depth - first

        self._start(first, _written(rule, place))

    def _add_always(self, number: int, item: Always) -> None:
        """On the side that it looks to, one `G`; on the other it also needs all of what lies between there and 0."""
        ahead, behind = ("r", "l") if item.future else ("l", "r")
        whole = always(_copy(ahead, item.operand))
        self._everywhere(implication(whole, _copy(ahead, item.flag)), None)
        reaches, operand = proposition(f"a{number}"), _copy(behind, item.operand)
        self._start(0, implication(conjunction(whole, operand), reaches))
        self._everywhere(implication(conjunction(reaches, following(operand)), following(reaches)), None)
        self._everywhere(implication(reaches, _copy(behind, item.flag)), None)

    def _require_room(self, depth: int) -> None:
        if depth > self.max_nodes:
            raise MethodError(f"the LTL formula would nest {depth:,} `X`: it may have {self.max_nodes:,} nodes")


def _merged(clauses: Iterable[Clause]) -> Iterator[_Rule]:
    grouped: dict[object, list[Clause]] = {}
    for clause in map(_at_head, dict.fromkeys(clauses)):
        is_simple = clause.head is not None and len(clause.body) == 1
        key = (clause.head, clause.parity, clause.body[0][0]) if is_simple else clause
        grouped.setdefault(key, []).append(clause)
    for group in grouped.values():
        yield _Rule(group[0].head, tuple(sorted({tuple(sorted(clause.body)) for clause in group})), group[0].parity)


def _at_head(clause: Clause) -> Clause:
    """The same clause, told from its head's position."""
    if clause.head is None or clause.head[1] == 0:
        return clause
    atom, shift = clause.head
    body = tuple((number, offset - shift) for number, offset in clause.body)
    return Clause((atom, 0), body, None if clause.parity is None else (clause.parity + shift) % 2)


Place = Callable[[int], tuple[str, int]]
"""Which copy a literal with an offset is, and at which position of the formula."""


def _written(rule: _Rule, place: Place) -> Formula:
    bodies = [_placed(body, place) for body in rule.bodies]
    head = FALSE if rule.head is None else _nested([_at(rule.head, place)], disjunction)
    if len(bodies) == 1:
        return _implied(_nested(bodies[0], conjunction), head) if bodies[0] else head
    return implication(_nested([literal for body in bodies for literal in body], disjunction), head)


def _implied(body: Formula, head: Formula) -> Formula:
    return negation(body) if head is FALSE else implication(body, head)


def _placed(body: Iterable[Literal], place: Place) -> list[tuple[int, Formula]]:
    return [_at(literal, place) for literal in body]


def _at(literal: Literal, place: Place) -> tuple[int, Formula]:
    side, position = place(literal[1])
    return position, _copy(side, literal[0])


def _nested(placed: Iterable[tuple[int, Formula]], join: Callable[..., Formula]) -> Formula:
    """`p & X (q & X r)`, or the same with `|`: each formula at its position, in one chain."""
    by_position: dict[int, list[Formula]] = {}
    for position, formula in placed:
        by_position.setdefault(position, []).append(formula)
    chain: tuple[Formula, ...] = ()
    last = max(by_position)
    for position in sorted(by_position, reverse=True):
        chain, last = (*dict.fromkeys(by_position[position]), *_delayed(chain, last - position, join)), position
    return following(join(*chain), last)


def _delayed(chain: tuple[Formula, ...], times: int, join: Callable[..., Formula]) -> tuple[Formula, ...]:
    return (following(join(*chain), times),) if chain else ()


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    if formula.kind is Kind.AND:
        return formula.operands
    return () if formula is TRUE else (formula,)


def _copy(side: str, number: int) -> Formula:
    return proposition(f"{side}{number}")


def _folded(position: int) -> tuple[str, int]:
    return ("r", position) if position >= 0 else ("l", -1 - position)

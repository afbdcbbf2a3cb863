"""A naive evaluator: the immediate consequence operator of Wałęga et al. 2023, section 2, until nothing is new.

It shares nothing with the engine but the syntax tree. Every formula of every rule instance is evaluated, by its line in
Table 1, at every cell of a finite stretch of time, the horizon (`oracle.grid`). What lies beyond the horizon is taken
to be as its first and its last cell are; `oracle.reach` says how wide a horizon has to be, and which answers are right.

Conventions, where the language leaves room:

* The domain of a rule instance's variables is the constants that occur, and one constant that occurs nowhere: only
  a variable that stands on the left side of since or until alone can take it.
* `always M in [n]` does not hold before the start of the stream; a start of None is the begin of the earliest fact.
* An ordering comparison of a text with a number is false; arithmetic without a value silences the rule instance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, pairwise

from oracle.grid import FUTURE, PAST, Cells, Grid, common_step
from oracle.grounding import (
    Row,
    atoms,
    constants,
    is_bottom,
    parts,
    substitutions,
    unsafe_variables,
    variables,
    without_wildcards,
)
from oracle.values import Undefined, canonical, compare, evaluate_expression
from tidelog.plans.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    FactStatement,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    TimelineDeclaration,
    Truth,
    Unary,
    Value,
    Window,
)

GroundFact = tuple[str, Row, Interval]
"""A fact as the oracle takes it: its predicate, its row, and the interval at which it holds."""

ALWAYS = Interval(-math.inf, math.inf)
OTHER: Value = "\0other"
"""The constant that occurs nowhere: it stands for all those that a program and its facts do not mention."""

_DIRECTION = {
    "diamondminus": PAST,
    "boxminus": PAST,
    "since": PAST,
    "diamondplus": FUTURE,
    "boxplus": FUTURE,
    "until": FUTURE,
}


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint's body holds: the constraint's number among the rules, its named variables, and when."""

    rule: int
    binding: tuple[tuple[str, Value], ...]
    point: Fraction


@dataclass
class Model:
    """The least model over the horizon, for a program without errors; `violations` are its broken constraints."""

    grid: Grid
    coverage: Mapping[str, Mapping[Row, set[int]]]
    violations: set[Violation] = field(default_factory=set)

    def times(self) -> list[Fraction]:
        """Every sample point of the horizon: the points and, on dense time, the middles of the gaps."""
        return [self.grid.time(cell) for cell in range(self.grid.size)]

    def holds(self, predicate: str, row: Row, point: Fraction | int) -> bool:
        """Whether the row holds at a time of the horizon; ValueError for a time outside."""
        first, last = self.grid.meeting(Interval(Fraction(point), Fraction(point)))
        if not 0 <= first <= last < self.grid.size:
            raise ValueError(f"{point} is no time of the horizon")
        return first in self._cells(predicate, row)

    def rows(self, predicate: str) -> set[Row]:
        """The rows that hold at some time."""
        return {row for row, cells in self.coverage.get(predicate, {}).items() if cells}

    def points(self, predicate: str, row: Row) -> list[Fraction]:
        """The sample points at which the row holds, in order."""
        return [self.grid.time(cell) for cell in sorted(self._cells(predicate, row))]

    def intervals(self, predicate: str) -> dict[Row, list[tuple[Fraction, Fraction]]]:
        """For each row its maximal runs, each by its first and last sample point."""
        found: dict[Row, list[tuple[Fraction, Fraction]]] = {}
        for row in self.rows(predicate):
            cells = sorted(self._cells(predicate, row))
            breaks = [index for index, (a, b) in enumerate(pairwise(cells), 1) if b > a + 1]
            runs = [cells[a:b] for a, b in pairwise([0, *breaks, len(cells)])]
            found[row] = [(self.grid.time(run[0]), self.grid.time(run[-1])) for run in runs]
        return found

    def _cells(self, predicate: str, row: Row) -> set[int]:
        return self.coverage.get(predicate, {}).get(tuple(map(canonical, row)), set())


def evaluate(
    program: Program,
    facts: Iterable[GroundFact],
    *,
    low: Fraction | int,
    high: Fraction | int,
    start: Fraction | int | None = None,
    rounds: int = 2000,
) -> Model:
    """The least model of a program and facts over the horizon [low, high].

    All finite ends of facts must lie within the horizon. Raises ValueError for what the oracle does not cover (`@T`,
    tuple and stepped windows, units), for unsafe rules and for negation in a cycle, RuntimeError where a stratum
    is not done after `rounds` rounds.
    """
    given = list(facts)
    rules = rules_of(program)
    for number, rule in enumerate(rules):
        check(rule, number)
    grid = make_grid(program, given, Fraction(low), Fraction(high), start)
    evaluation = _Evaluation(grid, _start_cell(grid, given, start))
    for predicate, row, interval in [*given, *program_facts(program)]:
        evaluation.add(predicate, tuple(map(canonical, row)), _cells_of(grid, interval))
    evaluation.domain |= {value for rule in rules for part in (rule.head, *rule.body) for value in constants(part)}
    for stratum in strata(rules):
        evaluation.run([without_anonymous(rule) for rule in stratum], rounds)
    for number, rule in enumerate(rules):
        if is_bottom(rule.head):
            evaluation.constrain(number, without_anonymous(rule))
    return Model(grid, evaluation.coverage, evaluation.violations)


# --- the program --------------------------------------------------------------------------------------------------


def rules_of(program: Program) -> list[Rule]:
    """The rules in order; their index is their number in violations."""
    return [statement for statement in program.statements if isinstance(statement, Rule)]


def program_facts(program: Program) -> list[GroundFact]:
    """The facts that the program's own text states."""
    return [
        (
            statement.atom.predicate,
            tuple(evaluate_expression(argument, {}) for argument in statement.atom.arguments),
            statement.interval or ALWAYS,
        )
        for statement in program.statements
        if isinstance(statement, FactStatement)
    ]


def is_dense(program: Program) -> bool:
    """Whether the program's timeline is the rational one."""
    kinds = [statement.kind for statement in program.statements if isinstance(statement, TimelineDeclaration)]
    return kinds != ["integer"]


def check(rule: Rule, number: int) -> None:
    """ValueError if the rule is unsafe or uses what the oracle does not cover."""
    unsafe = unsafe_variables(rule)
    if unsafe:
        raise ValueError(f"rule {number} does not bind {', '.join(sorted(unsafe))}")
    for formula in (rule.head, *rule.body):
        _check_formula(formula)


def _check_formula(formula: Formula) -> None:
    if isinstance(formula, Atom) and formula.at is not None:
        raise ValueError("the oracle does not cover `@T`")
    if isinstance(formula, Window):
        size = formula.window
        if size.tuples or size.step is not None or size.size_unit or formula.mode == "at":
            raise ValueError("the oracle covers `in [n]` alone")
    if isinstance(formula, Unary | Binary):
        interval = formula.interval
        if interval.low_unit or interval.high_unit:
            raise ValueError("the oracle takes numbers without a unit")
        if interval.low < 0 or interval.low > interval.high:
            raise ValueError(f"not an operator's interval: {interval}")
    for part in parts(formula):
        _check_formula(part)


def without_anonymous(rule: Rule) -> Rule:
    """The rule with a variable of its own for each `_`."""
    numbers = count()
    return Rule(rule.head, tuple(without_wildcards(part, numbers) for part in rule.body))


def head_atom(head: Formula) -> Atom | None:
    """The atom under a head's boxes; None for `bottom` and `top`."""
    while isinstance(head, Unary):
        head = head.operand
    return head if isinstance(head, Atom) else None


def strata(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules with an atom in the head, by strata: each negates only what strata before it derive."""
    level: dict[str, int] = defaultdict(int)
    derived = [(atom.predicate, rule) for rule in rules if (atom := head_atom(rule.head)) is not None]
    for _ in range(len(derived) + 2):
        before = dict(level)
        for predicate, rule in derived:
            for atom, negative in (item for part in rule.body for item in atoms(part)):
                level[predicate] = max(level[predicate], level[atom.predicate] + negative)
        if level == before:
            numbers = sorted({level[predicate] for predicate, _ in derived})
            return [[rule for predicate, rule in derived if level[predicate] == number] for number in numbers]
    raise ValueError("a cycle goes through negation")


# --- time ---------------------------------------------------------------------------------------------------------


def finite_numbers(program: Program, facts: Iterable[GroundFact]) -> Iterator[Fraction]:
    """Every finite time and distance that the program's operators and the facts mention."""
    for _, _, interval in [*facts, *program_facts(program)]:
        yield from (end for end in (interval.low, interval.high) if isinstance(end, Fraction | int))
    formulas = [part for rule in rules_of(program) for part in (rule.head, *rule.body)]
    while formulas:
        formula = formulas.pop()
        formulas.extend(parts(formula))
        if isinstance(formula, Unary | Binary):
            ends = (formula.interval.low, formula.interval.high)
            yield from (end for end in ends if isinstance(end, Fraction | int))
        elif isinstance(formula, Window) and isinstance(formula.window.size, Fraction | int):
            yield formula.window.size


def make_grid(
    program: Program, facts: Iterable[GroundFact], low: Fraction, high: Fraction, start: Fraction | int | None
) -> Grid:
    """The cells of [low, high]; their step divides every number of the program, the facts and the horizon."""
    numbers = [*finite_numbers(program, facts), low, high, Fraction(start or 0)]
    step = common_step(map(Fraction, numbers))
    if is_dense(program):
        return Grid(True, step, low, int((high - low) / step) * 2 + 1)
    if step.denominator != 1:
        raise ValueError("an integer timeline has whole times and distances")
    return Grid(False, Fraction(1), low, int(high - low) + 1)


def _cells_of(grid: Grid, interval: Interval) -> set[int]:
    first, last = grid.meeting(interval)
    for end in (first, last):
        if math.isfinite(end) and not 0 <= end < grid.size:
            raise ValueError(f"{interval} does not lie within the horizon")
    return set(range(grid.clamp(first), grid.clamp(last) + 1)) if first <= last else set()


def _start_cell(grid: Grid, facts: Iterable[GroundFact], start: Fraction | int | None) -> float:
    """The cell with which the stream starts; before it, clipped windows hold nothing."""
    if start is not None:
        return grid.meeting(Interval(Fraction(start), Fraction(start)))[0]
    return min((grid.meeting(interval)[0] for _, _, interval in facts), default=-math.inf)


# --- truth --------------------------------------------------------------------------------------------------------


class _Evaluation:
    """An interpretation that grows: the cells at which each row of each predicate holds."""

    def __init__(self, grid: Grid, start: float) -> None:
        self.grid = grid
        self.all: Cells = frozenset(range(grid.size))
        self.from_start: Cells = frozenset(cell for cell in self.all if cell >= start)
        self.coverage: dict[str, dict[Row, set[int]]] = defaultdict(dict)
        self.known: dict[str, set[Row]] = defaultdict(set)
        self.domain: set[Value] = {OTHER}
        self.violations: set[Violation] = set()

    def add(self, predicate: str, row: Row, cells: Iterable[int]) -> bool:
        """Let a row hold at these cells; whether that is news."""
        new = set(cells) - self.coverage[predicate].get(row, set())
        if new:
            self.coverage[predicate].setdefault(row, set()).update(new)
            self.known[predicate].add(row)
            self.domain.update(row)
        return bool(new)

    def run(self, rules: Sequence[Rule], rounds: int) -> None:
        """Apply the rules of one stratum, all of them in each round, until a round has no news."""
        for _ in range(rounds):
            derived = [fact for rule in rules for fact in self.consequences(rule)]
            news = [self.add(*fact) for fact in derived]
            if not any(news):
                return
        raise RuntimeError(f"no fixpoint after {rounds} rounds")

    def consequences(self, rule: Rule) -> Iterator[tuple[str, Row, Cells]]:
        """What the rule derives from the present interpretation, by one application of T_Π."""
        atom = head_atom(rule.head)
        assert atom is not None
        for binding, cells in self.instances(rule.body):
            try:
                row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
            except Undefined:
                continue
            yield atom.predicate, row, self.head_cells(rule.head, cells)

    def instances(self, body: Sequence[Formula]) -> Iterator[tuple[dict[str, Value], Cells]]:
        """Each ground instance of the body that holds somewhere, and where."""
        for binding in list(substitutions(body, self.known, sorted(self.domain, key=repr), {})):
            try:
                cells = self.truth(Conjunction(tuple(body)), binding)
            except Undefined:
                continue
            if cells:
                yield binding, cells

    def head_cells(self, head: Formula, cells: Cells) -> Cells:
        """Where a head's atom must hold if the head holds at these cells.

        `boxplus ϱ M` at t says M at every u with u−t in ϱ: so M at u if there is such a t, in the past of u.
        """
        while isinstance(head, Unary):
            windows = self.grid.windows(head.interval, -_DIRECTION[head.operator])
            cells = frozenset(u for u in self.all if not cells.isdisjoint(windows[u]))
            head = head.operand
        return cells

    def constrain(self, number: int, rule: Rule) -> None:
        """Note each instance and time at which a constraint's body holds."""
        for binding, cells in self.instances(rule.body):
            named = tuple(sorted(item for item in binding.items() if not item[0].startswith("_")))
            self.violations |= {Violation(number, named, self.grid.time(cell)) for cell in cells}

    def truth(self, formula: Formula, binding: Mapping[str, Value]) -> Cells:
        """The cells at which a ground formula holds: Table 1, line by line."""
        lines: Mapping[type, Callable[..., Cells]] = {
            Truth: lambda truth, _: self.all if truth.value else frozenset(),
            Atom: self.atom,
            Comparison: lambda comparison, binding: self.all if compare(comparison, binding) else frozenset(),
            Conjunction: self.conjunction,
            Negation: self.negation,
            Unary: self.unary,
            Binary: self.since_or_until,
            Window: self.window,
        }
        return lines[type(formula)](formula, binding)

    def atom(self, atom: Atom, binding: Mapping[str, Value]) -> Cells:
        """Where the interpretation has the ground atom."""
        row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
        return frozenset(self.coverage[atom.predicate].get(row, ()))

    def conjunction(self, formula: Conjunction, binding: Mapping[str, Value]) -> Cells:
        """Where all parts hold."""
        return self.all.intersection(*[self.truth(part, binding) for part in formula.parts])

    def negation(self, formula: Negation, binding: Mapping[str, Value]) -> Cells:
        """Where the operand does not hold, whatever its own wildcards stand for."""
        here = {name: binding[name] for name in variables(formula.operand) if name in binding}
        domain = sorted(self.domain, key=repr)
        every = substitutions([formula.operand], self.known, domain, here)
        return self.all.difference(*[self.truth(formula.operand, full) for full in every])

    def unary(self, formula: Unary, binding: Mapping[str, Value]) -> Cells:
        """The two diamonds and the two boxes."""
        holds = self.truth(formula.operand, binding)
        windows = self.grid.windows(formula.interval, _DIRECTION[formula.operator])
        if formula.clipped:
            return self.clipped(holds, windows)
        if formula.operator in ("diamondminus", "diamondplus"):
            return frozenset(t for t in self.all if not holds.isdisjoint(windows[t]))
        return frozenset(t for t in self.all if windows[t] <= holds)

    def clipped(self, holds: Cells, windows: Sequence[Cells]) -> Cells:
        """Where something holds at all of the window that does not lie before the stream's start."""
        return frozenset(t for t in self.from_start if windows[t] & self.from_start <= holds)

    def window(self, formula: Window, binding: Mapping[str, Value]) -> Cells:
        """`sometime M in [n]` and `always M in [n]`."""
        holds = self.truth(formula.operand, binding)
        windows = self.grid.windows(Interval(Fraction(0), formula.window.size), PAST)
        if formula.mode == "always":
            return self.clipped(holds, windows)
        return frozenset(t for t in self.all if not holds.isdisjoint(windows[t]))

    def since_or_until(self, formula: Binary, binding: Mapping[str, Value]) -> Cells:
        """The right side at some t', the left side strictly between t' and t."""
        left, right = self.truth(formula.left, binding), self.truth(formula.right, binding)
        if not right:
            return right
        witnesses = self.grid.witnesses(formula.interval, _DIRECTION[formula.operator])
        return frozenset(t for t in self.all if any(w.cell in right and w.between <= left for w in witnesses[t]))

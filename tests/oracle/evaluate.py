"""A naive evaluator: the immediate consequence operator of Wałęga et al. 2023, section 2, until nothing is new.

It shares nothing with the engine but the syntax tree. Every formula of every rule instance is evaluated, by its line in
Table 1, at every cell of a finite stretch of time, the horizon (`oracle.grid`). What lies beyond the horizon is taken
to be as its first and its last cell are; `oracle.reach` says how wide a horizon has to be, and which answers are right.

Conventions, where the language leaves room:

* The domain of a rule instance's variables is the constants that occur, and one constant that occurs nowhere: only
  a variable that stands on the left side of since or until alone can take it.
* `always M in [n]` does not hold before the start of the stream; a start of None is the begin of the earliest fact.
* A time variable `T` takes the times at which a positive `p(X)@T` of the body holds within the horizon; a value that is
  no integer is no time. `p(X)@T+k in [n]` asks that T+k lie in the window. `sometime M in [n]` with `@T` inside M asks for
  M at a time of the window, not whether T lies in it. Tuple windows are those of `oracle.lars`.
* An ordering comparison of a text with a number is false; arithmetic without a value silences the rule instance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, pairwise

from oracle.aggregates import with_thresholds, without_aggregates
from oracle.grid import Grid, common_step
from oracle.grounding import (
    Row,
    atoms,
    constants,
    head_atom,
    is_bottom,
    parts,
    unsafe_variables,
    without_wildcards,
)
from oracle.lars import (
    arrivals,
    check_discrete,
    check_window,
    inputs_of,
)
from oracle.truth import Evaluation, Violation
from oracle.values import canonical, evaluate_expression
from tidelog.plans.tree.syntax import (
    Aggregate,
    Binary,
    FactStatement,
    Formula,
    Interval,
    Latest,
    Period,
    Program,
    Rule,
    TimelineDeclaration,
    Unary,
    Window,
)

GroundFact = tuple[str, Row, Interval]
"""A fact as the oracle takes it: its predicate, its row, and the interval at which it holds."""

ALWAYS = Interval(-math.inf, math.inf)


@dataclass
class Model:
    """The least model over the horizon, for a program without errors; `violations` are its broken constraints.

    `meets_edge` tells that a time variable took the first or the last time of the horizon, or that a head's time lay beyond.
    Where `oracle.reach` says that the program settles, its time variables then have no bound: it is out of scope.
    """

    grid: Grid
    coverage: Mapping[str, Mapping[Row, set[int]]]
    violations: set[Violation] = field(default_factory=set)
    meets_edge: bool = False

    def times(self) -> list[Fraction]:
        """Every sample point of the horizon: the points and, on dense time, the middles of the gaps."""
        return [self.grid.time(cell) for cell in range(self.grid.size)]

    def holds(self, predicate: str, row: Row, point: Fraction | int) -> bool:
        """Whether the row holds at a time of the horizon; ValueError for a time outside."""
        first, last = self.grid.meeting(Interval(Fraction(point), Fraction(point)))
        if not 0 <= first <= last < self.grid.size:
            raise ValueError(f"{point} is no time of the horizon")
        return first in self.cells(predicate, row)

    def rows(self, predicate: str) -> set[Row]:
        """The rows that hold at some time."""
        return {row for row, cells in self.coverage.get(predicate, {}).items() if cells}

    def points(self, predicate: str, row: Row) -> list[Fraction]:
        """The sample points at which the row holds, in order."""
        return [self.grid.time(cell) for cell in sorted(self.cells(predicate, row))]

    def intervals(self, predicate: str) -> dict[Row, list[tuple[Fraction, Fraction]]]:
        """For each row its maximal runs, each by its first and last sample point."""
        found: dict[Row, list[tuple[Fraction, Fraction]]] = {}
        for row in self.rows(predicate):
            cells = sorted(self.cells(predicate, row))
            breaks = [index for index, (a, b) in enumerate(pairwise(cells), 1) if b > a + 1]
            runs = [cells[a:b] for a, b in pairwise([0, *breaks, len(cells)])]
            found[row] = [(self.grid.time(run[0]), self.grid.time(run[-1])) for run in runs]
        return found

    def cells(self, predicate: str, row: Row) -> set[int]:
        """The cells of the horizon in which the row holds."""
        return self.coverage.get(predicate, {}).get(tuple(map(canonical, row)), set())


def evaluate(
    program: Program,
    facts: Iterable[GroundFact],
    *,
    low: Fraction | int,
    high: Fraction | int,
    start: Fraction | int | None = None,
    rounds: int = 2000,
    periods: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> Model:
    """The least model of a program and facts over the horizon [low, high].

    All finite ends of facts must lie within the horizon; their order is that of arrival. `periods` are what `per` names, by
    their first and last times, on an integer timeline. Raises ValueError for what the oracle does not cover (units, LARS's
    forms on dense time), for unsafe rules and for negation in a cycle, RuntimeError where a stratum is not done after
    `rounds` rounds.
    """
    given = list(facts)
    rules, inputs = rules_of(program), inputs_of(program)
    for number, rule in enumerate(rules):
        check(rule, number)
        check_discrete((rule.head, *rule.body), inputs, is_dense(program))
    grid = make_grid(program, given, Fraction(low), Fraction(high), start)
    evaluation = Evaluation(grid, _start_cell(grid, given, start), _arrivals(grid, inputs, given), periods or {})
    for predicate, row, interval in [*given, *program_facts(program)]:
        evaluation.add(predicate, tuple(map(canonical, row)), _cells_of(grid, interval))
    evaluation.domain |= {value for rule in rules for part in (rule.head, *rule.body) for value in constants(part)}
    numbers = count()
    marked = [with_thresholds(rule) for rule in rules]
    for stratum in strata(marked):
        changed, evaluation.sources = without_aggregates(stratum, numbers)
        evaluation.run([without_anonymous(rule) for rule in changed], rounds)
    for number, rule in enumerate(rules):
        if is_bottom(rule.head):
            rule = marked[number]
            [changed], evaluation.sources = without_aggregates([rule], numbers)
            evaluation.constrain(number, without_anonymous(changed))
    coverage = {name: rows for name, rows in evaluation.coverage.items() if not name.startswith("\0")}
    return Model(grid, coverage, evaluation.violations, evaluation.meets_edge)


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
    if isinstance(formula, Window):
        check_window(formula)
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
        elif isinstance(formula, Window | Latest | Aggregate) and not isinstance(formula.window, Period):
            ends = (formula.window.size, formula.window.step or 0)
            yield from (end for end in ends if isinstance(end, Fraction | int))


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


def _arrivals(grid: Grid, inputs: set[str], facts: Iterable[GroundFact]) -> list[tuple[str, Row, int]]:
    """The input facts in the stream's order, with the cells in which they begin."""
    return arrivals(inputs, [(name, tuple(map(canonical, row)), grid.meeting(when)[0]) for name, row, when in facts])

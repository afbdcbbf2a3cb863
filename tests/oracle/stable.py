"""What holds where rules depend on their own negation: a model that justifies itself.

All negations are judged by a model that is assumed, and the rules are followed to their end. Where that gives what was
assumed, it is a stable model. Of a T-stratified program there is one alone, since each time follows from those before; so
assuming in turn what came of the last assumption comes to it, time by time, whatever was assumed first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from oracle.aggregates import with_thresholds
from oracle.evaluate import (
    GroundFact,
    Model,
    _arrivals,
    _cells_of,
    _start_cell,
    check,
    make_grid,
    program_facts,
    rules_of,
    without_anonymous,
)
from oracle.grid import Cells
from oracle.grounding import constants, head_atom, substitutions, variables
from oracle.lars import inputs_of
from oracle.truth import Evaluation
from oracle.values import canonical
from tidelog.plans.tree.syntax import Negation, Program, Value


class Judged(Evaluation):
    """An interpretation whose negations are judged by another."""

    assumed: Evaluation

    def negation(self, formula: Negation, binding: Mapping[str, Value]) -> Cells:
        here = {name: binding[name] for name in variables(formula.operand) if name in binding}
        domain = sorted(self.domain | self.assumed.domain, key=repr)
        every = list(substitutions([formula.operand], self.assumed.known, self.times, domain, here))
        return self.all.difference(*[self.assumed.truth(formula.operand, full) for full in every])


def stable_model(program: Program, facts: Iterable[GroundFact], low: int, high: int, most: int = 200) -> Model:
    """The stable model over [low, high] of a T-stratified program that looks into the past; RuntimeError for no such one."""
    given = list(facts)
    rules = [rule for rule in rules_of(program) if head_atom(rule.head) is not None]
    for number, rule in enumerate(rules):
        check(rule, number)
    grid = make_grid(program, given, Fraction(low), Fraction(high), None)
    ready = [without_anonymous(with_thresholds(rule)) for rule in rules]
    assumed = Evaluation(grid, -math.inf, [], {})
    for _ in range(most):
        found = Judged(grid, _start_cell(grid, given, None), _arrivals(grid, inputs_of(program), given), {})
        found.assumed = assumed
        for predicate, row, interval in [*given, *program_facts(program)]:
            found.add(predicate, tuple(map(canonical, row)), _cells_of(grid, interval))
        found.domain |= {value for rule in ready for part in (rule.head, *rule.body) for value in constants(part)}
        found.run(ready, 2000)
        if _held(found) == _held(assumed):
            return Model(grid, found.coverage)
        assumed = found
    raise RuntimeError("no model justifies itself")


def _held(found: Evaluation) -> dict[tuple[str, tuple[Value, ...]], frozenset[int]]:
    return {(name, row): frozenset(cells) for name, rows in found.coverage.items() for row, cells in rows.items() if cells}

"""A formula of past-time MTL as a program of tidelog that says at which rows of a trace it holds.

Each part of the formula becomes a predicate, which holds at rows alone: `tick` holds at each row of the trace, and nothing
is known of other times. So `not` is `tick, not …`, and `historically` is that its opposite was not once. MTL's `since`
takes in its own row on both sides, tidelog's `since` neither: what holds at the row itself is a rule of its own.
"""

from __future__ import annotations

from benchmarks.suites.formulas import Both, Bound, Formula, Not, Past, Proposition, Since, propositions

TICK = "tick"
"""Holds at each row of the trace."""
VERDICT = "verdict"
"""Holds at each row at which the whole formula does."""


def program_of(formula: Formula) -> str:
    """The program; its inputs are `tick` and the propositions, its output is `verdict`.

    >>> from benchmarks.suites.formulas import parse_formula
    >>> print(program_of(parse_formula("once[1:3] p")))
    timeline integer.
    input tick.
    input p.
    output verdict.
    part1 :- tick, diamondminus[1,3] p.
    verdict :- part1.
    """
    names = propositions(formula)
    taken = [name for name in names if name in (TICK, VERDICT) or name.startswith("part")]
    if taken:
        raise ValueError(f"the proposition `{taken[0]}` has a name that the program needs itself; rename the column")
    writer = _Writer()
    last = writer.part(formula)
    inputs = [f"input {name}." for name in (TICK, *names)]
    return "\n".join(["timeline integer.", *inputs, f"output {VERDICT}.", *writer.rules, f"{VERDICT} :- {last}."])


class _Writer:
    """Writes the rules of each part once, however often it occurs."""

    def __init__(self) -> None:
        self.rules: list[str] = []
        self._known: dict[Formula, str] = {}

    def part(self, formula: Formula) -> str:
        """The predicate that holds at the rows at which the part does."""
        if isinstance(formula, Proposition):
            return formula.name
        if formula not in self._known:
            bodies = self._bodies(formula)
            name = f"part{len(self._known) + 1}"
            self._known[formula] = name
            self.rules += [f"{name} :- {body}." for body in bodies]
        return self._known[formula]

    def _bodies(self, formula: Formula) -> list[str]:
        match formula:
            case Not(operand):
                return [f"{TICK}, not {self.part(operand)}"]
            case Both("and", left, right):
                return [f"{self.part(left)}, {self.part(right)}"]
            case Both("or", left, right):
                return [self.part(left), self.part(right)]
            case Both("implies", left, right):
                return [f"{TICK}, not {self.part(left)}", self.part(right)]
            case Past("pre", operand):
                return [f"{TICK}, diamondminus[1,1] {self.part(operand)}"]
            case Past("once", operand, bound):
                return [f"{TICK}, diamondminus{_interval(bound)} {self.part(operand)}"]
            case Past("historically", operand, bound):
                return [f"{TICK}, not {self.part(Past('once', Not(operand), bound))}"]
            case Since(left, right, bound):
                return self._since(left, right, bound)
            case _:
                raise ValueError(f"no rule is known for {formula}")

    def _since(self, left: Formula, right: Formula, bound: Bound) -> list[str]:
        first, second = self.part(left), self.part(right)
        bodies = [second] if bound.low == 0 else []
        if bound.high is None or bound.high >= 1:
            bodies.append(f"{first}, {first} since{_interval(Bound(max(bound.low, 1), bound.high))} {second}")
        return bodies


def _interval(bound: Bound) -> str:
    return f"[{bound.low},inf)" if bound.high is None else f"[{bound.low},{bound.high}]"

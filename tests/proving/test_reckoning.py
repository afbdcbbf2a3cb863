"""What is proved of arithmetic is so for numbers as the engine computes them: ints exactly, floats rounded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.printing import format_formula
from tidelog.plans.proving.findings import book_of
from tidelog.plans.proving.judging import Judge
from tidelog.plans.tree.arithmetic import COMPARE, COMPUTE
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable

HEAD = "timeline integer. input v(x: number, y: number). input n(k: integer, l: integer). output a."
NUMBERS: tuple[int | float, ...] = (0, 1, 2, 3, -1, 0.1, 0.2, 0.3, 0.5, 1e16, 2**53 + 1)
NAMES = ("X", "Y", "K", "L")


@st.composite
def _expression(draw: st.DrawFn, depth: int = 2) -> Expression:
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from([*map(Variable, NAMES), *map(Constant, NUMBERS)]))
    operator = draw(st.sampled_from(["+", "-", "*", "/", "min", "max", "abs", "neg", "//", "mod"]))
    size = 1 if operator in ("abs", "neg") else 2
    return Arithmetic(operator, tuple(draw(_expression(depth - 1)) for _ in range(size)))


@st.composite
def _comparisons(draw: st.DrawFn) -> list[Comparison]:
    """Two to four; now and then the last one is another with its limit moved, so that one follows from the other."""
    found = [
        Comparison(draw(st.sampled_from(list(COMPARE))), draw(_expression()), draw(_expression(1)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    first = found[0]
    moved = draw(st.sampled_from([first.right, Constant(draw(st.sampled_from(NUMBERS)))]))
    return [*found, Comparison(draw(st.sampled_from(list(COMPARE))), first.left, moved)]


def _value(expression: Expression, row: Mapping[str, Value]) -> Value:
    match expression:
        case Variable(name=name):
            return row[name]
        case Constant(value=value):
            return value
        case Arithmetic(operator=operator, operands=operands):
            found = COMPUTE[operator](*(_value(operand, row) for operand in operands))
            if isinstance(found, float) and not math.isfinite(found):
                raise ArithmeticError
            if isinstance(found, int) and abs(found) >= 2**63:
                raise ArithmeticError
            return int(found) if isinstance(found, float) and found.is_integer() else found
    raise TypeError


def _holds(comparison: Comparison, row: Mapping[str, Value]) -> bool:
    try:
        return COMPARE[comparison.operator](_value(comparison.left, row), _value(comparison.right, row))
    except (TypeError, ArithmeticError):
        return False


def _rows() -> Iterator[dict[str, Value]]:
    numbers = (*NUMBERS, 0.30000000000000004, 2.5, -0.5, 1e16 + 2)
    whole = [number for number in numbers if isinstance(number, int)]
    for x, y, k, m in product(numbers, numbers, whole, whole):
        yield {"X": x, "Y": y, "K": k, "L": m}


@given(comparisons=_comparisons())
@drawn(300, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_numbers_refute_what_is_proved(comparisons: list[Comparison]) -> None:
    """Neither that comparisons never hold together, nor that one follows from the others."""
    body = ", ".join(map(format_formula, comparisons))
    try:
        plan = tidelog.compile(f"{HEAD} a(X) :- v(X, Y), n(K, L), {body}.")
    except ProgramError:
        assume(False)
        return
    judge = Judge(book_of(plan))
    judge.find_dead()
    list(judge.needless_conditions())
    assume(judge.dead or judge.needless_parts)
    needless = {place - 2 for _, place in judge.needless_parts}
    for row in _rows():
        holding = [_holds(comparison, row) for comparison in comparisons]
        assert not (judge.dead and all(holding)), row
        kept = [is_so for place, is_so in enumerate(holding) if place not in needless]
        assert not all(kept) or all(holding), (row, needless)

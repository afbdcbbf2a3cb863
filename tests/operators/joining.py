"""Joins in tests: bodies that are drawn, and every combination of rows tried one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from hypothesis import strategies as st

from operators.driving import Points
from tidelog.plans.data.facts import Row
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Term, Value, Variable, Wildcard

X, Y, Z, W = map(Variable, "XYZW")
ONE, TEXT = Constant(1), Constant("a")
ANY = Wildcard()
DOMAIN: list[Value] = [0, 1, "a"]


@st.composite
def shapes(draw: st.DrawFn) -> JoinShape:
    """One to five atoms over up to four variables, constants and wildcards; a head and comparisons over what they bind."""
    term = st.sampled_from([X, X, Y, Y, Z, W, ONE, TEXT, ANY])
    atoms = tuple(tuple(draw(st.lists(term, max_size=2))) for _ in range(draw(st.integers(1, 5))))
    bound = sorted({t.name for atom in atoms for t in atom if isinstance(t, Variable)})
    comparisons = []
    if bound:
        for i in range(draw(st.integers(0, 2))):
            left, right = (draw(_operand(bound)) for _ in range(2))
            if draw(st.booleans()):
                name = f"N{i}"
                comparisons.append(Comparison("=", Variable(name), left))
                bound.append(name)
            else:
                operator = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
                comparisons.append(Comparison(operator, left, right))
    columns: list[Term] = [Variable(name) for name in bound]
    head = draw(st.lists(st.sampled_from([*columns, ONE]), max_size=3))
    return JoinShape(tuple(head), atoms, tuple(comparisons))


@st.composite
def _operand(draw: st.DrawFn, names: list[str]) -> Expression:
    leaf = st.sampled_from([*map(Variable, names), ONE, Constant(0), TEXT])
    if draw(st.booleans()):
        return draw(leaf)
    return Arithmetic(draw(st.sampled_from(["+", "-", "*", "/", "//", "mod", "min", "max"])), (draw(leaf), draw(leaf)))


def joined(shape: JoinShape, coverage: Sequence[Points]) -> Points:
    """The definition: every combination of rows that agrees with the atoms and the comparisons, where all hold."""
    found: Points = {}
    for rows in product(*coverage):
        binding: dict[str, Value] = {}
        if all(_agrees(atom, row, binding) for atom, row in zip(shape.atoms, rows, strict=True)) and _true(shape, binding):
            times = set.intersection(*(coverage[port][row] for port, row in enumerate(rows)))
            head = tuple(binding[t.name] if isinstance(t, Variable) else t.value for t in shape.head)  # type: ignore[union-attr]
            found.setdefault(head, set()).update(times)
    return {row: times for row, times in found.items() if times}


def _agrees(atom: tuple[Term, ...], row: Row, binding: dict[str, Value]) -> bool:
    for term, value in zip(atom, row, strict=True):
        if isinstance(term, Constant) and term.value != value:
            return False
        if isinstance(term, Variable) and binding.setdefault(term.name, value) != value:
            return False
    return True


def _true(shape: JoinShape, binding: dict[str, Value]) -> bool:
    """Whether all comparisons hold; they stand in an order in which what they need is bound before."""
    for comparison in shape.comparisons:
        left, right = comparison.left, comparison.right
        try:
            if isinstance(left, Variable) and left.name not in binding:
                value = _value(right, binding)
                binding[left.name] = canonical(value) if isinstance(right, Arithmetic) else value  # type: ignore[arg-type]
            elif not _compare(comparison.operator, _value(left, binding), _value(right, binding)):
                return False
        except (ArithmeticError, TypeError, DataError):
            return False
    return True


def _value(expression: Expression, binding: dict[str, Value]) -> Value:
    if isinstance(expression, Variable):
        return binding[expression.name]
    if isinstance(expression, Constant):
        return expression.value
    assert isinstance(expression, Arithmetic)
    a, b = (_value(operand, binding) for operand in expression.operands)
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: a // b,
        "mod": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
    }[expression.operator]()


def _compare(operator: str, a: Value, b: Value) -> bool:
    if operator in ("=", "!="):
        return (a == b) == (operator == "=")
    if isinstance(a, str) != isinstance(b, str):
        return False
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]  # type: ignore[operator]

"""Comparisons and arithmetic over columns.

Floats carry all of it as long as whole numbers stay below 2⁵³, where floats and Python's integers are the same. Where one
does not, or a column holds texts, each different combination of values is computed by itself, as joins of rows do it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from tidelog.operators.columns.arrays import Array, is_number, np
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.arithmetic import COMPARE, COMPUTE
from tidelog.plans.tree.numerals import EXACT_FLOAT, canonical
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable

UNCOMPUTABLE = (ArithmeticError, DataError)
"""What arithmetic raises that has no result."""

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_COMPUTE: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "mod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "neg": np.negative,
}


class _NotExactError(Exception):
    """Floats cannot carry a computation."""


class Scope:
    """The columns of the variables that are bound, all of them as long, and how many rows failed to compute."""

    __slots__ = ("columns", "failed", "pool", "size")

    def __init__(self, columns: dict[str, Array], size: int, pool: Pool) -> None:
        self.columns = columns
        self.size = size
        self.pool = pool
        self.failed = 0

    def holds(self, comparison: Comparison) -> Array:
        """For each row whether a comparison holds; it does not where it cannot be computed."""
        left, right = comparison.left, comparison.right
        if comparison.operator in ("=", "!=") and not self._computes(left) and not self._computes(right):
            one, other = self.pool.alike([self._column(left), self._column(right)])
            found: Array = (one == other) == (comparison.operator == "=")
            return found
        counted = self._computes(left) or self._computes(right)
        try:
            is_fine = np.ones(self.size if counted else 1, np.bool_)
            with np.errstate(all="ignore"):
                one, other = self._number(left, is_fine), self._number(right, is_fine)
            holds: Array = np.broadcast_to(_COMPARE[comparison.operator](one, other), (self.size,))
            if not counted:
                return holds
            self.failed += int(self.size - np.count_nonzero(is_fine))
            return holds & is_fine
        except _NotExactError:
            return self._each(comparison)

    def bind(self, name: str, expression: Expression) -> Array:
        """Bind a variable to the value of an expression; returns for each row whether it has one."""
        is_fine = np.ones(self.size, np.bool_)
        if not self._computes(expression):
            self.columns[name] = self._column(expression)
            return is_fine
        try:
            with np.errstate(all="ignore"):
                column = np.broadcast_to(self._number(expression, is_fine), (self.size,)) + 0.0
            self.failed += int(self.size - np.count_nonzero(is_fine))
            self.columns[name] = column
            return is_fine
        except _NotExactError:
            return self._bind_each(name, expression)

    def keep(self, places: Array, names: Container[str]) -> None:
        """Go on with the rows at these places alone, and with the columns that are still needed."""
        self.columns = {name: column[places] for name, column in self.columns.items() if name in names}
        self.size = len(places)

    # --- by floats ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _computes(expression: Expression) -> bool:
        return isinstance(expression, Arithmetic)

    def _column(self, expression: Expression) -> Array:
        if isinstance(expression, Variable):
            return self.columns[expression.name]
        if isinstance(expression, Constant):
            return self.pool.constant(expression.value, self.size)
        raise TypeError("`_` has no value")

    def _number(self, expression: Expression, is_fine: Array) -> Any:
        if isinstance(expression, Constant):
            value = expression.value
            if isinstance(value, str) or abs(value) >= EXACT_FLOAT:
                raise _NotExactError
            return np.float64(value)
        if isinstance(expression, Variable):
            column = self.columns[expression.name]
            if not is_number(column):
                if not self.size:
                    return np.empty(0)
                raise _NotExactError
            return column
        if not isinstance(expression, Arithmetic):
            raise TypeError("`_` has no value")
        operands = [self._number(operand, is_fine) for operand in expression.operands]
        function = _COMPUTE[expression.operator]
        found = operands[0] if len(operands) > 1 else function(operands[0])
        for operand in operands[1:]:
            found = function(found, operand)
        finite = np.isfinite(found)
        is_fine &= finite
        if np.any((abs(found) >= EXACT_FLOAT) & finite):
            raise _NotExactError
        return found + 0.0

    # --- one by one -----------------------------------------------------------------------------------------------------

    def _each(self, comparison: Comparison) -> Array:
        names = sorted(_names(comparison.left) | _names(comparison.right))
        compare = COMPARE[comparison.operator]
        counted = self._computes(comparison.left) or self._computes(comparison.right)
        rows, places = self._combinations(names)
        found = np.zeros(len(rows), np.bool_)
        failed = np.zeros(len(rows), np.bool_)
        for number, row in enumerate(rows):
            values = dict(zip(names, row, strict=True))
            try:
                found[number] = compare(_value(comparison.left, values), _value(comparison.right, values))
            except TypeError:
                continue
            except UNCOMPUTABLE:
                failed[number] = counted
        self.failed += int(np.count_nonzero(failed[places]))
        return found[places]

    def _bind_each(self, name: str, expression: Expression) -> Array:
        names = sorted(_names(expression))
        rows, places = self._combinations(names)
        results: list[Value] = []
        is_fine = np.ones(len(rows), np.bool_)
        for number, row in enumerate(rows):
            try:
                results.append(canonical(_value(expression, dict(zip(names, row, strict=True)))))
            except UNCOMPUTABLE:
                is_fine[number] = False
                results.append(0)
        self.columns[name] = self.pool.column(results)[places]
        self.failed += int(np.count_nonzero(~is_fine[places]))
        return is_fine[places]

    def _combinations(self, names: Sequence[str]) -> tuple[list[tuple[Value, ...]], Array]:
        """The different rows of some variables, and for each row of all which of them it has."""
        columns = [self.columns[name] for name in names]
        (keys,), _ = keys_of([columns], [self.size], self.pool)
        _, first, places = np.unique(keys, return_index=True, return_inverse=True)
        listed = [self.pool.listed(column[first]) for column in columns]
        return list(zip(*listed, strict=True)) if listed else [()] * len(first), places


def _names(expression: Expression) -> set[str]:
    if isinstance(expression, Arithmetic):
        return {name for operand in expression.operands for name in _names(operand)}
    return {expression.name} if isinstance(expression, Variable) else set()


def _value(expression: Expression, values: Mapping[str, Value]) -> Any:
    if isinstance(expression, Arithmetic):
        operands = [_value(operand, values) for operand in expression.operands]
        if any(isinstance(operand, str) for operand in operands):
            raise DataError("a text is no number")
        return COMPUTE[expression.operator](*operands)
    if isinstance(expression, Variable):
        return values[expression.name]
    if isinstance(expression, Constant):
        return expression.value
    raise TypeError("`_` has no value")

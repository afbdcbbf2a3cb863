"""The comparisons of a precondition: decided as soon as their variables have values."""

from __future__ import annotations

from tidelog.operators.sld.values import UNCOMPUTABLE, compare, evaluate
from tidelog.plans.normal.names import expression_variables
from tidelog.plans.numerals import canonical
from tidelog.plans.syntax import Arithmetic, Comparison, Value, Variable

__all__ = ["UNCOMPUTABLE", "Condition"]


class Condition:
    """A comparison that waits for its variables."""

    __slots__ = ("_left", "_operator", "_right", "left_names", "names", "right_names")

    def __init__(self, comparison: Comparison) -> None:
        self._left, self._right = comparison.left, comparison.right
        self._operator = comparison.operator
        self.left_names, self.right_names = (
            set(expression_variables(comparison.left)),
            set(expression_variables(comparison.right)),
        )
        self.names = self.left_names | self.right_names

    def settle(self, values: dict[str, Value]) -> bool | None:
        """Whether it holds; None while that is open. An equation with one unknown variable gives it its value.

        Raises one of `UNCOMPUTABLE` where it has no value, which is as if it did not hold.
        """
        left_known, right_known = self.left_names <= values.keys(), self.right_names <= values.keys()
        if left_known and right_known:
            return compare(self._operator, evaluate(self._left, values), evaluate(self._right, values))
        if self._operator != "=":
            return None
        for target, source, known in ((self._left, self._right, right_known), (self._right, self._left, left_known)):
            if known and isinstance(target, Variable):
                value = evaluate(source, values)
                if isinstance(source, Arithmetic) and not isinstance(value, str):
                    value = canonical(value)
                values[target.name] = value
                return True
        return None

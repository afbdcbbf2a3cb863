"""Comparisons of terms, as tasks of a derivation."""

from __future__ import annotations

from tidelog.operators.sld.comparisons.comparing import write
from tidelog.operators.sld.goals.tasks import Test
from tidelog.plans.plan.preconditions import Argument
from tidelog.plans.tree.syntax import Comparison, ComparisonOperator


def relate(left: Argument, operator: ComparisonOperator, right: Argument) -> Test:
    """A comparison of two terms as a task."""
    return Test(Comparison(operator, write(left), write(right)))

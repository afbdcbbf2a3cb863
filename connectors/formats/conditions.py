"""What the values that are open in a hypothetical answer must fulfil, with dates in place of times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from tidelog.plans.language.printing import format_formula
from tidelog.plans.plan.questions import HypotheticalAnswer, Open
from tidelog.plans.tree.syntax import Comparison, Constant, Variable


def dated_conditions(answer: HypotheticalAnswer, time_column: str, written: Callable[[int], str]) -> Iterator[str]:
    """The conditions as text; the times that they name as they are `written`."""
    ends = [item.time for item in answer.hypotheses if isinstance(item.time, Open)]
    times = {*(time.name for time in ends), time_column}
    return (format_formula(_dated(condition, times, written)) for condition in answer.where)


def _dated(condition: Comparison, times: Collection[str], written: Callable[[int], str]) -> Comparison:
    match condition:
        case Comparison(_, Variable(name), Constant(int(time))) if name in times:
            return replace(condition, right=Variable(written(time)))
    return condition

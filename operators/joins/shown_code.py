"""The code that is written for the joins of a plan, to be read: `tidelog explain --stage code`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.operators.joins.join_code import write_join
from tidelog.plans.plan.plan import JoinShape, Step


def describe_code(steps: Iterable[Step]) -> Iterator[str]:
    """For each join, or filter, its step and rule, the constants that its code refers to, and the code, line by line.

    The same plan gives the same lines.
    """
    for step in steps:
        if isinstance(step.shape, JoinShape):
            code = write_join(step.shape)
            yield f"# {step.id}: {step.rule or step.source}"
            yield from (f"{name} = {value!r}" for name, value in code.constants.items())
            yield from code.text.splitlines()
            yield ""

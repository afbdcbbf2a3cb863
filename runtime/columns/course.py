"""What runs a plan over the stretches of a history, by columns or by rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.feeds import widths_of
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.memory import Held
from tidelog.runtime.emission.violations import Violation

Coverage = dict[str, Batch]
"""What holds, by predicate."""


class Course(ABC):
    """Takes what is new by input and the watermark behind it: nothing that begins at or before it comes any more.

    `advance` gives what the outputs say for sure by then and was not given before, `tell` the same as answers in the form
    of `emit`; one of both is used.
    """

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan = plan
        self.pool = pool
        steps = widths_of(plan)
        self.widths = {name: steps["step", step] for name, step in plan.outputs.items()}
        """How many arguments the rows of each output have."""

    @abstractmethod
    def advance(self, fresh: Mapping[str, Batch], watermark: int) -> Coverage:
        """Take a stretch; returns what its outputs say for sure."""

    @abstractmethod
    def tell(self, fresh: Mapping[str, Batch], watermark: int) -> list[Record]:
        """Take a stretch; returns the answers."""

    @abstractmethod
    def held(self) -> Iterable[Held]:
        """What is kept for later stretches."""

    @abstractmethod
    def statistics(self) -> dict[str, OperatorStatistics]:
        """What each step has done and keeps."""

    @abstractmethod
    def pull_violations(self) -> list[Violation]:
        """The constraints violated since the last call."""

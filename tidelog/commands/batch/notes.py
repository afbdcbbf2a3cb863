"""What is said of batch reasoning by the commands that are not of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError

if TYPE_CHECKING:
    from tidelog.plans.compiling.batch import BatchPlan

IN_BATCH = "batch reasoning can take this program (materialise, entails, consistent)"
"""What is said of a program that is wrong for streams alone."""


def batch_plan_if_any(path: str) -> BatchPlan | None:
    """The batch plan of a program's file; None if batch reasoning cannot take it."""
    try:
        return tidelog.compile_batch_path(path)
    except ProgramError:
        return None

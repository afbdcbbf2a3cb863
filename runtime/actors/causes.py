"""The cause among all that failed together: errors in a group that one of them has brought about."""

from __future__ import annotations

from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.diagnostics.stopping import Stopped


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to show: an error of ours before any other, since others often only follow from it."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop()
        if isinstance(error, BaseExceptionGroup):
            pending += reversed(error.exceptions)
        else:
            leaves.append(error)
    return min(leaves, key=_consequence)


def _consequence(error: BaseException) -> int:
    """How likely an error only follows from another: that somebody stops it least, a cancellation (no Exception) most."""
    if isinstance(error, Stopped | TidelogError):
        return 0
    return 1 if isinstance(error, Exception) else 2

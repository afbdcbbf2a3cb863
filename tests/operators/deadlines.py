"""What every deadline promises: a frontier below it, alone, tells nothing; where there is none, no frontier does."""

from __future__ import annotations

import json
from collections.abc import Callable

from tidelog.operators.grouped.grouped import Grouped
from tidelog.plans.data.timeline import LIMIT


def check_deadline(operator: Grouped, build: Callable[[], Grouped]) -> None:
    """Let copies of an operator settle at frontiers below its deadline, and fail where one tells something."""
    found = operator.deadline()
    if found is None:
        assert operator.frontiers[0] >= LIMIT or _told(operator, build, LIMIT) == []
        return
    port, deadline = found
    assert port == 0
    assert deadline > operator.frontiers[0]
    for frontier in {deadline - 1, deadline - 2, operator.frontiers[0] + 1}:
        if operator.frontiers[0] < frontier < deadline:
            assert _told(operator, build, frontier) == [], f"told at {frontier}, before {deadline}"


def _told(operator: Grouped, build: Callable[[], Grouped], frontier: int) -> list[object]:
    copy = build()
    copy.restore(json.loads(json.dumps(operator.snapshot())))
    return list(copy.receive(0, [], frontier))

"""Fences: of two gateways that stand by for each other, the one that has led before is refused once the next has posted.

A gateway says in each webhook under which epoch it leads. It may not know yet that another one leads: it was stopped, and
goes on within a request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

EPOCH = "tidelog-epoch"
"""The header with the epoch under which a webhook is told."""
MOST_RUNS = 1024
"""Of how many runs the epoch is known: those that posted last."""
_RUN = re.compile(r"([0-9a-f]{32})(?:e\d+)?-\d+\Z")
"""The id of an answer begins with its run, which is the same whoever leads."""


class Fences:
    """The highest epoch that was seen of each run, as long as this process lives.

    >>> fences, run = Fences(), "0" * 32
    >>> fences.why_refused({"webhook-id": f"{run}e7-1", "tidelog-epoch": "7"})
    >>> fences.why_refused({"webhook-id": f"{run}e6-9", "tidelog-epoch": "6"})
    'another gateway leads under epoch 7, and this is told under epoch 6'
    """

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}

    def why_refused(self, headers: Mapping[str, str]) -> str | None:
        """Why a request is refused; None where nothing speaks against it. What has no epoch is never refused."""
        told, run = headers.get(EPOCH, ""), _RUN.match(headers.get("webhook-id", ""))
        if run is None or not (told.isascii() and told.isdigit() and len(told) < 19):
            return None
        epoch, highest = int(told), self._epochs.pop(run[1], 0)
        self._epochs[run[1]] = max(epoch, highest)  # the last in order
        if len(self._epochs) > MOST_RUNS:
            del self._epochs[next(iter(self._epochs))]
        if epoch < highest:
            return f"another gateway leads under epoch {highest}, and this is told under epoch {epoch}"
        return None

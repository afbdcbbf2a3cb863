"""How long one commit waits for the next: what is little and cheap is stored at once, what costs much takes its time."""

from __future__ import annotations

from math import inf

_PAUSE = 9
"""A commit is followed by a pause of so many times what it computes: so commits take a tenth of a core at most where there
is much else to do. To wait for the disk is no cost: others go on meanwhile."""
_FEW, _CHEAP, _SHORT = 50, 0.01, 0.005
"""After a commit of so few facts that took less than so many seconds the pause is no longer than so many, and there is none
where a source waits for receipts. So where facts come one by one, the first is committed at once, and those that come during
a pause together."""


class Pace:
    """Of a ledger that commits every so many seconds at most; `cost` is what the last commit has computed, in seconds, and
    `count` how many facts or answers it had. `are_awaited` tells that a source waits for receipts."""

    def __init__(self, every: float) -> None:
        self._every = every
        self.cost, self.count, self.are_awaited = 0.0, 0, False

    @property
    def pause(self) -> float:
        """How many seconds the next commit has to wait. Whoever wants one without delay has it, whatever it costs."""
        if not self._every:
            return 0.0
        is_small = self.count < _FEW and self.cost < _CHEAP
        longest = (0.0 if self.are_awaited else _SHORT) if is_small else inf
        return max(self._every, min(longest, _PAUSE * self.cost))

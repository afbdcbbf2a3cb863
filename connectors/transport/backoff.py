"""How long to wait before the next attempt to reach somebody who is away."""

from __future__ import annotations

from random import SystemRandom

FIRST_PAUSE = 0.5
"""The pause, in seconds, before the second attempt to reach a server; doubled each time, and cut at random."""
_DOUBLED = 60
_CHANCE = SystemRandom()


def pause_before(attempt: int, first: float, longest: float) -> float:
    """Seconds to wait, `first` before attempt 1, doubled for each later one up to `longest`, less up to half by chance.

    The part by chance keeps those who have lost one server from coming back to it all at once.
    """
    return min(longest, first * 2.0 ** min(attempt - 1, _DOUBLED)) * _CHANCE.uniform(0.5, 1.0)

"""How much may be tried: what is not decided by then is told to be undecided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

Reason = Literal["nothing was found", "the time was over"]
"""Why a question was not decided: so many steps gave no answer, or there was no time for more of them."""


class Question(NamedTuple):
    """What was not decided: what was asked, of what, and why there is no answer."""

    asked: str
    of: str
    reason: Reason


def why(is_over: bool) -> Reason:
    """The reason for which there is no answer, where the time is over, or is not."""
    return "the time was over" if is_over else "nothing was found"


class Spent(Exception):
    """The time, or the number of steps, of a question is over."""


class Budget:
    """So many steps of one question, and, whatever is asked, no more once `is_over` says so."""

    def __init__(self, steps: int, is_over: Callable[[], bool] = lambda: False) -> None:
        self._steps = self._left = steps
        self._is_over = is_over

    def renew(self) -> None:
        """Begin another question."""
        self._left = self._steps

    def take(self, steps: int = 1) -> None:
        """Take some steps; Spent where there are none left."""
        self._left -= steps
        if self._left < 0 or self._is_over():
            raise Spent

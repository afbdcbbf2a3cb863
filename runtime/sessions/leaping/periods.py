"""What comes again: the period of what happened last, if it has one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def period_of(happened: Sequence[tuple[int, Hashable]], covered: int) -> int:
    """After how many of the last events all comes again; 0 where that is not known.

    Of each event there is its time, and what happened. They have to agree with those before them back to `covered` and one
    period more before the last.

    >>> period_of([(0, "a"), (1, "b"), (4, "a"), (5, "b"), (8, "a"), (9, "b"), (12, "a")], 3)
    2
    >>> period_of([(0, "a"), (1, "b"), (4, "a"), (5, "b"), (8, "a"), (9, "b"), (12, "a")], 9)
    0
    """
    last = len(happened) - 1
    # backwards, each with how long after the one before it came; the first of all has none before it
    course = [(happened[i][1], happened[i][0] - happened[i - 1][0]) for i in range(last, 0, -1)]
    agreeing = _agreeing(course)
    for number in range(1, len(course)):
        period = happened[last][0] - happened[last - number][0]
        if happened[last][0] - happened[last - agreeing[number]][0] >= covered + period:
            return number
    return 0


def _agreeing(course: Sequence[Hashable]) -> list[int]:
    """For each place, how many of what stands from there on agree with the begin (the Z function)."""
    found = [0] * len(course)
    left = right = 0
    for i in range(1, len(course)):
        length = min(found[i - left], right - i) if i < right else 0
        while i + length < len(course) and course[length] == course[i + length]:
            length += 1
        found[i] = length
        if i + length > right:
            left, right = i, i + length
    return found

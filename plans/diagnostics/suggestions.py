"""What was probably meant by a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

MAX_CANDIDATES = 2000
"""Among more names than this the nearest is not looked for."""
_LONGEST = 80


def suggest(name: str, known: Iterable[str]) -> str:
    """`; did you mean `x`?` for the nearest known name, or nothing. What was asked before costs little.

    >>> suggest("tmep", ["door", "temp"])
    '; did you mean `temp`?'
    """
    near = nearest(name[:_LONGEST], tuple(known))
    return f"; did you mean `{near}`?" if near else ""


@lru_cache(maxsize=256)
def nearest(name: str, known: tuple[str, ...]) -> str:
    """The nearest of some names; empty if none is near, or there are too many."""
    if len(known) > MAX_CANDIDATES:
        return ""
    return next(iter(get_close_matches(name, known, n=1)), "")

"""Results that follow from an object that never changes, computed once for each object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Of = TypeVar("Of")
Found = TypeVar("Found")


def once_per_object(find: Callable[[Of], Found], most: int) -> Callable[[Of], Found]:
    """The same function, which looks again only for an object that it has not been asked about, or for `most` others since.

    Objects that are equal are told apart, as 1 and 1.0 are equal, and are not the same constant.

    >>> found = once_per_object(lambda row: [*row], most=8)
    >>> row = (1, 2)
    >>> found(row) is found(row), found(row) is found((1.0, 2.0))
    (True, False)
    """
    known: dict[int, tuple[Of, Found]] = {}  # with the object itself, so that its number stays its own

    def remembered(of: Of) -> Found:
        entry = known.get(id(of))
        if entry is not None:
            return entry[1]
        found = find(of)
        if len(known) >= most:
            known.clear()
        known[id(of)] = of, found
        return found

    return remembered

"""What can be reached in a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def reachable(start: Iterable[K], following: Callable[[K], Iterable[K]]) -> set[K]:
    """Some nodes and all to which they lead, step by step; `following` tells those that come next.

    >>> sorted(reachable(["a"], {"a": ["b"], "b": ["a", "c"], "c": [], "d": ["a"]}.__getitem__))
    ['a', 'b', 'c']
    """
    found: set[K] = set()
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += following(node)
    return found

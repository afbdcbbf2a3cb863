"""What is to be told at each time point, in the order of its text: a fact that comes or goes costs about its own place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter

from tidelog.plans.facts import Row

Shown = tuple[str, int, str, Row, int]
"""A fact's text, its end, its predicate and row, its begin."""
_TEXT = itemgetter(0)
_LARGEST = 512


class Showing:
    """Facts sorted by text, in short blocks; among the same text in the order in which they came.

    >>> showing = Showing()
    >>> b, a = ("p(b)", 9, "p", ("b",), 1), ("p(a)", 9, "p", ("a",), 1)
    >>> showing.add(b), showing.add(a), [fact[0] for block in showing.blocks for fact in block]
    (None, None, ['p(a)', 'p(b)'])
    >>> showing.remove(a)
    >>> list(showing) == [b]
    True
    """

    __slots__ = ("_lasts", "blocks")

    def __init__(self) -> None:
        self.blocks: list[list[Shown]] = []
        self._lasts: list[str] = []  # the last text of each block

    def add(self, fact: Shown) -> None:
        text = fact[0]
        i = bisect_right(self._lasts, text)
        if i == len(self.blocks):
            if not i:
                self.blocks.append([fact])
                self._lasts.append(text)
                return
            i -= 1
        block = self.blocks[i]
        block.insert(bisect_right(block, text, key=_TEXT), fact)
        self._lasts[i] = block[-1][0]
        if len(block) > _LARGEST:
            half = len(block) >> 1
            self.blocks[i : i + 1] = block[:half], block[half:]
            self._lasts.insert(i, block[half - 1][0])

    def remove(self, fact: Shown) -> None:
        """Take out a fact that has been added."""
        i = bisect_left(self._lasts, fact[0])
        block = self.blocks[i]
        at = bisect_left(block, fact[0], key=_TEXT)
        while block[at] != fact:
            at += 1
            if at == len(block):
                i, at = i + 1, 0
                block = self.blocks[i]
        del block[at]
        if block:
            self._lasts[i] = block[-1][0]
        else:
            del self.blocks[i], self._lasts[i]

    def __iter__(self) -> Iterator[Shown]:
        return chain.from_iterable(self.blocks)

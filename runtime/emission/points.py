"""What is to be told at each time point, in the order of its text: a fact that comes or goes costs about its own place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain, repeat
from operator import itemgetter

from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.data.facts import Record, Row

Shown = tuple[str, int, str, Row, int]
"""A fact's text, its end, its predicate and row, its begin."""
_TEXT = itemgetter(0)


class Block:
    """Facts sorted by text; their predicates and their rows stand by themselves, too, since answers are made of these."""

    __slots__ = ("facts", "predicates", "rows")

    def __init__(self, facts: list[Shown]) -> None:
        self.facts = facts
        self.predicates = [fact[2] for fact in facts]
        self.rows = [fact[3] for fact in facts]

    def insert(self, at: int, fact: Shown) -> None:
        self.facts.insert(at, fact)
        self.predicates.insert(at, fact[2])
        self.rows.insert(at, fact[3])

    def delete(self, at: int) -> None:
        del self.facts[at], self.predicates[at], self.rows[at]


class Showing:
    """Facts sorted by text, in short blocks; among the same text in the order in which they came.

    >>> showing = Showing()
    >>> b, a = ("p(b)", 9, "p", ("b",), 1), ("p(a)", 9, "p", ("a",), 1)
    >>> showing.add(b), showing.add(a), showing.at(5)
    (None, None, [('p', ('a',), 5, 5), ('p', ('b',), 5, 5)])
    >>> showing.remove(a)
    >>> list(showing) == [b]
    True
    """

    __slots__ = ("_lasts", "blocks")

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._lasts: list[str] = []  # the last text of each block

    def add(self, fact: Shown) -> None:
        text = fact[0]
        i = bisect_right(self._lasts, text)
        if i == len(self.blocks):
            if not i:
                self.blocks.append(Block([fact]))
                self._lasts.append(text)
                return
            i -= 1
        block = self.blocks[i]
        facts = block.facts
        block.insert(bisect_right(facts, text, key=_TEXT), fact)
        self._lasts[i] = facts[-1][0]
        if len(facts) > LIMITS.block:
            half = len(facts) >> 1
            self.blocks[i : i + 1] = Block(facts[:half]), Block(facts[half:])
            self._lasts.insert(i, facts[half - 1][0])

    def remove(self, fact: Shown) -> None:
        """Take out a fact that has been added."""
        i = bisect_left(self._lasts, fact[0])
        block = self.blocks[i]
        at = bisect_left(block.facts, fact[0], key=_TEXT)
        while block.facts[at] != fact:
            at += 1
            if at == len(block.facts):
                i, at = i + 1, 0
                block = self.blocks[i]
        block.delete(at)
        if block.facts:
            self._lasts[i] = block.facts[-1][0]
        else:
            del self.blocks[i], self._lasts[i]

    def at(self, point: int) -> list[Record]:
        """What is told at a time point."""
        told: list[Record] = []
        for block in self.blocks:
            told.extend(zip(block.predicates, block.rows, repeat(point), repeat(point), strict=False))
        return told

    def __iter__(self) -> Iterator[Shown]:
        return chain.from_iterable([block.facts for block in self.blocks])

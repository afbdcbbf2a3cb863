"""Amortised limits: how much may pile up before it is looked at again, all in one place.

They decide when work is done, and how much memory is used meanwhile; never what is answered. Tests set each to its least
(`tests/limits.py`), so that what usually happens once in thousands of facts happens at each.
"""

from __future__ import annotations

from typing import Final


class Limits:
    """The limits of all operators and of the emission. Whoever changes them does so before a session is made."""

    __slots__ = (
        "ahead",
        "at_once",
        "block",
        "bucket",
        "effort",
        "few",
        "often",
        "patience",
        "portion",
        "prompt",
        "round",
        "sample",
        "spare",
        "spread",
    )

    def __init__(self) -> None:
        self.spare = 64
        """So many entries may be void (of an agenda, of a heap, of a list), beside as many as are in use."""
        self.round = 256
        """So many ranges are new before a store looks for what it can forget, unless a quarter as many end together."""
        self.effort = 4
        """So many ranges are looked at in such a round for each new one."""
        self.often = 64
        """A step that has nothing to tell catches up after so many facts at the earliest, in order to forget."""
        self.spread = 32
        """With each fact that comes, of the steps that may have something to forget one in so many does so (`Network`)."""
        self.bucket = 1_024
        """So many items at most are looked at together, since they end at about one time (`operators/stores/buckets.py`)."""
        self.block = 512
        """So many sorted items stand in one list."""
        self.few = 8
        """So many pieces, or rows, under one key are a tuple, and are looked through."""
        self.ahead = 8
        """After so many facts a negation looks at twice as many of those that begin next, which may be void by then."""
        self.prompt = 16
        """So many rows that go on are told anew at each move of the frontier (`runtime/emission/growing.py`)."""
        self.at_once = 1_000
        """A fact over up to so many times is spread at once, where each time is a row (`operators/windows/bind.py`)."""
        self.portion = 65_536
        """So many rows that a join has made wait before it is looked at which of them are new."""
        self.sample = 512
        """After so many facts it is judged whether looking at each is worth it (`runtime/network/row_prospects.py`)."""
        self.patience = 65_536
        """For so many facts it is not looked at them otherwise."""


LIMITS: Final = Limits()
"""Those in force, for all sessions of this process."""

"""Amortised limits in tests: others than usual for a while, so that what happens seldom happens often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import strategies as st

from tidelog.operators.stores.amortised import LIMITS

LEAST = {
    "spare": 0,
    "round": 0,
    "effort": 1,
    "often": 0,
    "spread": 1,
    "bucket": 1,
    "block": 1,
    "few": 1,
    "ahead": 1,
    "prompt": 0,
    "at_once": 1,
    "portion": 1,
    "sample": 1,
    "patience": 1,
}
"""The least value of each at which everything still has to be right."""


@contextmanager
def limits(**values: int) -> Iterator[None]:
    """These limits, in place of the usual ones, for sessions that are made meanwhile."""
    before = {name: getattr(LIMITS, name) for name in LEAST}
    try:
        for name, value in values.items():
            setattr(LIMITS, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(LIMITS, name, value)


def some_limits() -> st.SearchStrategy[dict[str, int]]:
    """All as usual, one of them at its least, or all of them."""
    alone = [{name: least} for name, least in LEAST.items()]
    return st.sampled_from([{}, dict(LEAST), dict(LEAST), *alone])

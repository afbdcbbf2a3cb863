"""A stretch of work that makes much and throws nothing away, in which Python does not look for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the search for garbage in cycles; what is in no cycle is freed as ever.

    A program that is compiled stays whole, and to look through it again and again while it grows takes a third of the time.
    Nothing changes where the search is off already.

    >>> before = gc.isenabled()
    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled() == before
    True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

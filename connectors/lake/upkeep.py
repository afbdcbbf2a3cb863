"""Tables are written by several processes at once, stay in few files, and let go what no version that is kept needs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import TypeVar

from tidelog.connectors.lake.tables import Compacted, Conflict, Table

COMPACTED = 20
"""After how many versions small files become one."""
SMALL = 8 << 20
"""How many bytes a file has that such upkeep leaves alone."""
VACUUMED = 200
"""After how many versions files are taken away that no version of the last `KEPT` hours needs."""
KEPT = 7 * 24
"""For how many hours older versions stay readable."""
_ATTEMPTS = 12
_PAUSE, _LONGEST = 0.02, 2.0
"""The pauses between two attempts to commit, in seconds; they grow, and are drawn, since others wait, too."""

_DRAWN = random.SystemRandom()

T = TypeVar("T")


def insist(work: Callable[[], T]) -> T:
    """Do some work anew as often as others come before, and return what it returns. Conflict where they always do."""
    for attempt in range(_ATTEMPTS - 1):
        try:
            return work()
        except Conflict:
            longest = min(_LONGEST, _PAUSE * 2**attempt)
            time.sleep(_DRAWN.uniform(0, longest))
    return work()


def keep_up(table: Table, since: int) -> None:
    """What is due of a table whose last version was `since` before it was written."""
    version = table.version
    try:
        if version // COMPACTED != max(since, 0) // COMPACTED:
            for day in table.scattered(SMALL):
                table.compact(SMALL, day)
        if version // VACUUMED != max(since, 0) // VACUUMED:
            table.vacuum(KEPT)
    except Conflict:  # another process writes it: it is due again soon
        return


def compact(table: Table, size: int) -> Compacted:
    """Make files of about so many bytes of smaller ones, also where others write the table meanwhile.

    Each day has a commit of its own, so that little is done anew. Conflict where others always come before.
    """

    def work(day: date | None) -> Compacted:
        table.refresh()
        return table.compact(size, day)

    table.refresh()
    done = [insist(partial(work, day)) for day in table.scattered(size)]
    return Compacted(sum(each.added for each in done), sum(each.removed for each in done))


def vacuum(table: Table, hours: int) -> int:
    """`Table.vacuum`, also where others write the table meanwhile; how many files the last attempt has taken away."""

    def work() -> int:
        table.refresh()
        return table.vacuum(hours)

    return insist(work)

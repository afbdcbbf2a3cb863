"""What the sources have said last, and when: counts, silence, and the last fact of each device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tidelog.plans.data.facts import Record
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.interfaces import Batch, Rejected

MAX_SOURCES = 100
MAX_FACTS = 200
"""How many sources are told apart, and how many last facts are kept of each: one for each predicate and first argument."""
OTHERS = "others"
"""The name under which sources are counted that are one too many."""
REASONS = ("late", "ahead", "long")
"""Why facts are refused, beside those that cannot be read; the words with which the reasons begin."""


@dataclass(slots=True)
class Heard:
    """Of one source: how many facts came, when it spoke last (by the clock), and the last facts, with when each came."""

    facts: int = 0
    moment: float | None = None
    dead: dict[str, int] = field(default_factory=dict)
    last: dict[tuple[str, Value | None], tuple[Record, float]] = field(default_factory=dict)

    @property
    def accepted(self) -> int:
        """How many facts were not refused."""
        return self.facts - sum(self.dead.get(reason, 0) for reason in REASONS)

    def hear(self, facts: int, records: Sequence[Record], moment: float) -> None:
        """It has brought so many facts, of which these records are accepted."""
        self.facts += facts
        self.moment = moment
        found: dict[tuple[str, Value | None], Record] = {}
        for record in reversed(records):
            key = (record[0], record[1][0] if record[1] else None)
            if key not in found:
                found[key] = record
        for key, record in reversed(found.items()):
            self.last.pop(key, None)
            self.last[key] = (record, moment)
        while len(self.last) > MAX_FACTS:
            del self.last[next(iter(self.last))]

    def refuse(self, refused: Sequence[Rejected]) -> None:
        """So much of what it said could not be used."""
        for item in refused:
            word = kind_of(item)
            self.dead[word] = self.dead.get(word, 0) + 1


class Sources:
    """Every source by its name; what a listener brings counts under the listener's."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.heard: dict[str, Heard] = {}

    def took(self, source: str, batch: Batch | None, accepted: Sequence[Record], refused: Sequence[Rejected]) -> None:
        """The engine has taken what a source said: these records of it, but for what was refused."""
        if batch is None and not refused:
            return
        heard = self._find(source_name(source))
        if batch is not None:
            heard.hear(len(batch.records), accepted, self.clock())
        if refused:
            heard.refuse(refused)

    def silences(self) -> list[tuple[str, float]]:
        """For each source that has spoken, for how many seconds it has not."""
        moment = self.clock()
        return [(name, moment - heard.moment) for name, heard in self.heard.items() if heard.moment is not None]

    def _find(self, name: str) -> Heard:
        if name not in self.heard and len(self.heard) >= MAX_SOURCES:
            name = OTHERS
        return self.heard.setdefault(name, Heard())


def kind_of(item: Rejected) -> str:
    """Why a record was refused, in a word.

    >>> kind_of(Rejected("a:1", "late: facts before 3 can no longer come", b"")), kind_of(Rejected("a:1", "not JSON", b""))
    ('late', 'unreadable')
    """
    word = item.reason.partition(":")[0]
    return word if word in REASONS else "unreadable"


def source_name(name: str) -> str:
    """A source as users know it: `0:temps.csv` is numbered by the engine, `1:tcp #7 127.0.0.1:4711` came by a listener.

    >>> source_name("0:temps.csv"), source_name("1:tcp://127.0.0.1:9400 #7 127.0.0.1:4711")
    ('temps.csv', 'tcp://127.0.0.1:9400')
    """
    number, _, rest = name.partition(":")
    return (rest if number.isdigit() else name).partition(" #")[0]

"""The other side of a wire, as the kit asks for it, and the program whose facts and answers pass over it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, NamedTuple

from tidelog.compiling import compile as compile_text
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import Listener, Sink, Source

PLAN: Final = compile_text(
    "timeline integer, unit 1 s, round down. input reading(n: integer). output alarm(n, note). "
    'alarm(N, "none") :- reading(N).'
)
"""Sources bring `reading(n)`, sinks are told `alarm(n, note)`. The kit tells facts and answers by their number `n`."""
POISON: Final = 999_983
"""The number of what a sink cannot deliver, or a source cannot read."""
_NUMBER = re.compile(r"\d+")


class Arrival(NamedTuple):
    """An answer that has arrived: its number, and the id by which the receiver would know it again, if it has one."""

    number: int
    id: str | None = None


def alarm(number: int, note: str = "none") -> Record:
    """The answer with this number."""
    return ("alarm", (number, note), number, number)


def number_in(text: str | bytes) -> int:
    """The number of an answer, where it is the first one in its text.

    >>> number_in('{"n":17,"note":"none"}')
    17
    """
    found = _NUMBER.search(text if isinstance(text, str) else text.decode())
    if found is None:
        raise ValueError(f"there is no number in {text!r}")
    return int(found[0])


class SinkBench(ABC):
    """Who receives what a sink sends, on the machine of the test.

    All of it may be called while the sink runs, and none of it waits for the sink.
    """

    poison: Record = alarm(POISON, "\ud800")
    """An answer that can never be delivered: by default a text that no encoding has, half of a surrogate pair."""

    @abstractmethod
    def open(self) -> Sink:
        """A new sink to this receiver, not entered yet, as after a restart: for `PLAN`, with short pauses before retries."""

    @abstractmethod
    def arrived(self) -> Sequence[Arrival]:
        """All that the receiver has got so far, in order, also what came twice."""

    def deafen(self) -> None:
        """From now on take what comes, and let the sink not learn of it, until `come_back`."""
        raise NotImplementedError

    def leave(self) -> None:
        """End all connections, and let nobody connect, until `come_back`."""
        raise NotImplementedError

    def come_back(self) -> None:
        """Be there again, as before, after connections were ended."""
        raise NotImplementedError


class SourceBench(ABC):
    """Who sends what a source brings, on the machine of the test."""

    @abstractmethod
    def open(self) -> Source | Listener:
        """A new source to this sender, not entered yet, as after a restart: of `PLAN`, with the same name each time."""

    @abstractmethod
    def say(self, numbers: Sequence[int]) -> None:
        """Send readings with these numbers, and send again what the protocol says has not arrived.

        Called in a thread of its own; it may wait for the source. It keeps little of them in the memory of this process.
        """

    def say_poison(self) -> None:
        """Send what is no reading."""
        raise NotImplementedError

    def cut(self) -> None:
        """End all connections; new ones can be made."""
        raise NotImplementedError

    def leave(self) -> None:
        """End all connections, and let nobody connect any more."""
        raise NotImplementedError

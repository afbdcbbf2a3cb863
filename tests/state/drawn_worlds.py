"""A machine that is killed at drawn moments: what its disk holds, what its sinks got, and sources that can be read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio.lowlevel
from engine.runners import MemoryStore

from tidelog import MemorySource
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.durability import Changes, Heading, Kept, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch

T = TypeVar("T")


class KilledError(Exception):
    """The process is killed."""


class Machine:
    """Counts all that is written for good, and is killed before or after the `left`th time; None: never."""

    def __init__(self) -> None:
        self.left: int | None = None
        self._is_dead = False

    def revive(self, left: int | None) -> None:
        self.left, self._is_dead = left, False

    def write(self, call: Callable[[], T]) -> T:
        """Write something, unless it is killed before; what it has written stays."""
        self._pass()
        done = call()
        self._pass()
        return done

    def _pass(self) -> None:
        if self.left is not None and not self._is_dead:
            self.left -= 1
            self._is_dead = self.left <= 0
        if self._is_dead:
            raise KilledError


class Disk(MemoryStore):
    """The state of a run on such a machine."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    def commit(self, changes: Changes) -> Kept:
        return self._machine.write(lambda: super(Disk, self).commit(changes))


class KeepingSink:
    """Keeps each answer exactly once: what it has not secured when it is killed is gone."""

    promise: Promise = "exactly once"
    name = "keeping"

    def __init__(self, machine: Machine) -> None:
        self.kept: list[Record] = []
        self._machine = machine
        self._given: list[Record] = []

    async def __aenter__(self) -> KeepingSink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    def resume(self, run: str, taken: int, standing: dict[str, Any] | None) -> int:
        assert taken <= len(self.kept)
        self._given = []
        return len(self.kept)

    def number(self, heading: Heading) -> None:
        assert heading.first == len(self.kept) + len(self._given) + 1

    def confirmed(self) -> int:
        return len(self.kept)

    def standing(self) -> dict[str, Any]:
        return {}

    def check(self) -> None:
        """Nothing can be lost."""

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        await anyio.lowlevel.checkpoint()
        self._given += [answer for answer in answers if isinstance(answer, tuple)]

    def secure(self) -> None:
        if self._given:
            self._machine.write(self._keep)

    def _keep(self) -> None:
        self.kept += self._given
        self._given = []


class NumberingSink:
    """Gets each answer at least once, with its number: what comes again has to be what came before."""

    name = "numbering"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._first = 1
        self.found: dict[int, Record] = {}

    async def __aenter__(self) -> NumberingSink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    def number(self, heading: Heading) -> None:
        self._first = heading.first

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        await anyio.lowlevel.checkpoint()
        self._machine.write(lambda: self._take(answers))

    def _take(self, answers: Sequence[AnyAnswer]) -> None:
        for number, answer in enumerate(answers, self._first):
            assert isinstance(answer, tuple)
            assert self.found.setdefault(number, answer) == answer


class Readable(MemorySource):
    """Batches that can be read again from where each ends; with `is_recorded`, no clock makes them late."""

    is_replayable = True

    def __init__(self, name: str, batches: Sequence[Sequence[Record]], *, is_recorded: bool) -> None:
        self._batches = [Batch(list(records), position={"at": i}) for i, records in enumerate(batches, 1)]
        super().__init__(self._batches, name=name)
        self.is_recorded = is_recorded

    def resume(self, position: dict[str, Any]) -> None:
        self._rest = iter(self._batches[position["at"] :])

"""The delivery queue: answers are numbered, stored with the commit that told them, and kept until every sink has taken them.

What was committed last is held in memory, too, up to `IN_MEMORY` answers; a sink that is further behind reads the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile

import anyio

from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.changelog import Group, pack_told, unpack_told
from tidelog.runtime.ports.durability import Backlog, Heading, Kept, Leading, Owing, SinkLimits, Term, Told
from tidelog.runtime.ports.interfaces import AnyAnswer

IN_MEMORY = 50_000
"""How many answers that are committed are held in memory at most."""
BLOCK = 10_000
"""After how many answers a block is full: groups are never cut."""

Read = Callable[[int], Awaitable[Told | None]]
"""Reads the block that holds an answer; None where it is not stored."""


class Owed:
    """The answers of a run, from the first that a sink still has to take to the last that was told.

    `told` and `committed` are the numbers of the last answer that was told, and of the last that may be seen.
    """

    def __init__(self, run: str, read: Read, backlog: Backlog, leading: Leading | None = None) -> None:
        self.run = run
        self._leading, self._terms = leading, list[Term]()
        self.told = self.committed = 0
        self.first_kept = 1
        self._read, self._backlog = read, backlog
        self._new: list[Group] = []
        self._recent: deque[Group] = deque()
        self._held = self._bytes = 0
        self._is_closed = False
        self._changed: anyio.Event

    def begin(self) -> None:
        """From now on within the event loop."""
        self._changed = anyio.Event()

    def go_on(self, told: int) -> None:
        """Go on behind the answer number `told`."""
        self.told = self.committed = told

    def lead(self) -> None:
        """What is told from now on is told under the lease, if there is one."""
        if self._leading is not None:
            self._terms = list(self._leading.lead(self.committed))

    @property
    def has_moved(self) -> bool:
        """Whether another process has led the run before this one."""
        return len(self._terms) > 1 and self._terms[-2].node != self._terms[-1].node

    # --- being told -----------------------------------------------------------------------------------------------------

    def tell(self, answers: Sequence[AnyAnswer], frontier: int) -> None:
        """Number answers, which nobody sees before they are committed."""
        if answers:
            self._new.append(Group(self.told + 1, frontier, answers))
            self.told += len(answers)

    def unsay(self, told: int) -> None:
        """Forget the answers behind this number, which were told, and not committed."""
        while self._new and self._new[-1].first > told:
            self._new.pop()
        self.told = told

    @property
    def waiting(self) -> int:
        """How many answers wait to be committed."""
        return self.told - self.committed

    @property
    def held(self) -> int:
        """How many answers are in memory."""
        return self._held + self.waiting

    def take_new(self) -> list[Group]:
        """What waits to be committed, for the commit that is about to be."""
        new, self._new = self._new, []
        return new

    def stored(self, groups: Sequence[Group], kept: Kept) -> None:
        """These are committed: let the sinks see them."""
        for group in groups:
            self._recent.append(group)
            self._held += len(group.answers)
            self.committed = group.last
        self.first_kept, self._bytes = kept.first, kept.size
        while self._recent and (self._recent[0].last < kept.first or (self._held > IN_MEMORY and len(self._recent) > 1)):
            self._held -= len(self._recent.popleft().answers)
        self._notify()

    def close(self) -> None:
        """No more will be told: a sink that has taken all has done."""
        self._is_closed = True
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    # --- being taken ----------------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Whether more waits for the sinks than may."""
        return self._bytes >= self._backlog.size

    @property
    def most(self) -> int | None:
        """With how many bytes the oldest answers are dropped; None where none is."""
        return self._backlog.size if self._backlog.full == "drop-oldest" else None

    @property
    def full(self) -> str:
        """What to do while it is full."""
        return self._backlog.full

    def limits(self, sink: str) -> SinkLimits:
        """Those of one sink."""
        return self._backlog.of(sink)

    def owing(self) -> Owing:
        """How much waits for sinks."""
        return Owing(self._bytes, self._backlog.size, self.is_full and self.most is None)

    async def behind(self, after: int) -> list[tuple[Heading, Sequence[AnyAnswer]]]:
        """Wait for answers behind this number: all that are at hand, by groups; none where the first was dropped meanwhile.

        EndOfStream where there will be none; FencedError where this process may tell nothing any more.
        """
        while after >= self.committed:
            if self._is_closed:
                raise anyio.EndOfStream
            await self._changed.wait()
        if self._leading is not None:
            self._leading.check()
        groups = list(takewhile(lambda group: group.last > after, reversed(self._recent)))[::-1]
        if self.first_kept <= after + 1 and (not groups or groups[0].first > after + 1):
            groups = [group for group in await self._from_store(after + 1) if group.last > after]
        if not groups or self.first_kept > after + 1:
            return []
        first = groups[0]
        rest = first.answers[after + 1 - first.first :]
        headed = [(self._heading(after + 1, first.frontier), rest)]
        return headed + [(self._heading(group.first, group.frontier), group.answers) for group in groups[1:]]

    def _heading(self, first: int, frontier: int) -> Heading:
        """What stands over answers. Under each lease a run has another name: two that told answers under one number, since
        neither knew of the other, have told two answers."""
        if self._leading is None:
            return Heading(self.run, first, frontier)
        term = next((term for term in reversed(self._terms) if term.first <= first), None)
        name = self.run if term is None else f"{self.run}e{term.epoch}"
        return Heading(name, first, frontier, self._leading.epoch)

    async def _from_store(self, number: int) -> list[Group]:
        changed = self._changed
        block = await self._read(number)
        if (block is None or block.first > number) and self.most is not None:
            await changed.wait()  # the commit that drops it has been written, and is about to be known here
            return []
        if block is None or block.first > number:
            raise ConnectorError(f"answer number {number} is owed, and not stored")
        return unpack_told(block.data)


def blocks_of(groups: Sequence[Group]) -> list[Told]:
    """Groups cut into blocks."""
    blocks: list[Told] = []
    begin = count = 0
    for i, group in enumerate(groups):
        count += len(group.answers)
        if count >= BLOCK or i == len(groups) - 1:
            blocks.append(Told(groups[begin].first, group.last, pack_told(groups[begin : i + 1])))
            begin, count = i + 1, 0
    return blocks

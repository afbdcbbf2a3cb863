"""The shape of all kernels: coverage of stretches of history in, the coverage that follows for sure out.

History comes in stretches. With each, a kernel gets what is new on its ports, and how far each port is known by then: its
frontier. It gives all coverage at times behind its own frontier before and up to its new one, so each time is told in one
stretch. What later stretches may need of its input it keeps, whatever it is: `kept`. At the end all frontiers are `POS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import shift
from tidelog.plans.data.timeline import NEG, POS


class Kernel(ABC):
    """What a step computes, stretch by stretch. `widths` are the arguments of each port, `width` those of its output.

    `failed` counts the rows for which arithmetic had no result.
    """

    def __init__(self, widths: Sequence[int], width: int, pool: Pool) -> None:
        self.widths = tuple(widths)
        self.width = width
        self.pool = pool
        self.frontier = NEG
        self.failed = 0

    @abstractmethod
    def advance(self, fresh: Sequence[Batch], frontiers: Sequence[int], frontier: int) -> Batch:
        """Take what is new on each port; returns what holds behind the last frontier and up to this one."""

    @abstractmethod
    def held(self) -> Sequence[Batch]:
        """What is kept for later."""

    def kept(self) -> int:
        """How many rows are kept for later."""
        return sum(map(len, self.held()))

    def size(self) -> int:
        """How many bytes these have."""
        return sum(batch.size for batch in self.held())

    def remains(self) -> Sequence[Batch]:
        """What is kept of the input, as rows of each port: all behind the frontier follows from it, and what comes later."""
        return [empty(width) for width in self.widths]

    def told(self, found: Batch, frontier: int) -> tuple[Batch, Batch]:
        """What of some coverage is told now that the frontier moves to this one, and what lies beyond it."""
        if frontier <= NEG:
            return empty(self.width), found
        out = found.clipped(after(self.frontier), frontier)
        self.frontier = frontier
        return out, found.clipped(frontier + 1, POS) if frontier < POS else empty(self.width)


def after(frontier: int) -> int:
    """The first time behind a frontier: all times are, where nothing is known yet."""
    return NEG if frontier <= NEG else frontier + 1


class Resumable(Kernel):
    """A kernel that is all that it holds: another of the same step goes on from there."""

    @abstractmethod
    def go_on_from(self, held: Sequence[Batch], frontier: int) -> None:
        """Keep what another kernel `held` when it had told all up to this frontier."""


class Pointwise(Resumable):
    """A kernel whose output is the union of what each fact of its ports gives by itself.

    Kept is what has been found beyond the frontier.
    """

    def __init__(self, widths: Sequence[int], width: int, pool: Pool) -> None:
        super().__init__(widths, width, pool)
        self.beyond = empty(width)

    @abstractmethod
    def give(self, port: int, batch: Batch) -> Batch:
        """What follows from some coverage of a port."""

    def advance(self, fresh: Sequence[Batch], frontiers: Sequence[int], frontier: int) -> Batch:
        given = [self.give(port, batch) for port, batch in enumerate(fresh) if len(batch)]
        found = joined([self.beyond, *given], self.width, self.pool)
        out, beyond = self.told(found, frontier)
        self.beyond = beyond.tidied(self.pool)
        return out

    def held(self) -> Sequence[Batch]:
        return [self.beyond]

    def go_on_from(self, held: Sequence[Batch], frontier: int) -> None:
        (self.beyond,), self.frontier = held, frontier


class Windowed(Resumable):
    """A kernel that computes its output from all that may matter of its ports, and forgets what no longer does.

    `reach[port]` is how far behind its own frontier a kernel still looks at a port.
    """

    def __init__(self, widths: Sequence[int], width: int, pool: Pool, reach: Sequence[int]) -> None:
        super().__init__(widths, width, pool)
        self._reach = tuple(reach)
        self._held = [empty(each) for each in widths]

    @abstractmethod
    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        """What holds, up to a frontier at least; what lies before the last one, or behind this, is left out by others."""

    def prepared(self, port: int, batch: Batch) -> Batch:
        """What is kept of what comes on a port."""
        return batch

    def left(self, held: Sequence[Batch], frontier: int) -> list[Batch]:
        """What is kept of each port behind a frontier."""
        first = [shift(frontier, -reach) for reach in self._reach]
        return [batch.take(batch.hi > least) if len(batch) else batch for batch, least in zip(held, first, strict=True)]

    def advance(self, fresh: Sequence[Batch], frontiers: Sequence[int], frontier: int) -> Batch:
        held = [
            joined([old, self.prepared(port, new) if len(new) else new], old.width, self.pool)
            for port, (old, new) in enumerate(zip(self._held, fresh, strict=True))
        ]
        self.settle(held)
        out = empty(self.width) if frontier <= NEG else self.told(self.compute(held, frontier), frontier)[0]
        self._held = [empty(each.width) for each in held] if frontier >= POS else self.left(held, frontier)
        return out

    def settle(self, held: list[Batch]) -> None:
        """Put what is held into the form in which it is computed with and kept."""

    def held(self) -> Sequence[Batch]:
        return self._held

    def go_on_from(self, held: Sequence[Batch], frontier: int) -> None:
        self._held, self.frontier = list(held), frontier

    def remains(self) -> Sequence[Batch]:
        return self._held

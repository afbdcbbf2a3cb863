"""A recursive component that stays at one time: rounds over what is new, until nothing is."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.joining import outside
from tidelog.operators.columns.kernel import after
from tidelog.operators.columns.pool import Pool
from tidelog.operators.columns.rules import Rule, rule_of
from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.plan import Loop, Step

Port = tuple[str, int]


class Rounds:
    """The members of a loop, and the coverage that has come for its entries, but lies behind the frontier."""

    def __init__(self, loop: Loop, steps: Mapping[str, Step], widths: Mapping[str, int], pool: Pool) -> None:
        self._pool = pool
        self._steps = [steps[name] for name in loop.members]
        self._entries = loop.entries
        self._rules: dict[str, Rule] = {step.id: rule_of(step.shape, pool) for step in self._steps}
        self._widths = widths
        self._waiting: dict[Port, Batch] = {}
        self._readers: dict[str, list[Port]] = {name: [] for name in loop.members}
        for step in self._steps:
            for port, feed in enumerate(step.inputs):
                if feed.kind == "step" and feed.name in self._readers:
                    self._readers[feed.name].append((step.id, port))
        self.frontier = NEG

    def advance(self, fresh: Mapping[Port, Batch], frontier: int) -> dict[str, Batch]:
        """Take what is new at the entries; returns what each member says behind the last frontier, up to this one."""
        now: dict[Port, Batch] = {}
        for entry in self._entries:
            batches = [self._waiting[entry]] if entry in self._waiting else []
            batches += [fresh[entry]] if entry in fresh and len(fresh[entry]) else []
            if batches:
                batch = joined(batches, batches[0].width, self._pool)
                if frontier > NEG:
                    now[entry] = batch.clipped(after(self.frontier), frontier)
                self._waiting[entry] = batch.take(batch.hi > frontier)
        self.frontier = frontier
        return self._follow(now)

    def _follow(self, new: dict[Port, Batch]) -> dict[str, Batch]:
        pool = self._pool
        known: dict[Port, Batch] = {}
        said = {step.id: empty(self._widths[step.id]) for step in self._steps}
        while new:
            for port, batch in new.items():
                known[port] = joined([known[port], batch], batch.width, pool) if port in known else batch
            following: dict[Port, Batch] = {}
            for step in self._steps:
                found = [
                    self._rules[step.id].give(port, new[step.id, port], self._ports(step, known))
                    for port in range(len(step.inputs))
                    if (step.id, port) in new
                ]
                fresh = self._unsaid(step.id, joined(found, self._widths[step.id], pool), said)
                if len(fresh):
                    for reader in self._readers[step.id]:
                        following[reader] = fresh
            new = following
        return said

    def _ports(self, step: Step, known: Mapping[Port, Batch]) -> list[Batch | None]:
        return [known.get((step.id, port)) for port in range(len(step.inputs))]

    def _unsaid(self, name: str, found: Batch, said: dict[str, Batch]) -> Batch:
        """What a member has not said before; it is noted."""
        if not len(found):
            return found
        before = said[name]
        fresh = outside(found.tidied(self._pool), range(found.width), before, self._pool)
        if len(fresh):
            said[name] = joined([before, fresh], fresh.width, self._pool).tidied(self._pool)
        return fresh.tidied(self._pool)

    def kept(self) -> int:
        """How many rows wait for the frontier."""
        return sum(map(len, self._waiting.values()))

    def size(self) -> int:
        """How many bytes these have."""
        return sum(batch.size for batch in self._waiting.values())

    def unfinished(self) -> list[str]:
        """Nothing: what stays at one time comes to rest."""
        return []

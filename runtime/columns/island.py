"""A recursive component that moves in time, row by row, between steps that run over columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import itemgetter

from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import shift
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.plan import Feed, Loop, Plan, Step
from tidelog.runtime.columns.memory import ROW
from tidelog.runtime.ports.interfaces import Batch as Records
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings

_begin = itemgetter(2)


class Island:
    """The loop as a plan of its own, whose streams are what enters it; `read` are the members that others read.

    All its ports are known as far as the one that is known least.
    """

    def __init__(self, plan: Plan, loop: Loop, widths: Mapping[str, int], read: Collection[str], pool: Pool) -> None:
        self._pool = pool
        self._widths = widths
        self._own = _alone(plan, loop, read)
        self._reasoner = Reasoner(self._own, Settings(lateness=math.inf, max_state=None))
        self._told: dict[str, list[Fact]] = {}
        self.frontier = NEG

    def advance(self, fresh: Mapping[Feed, Batch], frontier: int) -> dict[str, Batch]:
        """Take what is new of each feed from outside, and how far all of them are known; returns what is new of each
        member that others read."""
        records: list[Record] = []
        for feed, batch in fresh.items():
            if len(batch):
                name = _stream_of(feed)
                records += [(name, *fact) for fact in batch.tidied(self._pool).facts(self._pool)]
        records.sort(key=_begin)
        if frontier >= POS:
            self._reasoner.take(SOURCE, Records(records))
            self._reasoner.end(SOURCE)
        else:
            watermark = None if frontier <= NEG else frontier
            self._reasoner.take(SOURCE, Records(records, watermark=watermark))
        self.frontier = frontier
        told: dict[str, list[Fact]] = {name: [] for name in self._own.outputs}
        for name, row, lo, hi in self._reasoner.pull_records():
            told[name].append((row, lo, hi))
        return {name: batch_of(facts, self._widths[name], self._pool) for name, facts in told.items()}

    def reached(self, name: str) -> int:
        """How far a member is known."""
        return shift(self.frontier, self._own.leads[name])

    def kept(self) -> int:
        """How many rows its operators hold."""
        return self._reasoner.statistics().entries

    def size(self) -> int:
        """How many bytes these take, about."""
        return self.kept() * ROW

    def unfinished(self) -> list[str]:
        """What has no end, and was followed only as far as the stream went."""
        return self._reasoner.unfinished()


def _stream_of(feed: Feed) -> str:
    return f"{feed.kind} {feed.name}"


def _alone(plan: Plan, loop: Loop, read: Collection[str]) -> Plan:
    """The members of a loop as a plan."""
    members = set(loop.members)

    def inside(step: Step) -> Step:
        outside = [feed.kind == "stream" or (feed.kind == "step" and feed.name not in members) for feed in step.inputs]
        feeds = [
            Feed("stream", _stream_of(feed)) if comes_in else feed
            for feed, comes_in in zip(step.inputs, outside, strict=True)
        ]
        return replace(step, inputs=tuple(feeds), loop=0)

    steps = tuple(inside(step) for step in plan.steps if step.id in members)
    leads = {name: min(ways) for name, ways in loop.leads.items()}
    own = replace(
        loop,
        number=0,
        origins=(0,) * len(loop.entries),
        origin_leads=(0,),
        leads={name: (lead,) for name, lead in leads.items()},
    )
    return replace(
        plan,
        steps=steps,
        loops=(own,),
        outputs={name: name for name in loop.members if name in read},
        constraints={},
        leads=leads,
        prospects=Prospects(),
        announcing={name: how for name, how in plan.announcing.items() if loop.order and name in members},
        questions=(),
        unfoldings=(),
        delays={},
        over_calendars={},
    )

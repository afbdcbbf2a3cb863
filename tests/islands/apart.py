"""Islands that need nothing of others, each run by one session for each of its shards, beside one session of everything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from analysis.test_stages import COMPARED, watermark_before, within

from oracle.agreement import records_of
from oracle.evaluate import GroundFact
from tidelog import Session
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.islands.island import Island, owner
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.network.graph import Hear

SHARDS = 3


@dataclass
class Shard:
    """A session of an island's plan, which gets the facts of the keys that it owns; notes rows of keys that it does not."""

    whole: Plan
    island: Island
    number: int
    start: Fraction
    strange: list[tuple[str, Row]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plan = island_plan(self.whole, self.island)
        self.session = Session(self.plan, lateness=math.inf, start=self.start)
        for step, column in self.island.columns.items():
            self.session.listen(step, self._hearer(step, column))

    def _hearer(self, step: str, column: int) -> Hear:
        def hear(feed: str, facts: Sequence[Fact], notices: Notices | None) -> None:
            rows = [row for row, _, _ in facts] + ([] if notices is None else _rows_of(notices))
            if not feed:
                self.strange += [(step, row) for row in rows if owner(row[column], SHARDS) != self.number]

        return hear

    def push(self, records: Iterable[Record]) -> None:
        island = self.island
        self.session.push_records(
            record
            for record in records
            if record[0] in island.reads
            and (island.key is None or owner(record[1][island.key[record[0]]], SHARDS) == self.number)
        )


def _rows_of(notices: Notices) -> list[Row]:
    return [*notices.begun, *(row for row, _, _ in notices.ended)]


def shards_of(plan: Plan, island: Island, start: Fraction) -> list[Shard]:
    """The shards of an island; one, where it has no key."""
    return [Shard(plan, island, number, start) for number in range(1 if island.key is None else SHARDS)]


def agree_apart(plan: Plan, facts: Sequence[GroundFact], cuts: Sequence[int], start: Fraction) -> None:
    """Run the whole, and the islands that import nothing, with the same watermarks; compare what they tell of outputs and
    constraints. No row comes to a shard, or follows in it, of a key that it does not own, and no two shards tell the same.
    """
    islands = islands_of(plan)
    alone = [island for island in islands if not island.imports]
    shards = [shard for island in alone for shard in shards_of(plan, island, start)]
    session = Session(plan, lateness=math.inf, start=start)
    for low, high in zip([0, *cuts], [*cuts, len(facts)], strict=True):
        records = records_of(plan, facts[low:high])
        watermark = watermark_before(plan, facts[high:])
        session.push_records(records)
        for shard in shards:
            shard.push(records)
        if watermark is not None:
            session.advance(watermark)
            for shard in shards:
                shard.session.advance(watermark)
    shown = "\n".join(map(str, (plan.program.text, *facts, *cuts, *islands)))
    outputs = {name for shard in shards for name in shard.plan.outputs}
    expected = [record for record in session.pull_records() if record[0] in outputs]
    told = [record for shard in shards for record in shard.session.pull_records()]
    assert within(told, plan, COMPARED) == within(expected, plan, COMPARED), shown
    judged = {format_statement(rule) for shard in shards for rule in shard.plan.constraints.values()}
    elsewhere = {format_statement(rule) for name, rule in plan.constraints.items() if not _is_judged(name, shards)}
    violated = [str(violation) for shard in shards for violation in shard.session.pull_violations()]
    known = [str(violation) for violation in session.pull_violations() if violation.rule in judged - elsewhere]
    assert sorted(each for each in violated if not any(rule in each for rule in elsewhere)) == sorted(known), shown
    assert not [each for shard in shards for each in shard.strange], shown


def _is_judged(constraint: str, shards: Sequence[Shard]) -> bool:
    return any(constraint in shard.plan.constraints for shard in shards)

"""Running drawn programs over columns, in stretches that are cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.history import ColumnRun


def answers_over_columns(plan: Plan, records: Sequence[Record], cuts: Sequence[int] = ()) -> list[Record]:
    """What a plan says to facts, told in stretches of time that end at these times, and at the end of all."""
    run = ColumnRun(plan)
    found: list[Record] = []
    before: int | None = None
    for cut in [*sorted(set(cuts)), POS]:
        now = [record for record in records if (before is None or record[2] > before) and record[2] <= cut]
        told = run.advance(batches(now, run.pool), cut)
        for name in plan.outputs:
            found += [(name, *fact) for fact in told[name].tidied(run.pool).facts(run.pool)]
        before = cut
    return found


def batches(records: Sequence[Record], pool: Pool) -> dict[str, Batch]:
    """Facts as a batch for each predicate."""
    by_name: dict[str, list[Fact]] = {}
    for name, row, lo, hi in records:
        by_name.setdefault(name, []).append((row, lo, hi))
    return {name: batch_of(facts, len(facts[0][0]), pool) for name, facts in by_name.items()}

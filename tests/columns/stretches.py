"""Running drawn programs over columns, in stretches that are cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.history import ColumnCourse


def answers_over_columns(plan: Plan, records: Sequence[Record], cuts: Sequence[int] = ()) -> list[Record]:
    """What a plan says to facts, told in stretches of time that end at these times, and at the end of all."""
    run = ColumnCourse(plan, Pool())
    found: list[Record] = []
    for fresh, cut in stretches(records, cuts, run.pool):
        told = run.advance(fresh, cut)
        for name in plan.outputs:
            found += [(name, *fact) for fact in told[name].tidied(run.pool).facts(run.pool)]
    return found


def stretches(records: Sequence[Record], cuts: Sequence[int], pool: Pool) -> Iterator[tuple[dict[str, Batch], int]]:
    """Facts by the times at which they begin, with the watermark behind each stretch."""
    before: int | None = None
    for cut in [*sorted(set(cuts)), POS]:
        now = [record for record in records if (before is None or record[2] > before) and record[2] <= cut]
        yield batches(now, pool), cut
        before = cut


def batches(records: Sequence[Record], pool: Pool) -> dict[str, Batch]:
    """Facts as a batch for each predicate."""
    by_name: dict[str, list[Fact]] = {}
    for name, row, lo, hi in records:
        by_name.setdefault(name, []).append((row, lo, hi))
    return {name: batch_of(facts, len(facts[0][0]), pool) for name, facts in by_name.items()}

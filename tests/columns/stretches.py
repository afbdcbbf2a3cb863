"""Running drawn programs over columns, in stretches that are cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.history import ColumnCourse


def answers_over_columns(plan: Plan, records: Sequence[Record], cuts: Sequence[int] = ()) -> list[Record]:
    """What a plan says to facts, told in stretches of time that end at these times, and at the end of all."""
    run = ColumnCourse(plan, Pool())
    found: list[Record] = []
    for fresh, cut in stretches(plan, records, cuts, run.pool):
        told = run.advance(fresh, cut)
        for name in plan.outputs:
            found += [(name, *fact) for fact in told[name].tidied(run.pool).facts(run.pool)]
    return found


def stretches(
    plan: Plan, records: Sequence[Record], cuts: Sequence[int], pool: Pool
) -> Iterator[tuple[dict[str, Batch], int]]:
    """Facts by the times at which they begin, with the watermark behind each stretch.

    Where the plan follows time, the stream's last time is one, as in `runtime/columns/stretches.py`.
    """
    ends = {*cuts, POS}
    begins = [record[2] for record in records if record[2] > NEG]
    if plan.follows_time and begins:
        ends.add(max(begins) if plan.timeline.is_integer else (max(begins) & ~1) + 1)
    before: int | None = None
    for end in sorted(ends):
        now = [record for record in records if (before is None or record[2] > before) and record[2] <= end]
        yield batches(now, pool), end
        before = end


def cut_times(plan: Plan) -> st.SearchStrategy[list[int]]:
    """Times, encoded, at which a history is cut: whole and half ones, and the gaps behind them."""
    if plan.timeline.is_integer:
        return st.lists(st.integers(-4, 40), max_size=6)
    half = int(1 / plan.timeline.resolution)
    return st.lists(st.builds(lambda halves, gap: halves * half + gap, st.integers(-8, 40), st.integers(0, 1)), max_size=6)


def batches(records: Sequence[Record], pool: Pool) -> dict[str, Batch]:
    """Facts as a batch for each predicate."""
    by_name: dict[str, list[Fact]] = {}
    for name, row, lo, hi in records:
        by_name.setdefault(name, []).append((row, lo, hi))
    return {name: batch_of(facts, len(facts[0][0]), pool) for name, facts in by_name.items()}

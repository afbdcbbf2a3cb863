"""Sources that end become stretches: what is late is what a stream refuses, and nothing comes behind its watermark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.columns.stretches import Block, Stretches, blocks_of
from tidelog.runtime.frames.columns import ColumnBatch
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings

PLANS = {kind: tidelog.compile(f"timeline {kind}. a(X) :- p(X), q(X).") for kind in ("integer", "rational")}
TIMES = st.integers(-20, 20) | st.just(NEG)
RECORDS = st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 2), TIMES, st.integers(0, 9)), max_size=30)


def _records(drawn: list[tuple[str, int, int, int]], first: int = 0) -> list[Record]:
    """Facts with a number of their own in their row, so that each is told from all others."""
    return [
        (name, (value, first + number), lo, (lo if lo > NEG else 0) + length)
        for number, (name, value, lo, length) in enumerate(drawn)
    ]


def _batches(records: list[Record], size: int, pool: Pool, name: str) -> Iterator[ColumnBatch]:
    """The facts as a file gives them: blocks of so many rows, a batch for each predicate of a block."""
    for first in range(0, len(records), size):
        found: dict[str, tuple[list[Fact], list[int]]] = {}
        for number, (predicate, row, lo, hi) in enumerate(records[first : first + size], first):
            facts, numbers = found.setdefault(predicate, ([], []))
            facts.append((row, lo, hi))
            numbers.append(number)
        for predicate, (facts, numbers) in found.items():
            yield ColumnBatch(predicate, batch_of(facts, 2, pool), np.array(numbers, np.int64), name)


class _Course:
    """Goes through the stretches of some sources, and notes what is told and what is late."""

    def __init__(self, kind: str, sources: list[list[Record]], size: int, rows: int, lateness: int) -> None:
        self.pool = Pool()
        self.late: list[tuple[str, int]] = []
        self.told: Counter[Record] = Counter()
        blocks = [blocks_of(_batches(records, size, self.pool, str(i))) for i, records in enumerate(sources)]
        reached = NEG
        for stretch in Stretches(PLANS[kind].timeline, blocks, self.pool, lateness, self._refuse, rows):
            assert stretch.watermark >= reached
            for predicate, batch in stretch.fresh.items():
                for row, lo, hi in batch.facts(self.pool):
                    assert lo > reached or (lo == NEG and reached == NEG)
                    assert lo <= stretch.watermark
                    self.told[predicate, row, lo, hi] += 1
            reached = stretch.watermark
        assert reached == POS

    def _refuse(self, batch: ColumnBatch, places: Array, earliest: Array) -> None:
        lo = batch.rows.lo[places]
        assert (lo < earliest).all()
        self.late += [(batch.name, int(batch.numbers[place])) for place in places]


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(drawn=RECORDS, size=st.integers(1, 8), rows=st.integers(1, 12), lateness=st.integers(0, 6))
def test_one_source_is_late_as_in_a_stream(
    kind: str, drawn: list[tuple[str, int, int, int]], size: int, rows: int, lateness: int
) -> None:
    """Fact by fact, whatever the blocks, and however many predicates lie among each other."""
    records = _records(drawn)
    plan = PLANS[kind]
    ticks = 2 * lateness if kind == "rational" else lateness
    reasoner = Reasoner(plan, Settings(lateness=lateness * (1 if kind == "integer" else plan.timeline.resolution)))
    refused = reasoner.take(SOURCE, Batch(records, places=[str(i) for i in range(len(records))]))
    late = sorted(int(item.place) for item in refused)
    course = _Course(kind, [records], size, rows, ticks)
    assert sorted(number for _, number in course.late) == late
    assert course.told == Counter(record for i, record in enumerate(records) if i not in late)


@given(
    several=st.lists(RECORDS, min_size=1, max_size=3),
    size=st.integers(1, 8),
    rows=st.integers(1, 12),
    lateness=st.integers(0, 6),
)
def test_of_several_sources_each_is_late_by_itself(
    several: list[list[tuple[str, int, int, int]]], size: int, rows: int, lateness: int
) -> None:
    """One that is behind the others holds them back, and loses nothing by it."""
    sources = [_records(drawn, 100 * i) for i, drawn in enumerate(several)]
    course = _Course("integer", sources, size, rows, lateness)
    alone = [_Course("integer", [records], size, rows, lateness) for records in sources]
    assert sorted(course.late) == sorted((str(i), number) for i, one in enumerate(alone) for _, number in one.late)
    assert course.told == sum((one.told for one in alone), Counter())


def test_a_block_is_what_lies_among_each_other() -> None:
    """Batches whose rows follow each other are blocks of their own; what has no facts goes along."""
    pool = Pool()

    def batch(*numbers: int) -> ColumnBatch:
        facts: list[Fact] = [(("a", number), number, number) for number in numbers]
        return ColumnBatch("p", batch_of(facts, 2, pool), np.array(numbers, np.int64), "file")

    batches = [batch(0, 3), batch(1, 2), batch(4, 5), batch(), batch(6, 9), batch(7, 8)]
    found: list[Block] = list(blocks_of(batches))
    assert [[each.numbers.tolist() for each in block] for block in found] == [
        [[0, 3], [1, 2]],
        [[4, 5], []],
        [[6, 9], [7, 8]],
    ]

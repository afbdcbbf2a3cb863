"""The parts that kernels are made of, over drawn arrays, beside their definitions."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.operators.columns.arrays import Array, packs, radix_order, ranks
from tidelog.operators.columns.axis import in_order
from tidelog.operators.columns.batch import Batch
from tidelog.plans.data.timeline import NEG, POS

Side = Literal["left", "right"]
_numbers = st.integers(-9, 9)
_sizes = st.sampled_from([10, 1 << 20, 1 << 40, (1 << 63) - 1])


@given(_sizes, st.data())
def test_keys_come_in_their_stable_order(size: int, data: st.DataObject) -> None:
    keys = np.array(data.draw(st.lists(st.integers(0, size - 1) | st.integers(0, 3))), np.int64)
    assert radix_order(keys, size).tolist() == sorted(range(len(keys)), key=keys.tolist().__getitem__)


def test_numbers_and_places_that_do_not_fit_into_one_number_do_not_pack() -> None:
    assert packs(3, 1 << 60)
    assert not packs(4, 1 << 60)


@pytest.mark.parametrize("side", ["left", "right"])
@given(st.lists(_numbers, max_size=4), st.lists(_numbers, max_size=30))
def test_ranks_are_those_of_searchsorted(side: Side, ordered: list[int], queries: list[int]) -> None:
    mine, theirs = np.sort(np.array(ordered, np.int64)), np.sort(np.array(queries, np.int64))
    assert ranks(mine, theirs, side).tolist() == np.searchsorted(mine, theirs, side).tolist()


@given(st.lists(st.tuples(st.integers(0, 3), _numbers), min_size=1), st.sampled_from([1, 1 << 40, 1 << 57]), st.booleans())
def test_ranges_come_in_the_order_of_their_places(rows: list[tuple[int, int]], scale: int, sorts: bool) -> None:
    if sorts:
        rows.sort(key=lambda row: row[1])
    keys, lo = np.array([key for key, _ in rows], np.int64), np.array([time for _, time in rows], np.int64)
    begins = keys * scale * 20 % (1 << 61) + lo if scale > 1 << 40 else keys * (scale * 20) + lo
    if (np.argsort(begins, kind="stable") != np.lexsort((lo, keys))).any():
        return  # not an axis
    order = in_order(keys, begins, lo)
    found = np.arange(len(rows)) if order is None else order
    assert found.tolist() == np.argsort(begins, kind="stable").tolist()


_ranges = st.lists(
    st.tuples(st.integers(0, 2), _numbers | st.just(NEG), st.integers(0, 5) | st.just(POS)).map(
        lambda row: (row[0], row[1], POS if row[2] == POS else max(row[1], -9) + row[2])
    )
)


def _batch(rows: list[tuple[int, int, int]], is_tidy: bool = False) -> Batch:
    codes, lo, hi = (np.array([row[part] for row in rows], kind) for part, kind in enumerate([np.int32, np.int64, np.int64]))
    return Batch((codes,), lo, hi, is_tidy)


def _rows(batch: Batch) -> list[tuple[int, int, int]]:
    columns: list[Array] = [*batch.columns, batch.lo, batch.hi]
    return list(zip(*(column.tolist() for column in columns), strict=True))


_ends = _numbers | st.sampled_from([NEG, POS])


@given(_ranges, _ends, _ends, st.booleans())
def test_what_is_clipped_lies_within(rows: list[tuple[int, int, int]], first: int, last: int, is_tidy: bool) -> None:
    cut = [(code, max(lo, first), min(hi, last)) for code, lo, hi in rows]
    found = _batch(rows, is_tidy).clipped(first, last)
    assert _rows(found) == [row for row in cut if row[1] <= row[2]]
    assert found.is_tidy == is_tidy or not len(found)


@given(st.lists(st.tuples(st.integers(0, 2), _numbers)), _ends, st.booleans(), st.booleans())
def test_what_begins_later_is_parted(rows: list[tuple[int, int]], last: int, sorts: bool, is_point: bool) -> None:
    if sorts:
        rows.sort(key=lambda row: row[1])
    whole = _batch([(code, lo, lo) for code, lo in rows])
    if is_point:
        whole = Batch(whole.columns, whole.lo, whole.lo)
    early, later = whole.parted(last)
    assert _rows(early) == [(code, lo, lo) for code, lo in rows if lo <= last]
    assert _rows(later) == [(code, lo, lo) for code, lo in rows if lo > last]

"""Coalescing: maximal intervals, whatever the order, the grouping or the repetition."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors.lake.intervals import Run, coalesce

from .golden import intervals, points


def run(start: int | None, end: int | None, opened: str = "[]", seq: int = 1, key: str = "k") -> Run:
    texts = [None if time is None else str(time) for time in (start, end)]
    return Run((key,), texts[0], texts[1], opened[0] == "(", opened[1] == ")", seq, seq, None, seq)


@st.composite
def runs(draw: st.DrawFn, integer: bool) -> list[Run]:
    found = []
    for seq in range(1, draw(st.integers(1, 8))):
        low = draw(st.none() | st.integers(-6, 6))
        high = draw(st.none() | st.integers(low if low is not None else -6, 8))
        is_point = low is not None and low == high
        left, right = (False, False) if integer or is_point else (draw(st.booleans()), draw(st.booleans()))
        opened = ("(" if left or low is None else "[") + (")" if right or high is None else "]")
        found.append(run(low, high, opened, seq, draw(st.sampled_from("ab"))))
    return found


@pytest.mark.parametrize("integer", [False, True])
@given(data=st.data())
def test_coalescing_covers_what_was_covered(data: st.DataObject, integer: bool) -> None:
    """The maximal intervals are those of the points covered, each once, on both timelines."""
    given_runs = data.draw(runs(integer))
    found = coalesce(given_runs, integer=integer)
    for key in ("a", "b"):
        mine = [each for each in given_runs if each.key == (key,)]
        covered = {point for each in mine for point in points(*_ends(each), integer=integer)}
        assert sorted(map(_ends, (each for each in found if each.key == (key,))), key=str) == sorted(
            intervals(covered, integer=integer), key=str
        )


@given(runs=runs(False), parts=st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_batches_make_no_difference(runs: list[Run], parts: Sequence[int]) -> None:
    """Merged in several batches, in any order, and twice, facts become the same runs, to the last column."""
    batches = [[each for each, part in zip(runs, parts, strict=False) if part == number] for number in range(3)]
    merged: list[Run] = []
    for batch in (*reversed(batches), batches[1]):
        merged = coalesce([*merged, *batch], integer=False)
    assert merged == coalesce(runs, integer=False)


def test_neighbours_touch_only_where_nothing_is_between() -> None:
    """`[1,2)` and `[2,3]` become one, `[1,2)` and `(2,3]` do not; 2 and 3 are neighbours on integers alone."""
    assert len(coalesce([run(1, 2, "[)"), run(2, 3)], integer=False)) == 1
    assert len(coalesce([run(1, 2, "[)"), run(2, 3, "(]")], integer=False)) == 2
    assert len(coalesce([run(1, 2), run(3, 4)], integer=False)) == 2
    assert len(coalesce([run(1, 2), run(3, 4)], integer=True)) == 1


def _ends(each: Run) -> tuple[str | None, str | None, bool, bool]:
    return each.start, each.end, each.start_open, each.end_open

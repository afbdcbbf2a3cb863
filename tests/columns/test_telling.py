"""What is told of stretches in columns is, answer by answer and in order, what the emission of rows tells."""

from __future__ import annotations

from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.operators.columns.batch import batch_of, empty
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.columns.telling import telling
from tidelog.runtime.emission.modes import emission
from tidelog.runtime.ports.interfaces import EmitMode

_FACTS = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(["a", "b", "c d"]), st.sampled_from([1, 2.5, "x"])),
        st.integers(-5, 30) | st.just(NEG),
        st.integers(0, 9) | st.just(POS),
    ).map(lambda drawn: (drawn[0], drawn[1], POS if drawn[2] == POS else max(drawn[1], -6) + drawn[2])),
    max_size=20,
)


@pytest.mark.parametrize("mode", ["intervals", "final", "changes"])
@given(facts=_FACTS, cuts=st.lists(st.integers(-5, 40), max_size=4).map(sorted), ends=st.booleans())
def test_columns_tell_what_rows_tell(mode: EmitMode, facts: list[Fact], cuts: list[int], ends: bool) -> None:
    """`ends` is false where recursion without an end leaves the last frontier where the stream went."""
    pool = Pool()
    mine, theirs = telling(mode, ["p"], pool), emission(mode, ["p"])
    before = NEG - 1
    for frontier in [*cuts, *([POS] if ends else [])]:
        batch = batch_of(facts, 2, pool) if facts else empty(2)
        batch = batch.clipped(before + 1, frontier)
        before = frontier
        rows = sorted(batch.tidied(pool).facts(pool), key=itemgetter(1))
        assert mine.receive("p", batch, frontier) == theirs.receive("p", rows, frontier)
    assert mine.finish() == theirs.finish()

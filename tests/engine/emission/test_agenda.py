"""The agenda of the emission: when to look at each row again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from limits import limits

from tidelog.runtime.emission.agenda import Agenda

STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.booleans()), max_size=60)


@given(STEPS, st.sampled_from([0, 64]))
def test_each_row_is_reached_when_it_is_due_first(steps: list[tuple[str, int, bool]], spare: int) -> None:
    """However often it is scheduled anew: at the earliest of its times, once, in order of time."""
    with limits(spare=spare):
        agenda, due, frontier = Agenda(), dict[str, int](), 0
        for name, time, moves in steps:
            if moves:
                frontier += time // 3
                expected = sorted((when, row) for row, when in due.items() if when <= frontier)
                assert sorted((due.pop(row), row) for (row,) in agenda.reached(frontier)) == expected
            else:
                agenda.schedule((name,), frontier + time)
                due[name] = min(frontier + time, due.get(name, frontier + time))
            first = agenda.first()
            assert first is None or not due or first <= min(due.values())

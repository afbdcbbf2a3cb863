"""Facts without a begin and calendars: what follows begins where the stream does, in rows, columns and batch."""

from __future__ import annotations

from columns.stretches import answers_over_columns
from engine.standing.test_programs import compiled
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import Runs, runs_of
from tidelog import Materialisation, Session, compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS

TIME = "timeline integer, unit 6 h."
ON = TIME + "calendar work = mon-fri 06:00-18:00. quiet(X) :- on(X), not work. output quiet."
"""1970-01-01 is a Thursday: it is worked at the ticks 1 and 2, and 5 and 6."""
PER_DAY = (
    "n(X,N) :- N = count() over on(X) per day by X. output n.",
    "n(X,N) :- N = sum(V) over v(X,V) per day by X. output n.",
    "n(X) :- count() over on(X) per day by X >= 3. output n.",
    "n(X) :- on(X), not count() over v(X,_) per day by X > 0. output n.",
)


def by_rows(text: str, records: list[Record], start: int | None = None) -> Runs:
    """What a session says."""
    _, plan = compiled(text)
    session = Session(plan, start=start)
    session.push_records(records)
    session.finish()
    return runs_of(session.pull_records())


def all_ways(text: str, records: list[Record]) -> list[Runs]:
    """What rows, columns and batch say, in batch as far as streams do."""
    _, plan = compiled(text)
    last = max(lo for _, _, lo, _ in records)
    done = Materialisation(compile_batch(text))
    done.load(records)
    done.run()
    runs = [by_rows(text, records), runs_of(answers_over_columns(plan, records))]
    runs.append(runs_of(record for record in done.facts() if record[0] in plan.outputs))
    return [
        {fact: cut for fact, ranges in each.items() if (cut := [(lo, min(hi, last)) for lo, hi in ranges if lo <= last])}
        for each in runs
    ]


def test_what_has_no_begin_is_told_from_the_streams_start_on() -> None:
    """It was told since ever, though nobody knows the calendar then; and no day of it was known behind that."""
    records: list[Record] = [("on", ("a",), NEG, 9), ("on", ("b",), 0, 0), ("on", ("b",), 10, 10)]
    for found in all_ways(ON, records):
        assert found == {("quiet", ("a",)): [(0, 0), (3, 4), (7, 9)], ("quiet", ("b",)): [(0, 0), (10, 10)]}


def test_the_end_of_what_has_no_begin_may_be_where_a_stream_starts() -> None:
    """It is the first time that is mentioned."""
    records: list[Record] = [("on", ("a",), NEG, 3), ("on", ("b",), 9, 9)]
    assert all_ways(ON, records) == [{("quiet", ("a",)): [(3, 3)], ("quiet", ("b",)): [(9, 9)]}] * 3
    assert by_rows(ON, records[:1]) == {("quiet", ("a",)): [(3, 3)]}


def test_a_start_that_is_given_counts() -> None:
    """Before it nothing is told; the calendar is known then, though no fact says a time behind it."""
    assert by_rows(ON, [("on", ("a",), NEG, 4)], start=0) == {("quiet", ("a",)): [(0, 0), (3, 4)]}
    assert by_rows(ON, [("on", ("a",), NEG, 5)]) == {}


def test_without_any_time_nothing_is_told() -> None:
    """Nothing says for which days a calendar is meant; batch asks for one."""
    assert by_rows(ON, [("on", ("a",), NEG, POS)]) == {}


def test_a_calendar_is_told_from_the_start_on() -> None:
    """It was told from a day before on, though its page said otherwise; what rules look ahead is told before the start."""
    text = TIME + "calendar work = mon-fri 06:00-18:00. output work, soon. soon(X) :- diamondplus[0,3] on(X), not work."
    for found in all_ways(text, [("on", ("a",), 6, 6), ("on", ("a",), 14, 14)]):
        assert found["work", ()][0] == (6, 6)
        assert found["soon", ("a",)] == [(3, 4), (11, 14)]


@drawn(40)
@given(data=st.data())
def test_what_has_no_begin_counts_from_the_start_on(data: st.DataObject) -> None:
    """Per period, with thresholds, and where that is negated, in rows, columns and batch."""
    text = TIME + data.draw(st.sampled_from(PER_DAY))
    times = st.tuples(st.integers(0, 12), st.integers(0, 4))
    keys = st.sampled_from([("on", ("a",)), ("on", ("b",)), ("v", ("a", 2)), ("v", ("b", 3))])
    timed = [
        (*key, lo, lo + size) for key, (lo, size) in data.draw(st.lists(st.tuples(keys, times), min_size=1, max_size=6))
    ]
    endless = [(*key, NEG, hi) for key, (hi, _) in data.draw(st.lists(st.tuples(keys, times), max_size=3))]
    start = min(time for _, _, lo, hi in [*timed, *endless] for time in (lo, hi) if time > NEG)
    records: list[Record] = [*endless, *sorted(timed, key=lambda record: record[2])]
    begun = [(name, row, max(lo, start), hi) for name, row, lo, hi in records]
    rows, columns, batch = all_ways(text, records)
    assert rows == columns == batch, (text, records)
    if "not count" not in text:
        assert rows == all_ways(text, sorted(begun, key=lambda record: record[2]))[0], (text, records)

"""Frames into sessions: the same answers as fact by fact, in order of time, with nothing lost beside a bad row."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tidelog
from tidelog.plans.diagnostics.errors import DataError, LateError
from tidelog.runtime.frames import arrow
from tidelog.runtime.ports.interfaces import Rejected
from tidelog.runtime.sessions.reasoner import Reasoner

PROGRAM = (
    "timeline integer, unit 1 s. input temp(sensor: text, value: number). input door(room: text). "
    "hot(S) :- temp(S, V), V > 80. cooled(S, R) :- hot(S), diamondminus[0,5] door(R). calm(S) :- temp(S, _), not hot(S)."
)

INEXACT = r"column `value` has floats beside a whole number of 2\*\*53 or more, which no float holds exactly"


def readings(count: int) -> list[tuple[str, float, int]]:
    """Readings of three sensors in order of time."""
    chance = random.Random(1)
    return [(f"s{chance.randrange(3)}", chance.choice([20.5, 85, 90.25]), time) for time in range(count)]


def frame_of(rows: list[tuple[str, float, int]]) -> pa.Table:
    """These readings as a table."""
    sensors, values, times = zip(*rows, strict=True)
    return pa.table({"sensor": sensors, "value": values, "time": pa.array(times, pa.timestamp("s", "UTC"))})


def answers_of(session: tidelog.Session) -> list[str]:
    session.finish()
    return sorted(str(answer) for answer in session.pull())


@pytest.mark.parametrize("order", ["in order", "backwards"])
@pytest.mark.parametrize("batch", [7, arrow.BATCH_ROWS])
def test_a_frame_gives_what_its_rows_give(order: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pushed as a frame, rows in any order give the answers that they give one by one in order of time."""
    monkeypatch.setattr("tidelog.runtime.frames.pushing.BATCH_ROWS", batch)
    rows = readings(60)
    plan = tidelog.compile(PROGRAM)
    one_by_one = tidelog.Session(plan, emit="final")
    for sensor, value, time in rows:
        one_by_one.push("temp", [sensor, value], time=time)
    session = tidelog.Session(plan, emit="final")
    session.push_frame("temp", frame_of(rows if order == "in order" else rows[::-1]))
    assert answers_of(session) == answers_of(one_by_one) != []


@pytest.mark.parametrize("batch", [3, arrow.BATCH_ROWS])
def test_frames_of_several_predicates_are_one_course(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames over the same time are merged: nothing of the second is late behind the first."""
    monkeypatch.setattr("tidelog.runtime.frames.pushing.BATCH_ROWS", batch)
    rows, doors = readings(40), [(f"r{time % 2}", time) for time in range(1, 80, 4)]
    plan = tidelog.compile(PROGRAM)
    one_by_one = tidelog.Session(plan, emit="final")
    for time in range(80):
        for sensor, value, _ in [row for row in rows if row[2] == time]:
            one_by_one.push("temp", [sensor, value], time=time)
        for room, _ in [door for door in doors if door[1] == time]:
            one_by_one.push("door", [room], time=time)
    session = tidelog.Session(plan, emit="final")
    session.push_frames(
        {"temp": frame_of(rows), "door": {"room": [room for room, _ in doors], "time": [t for _, t in doors]}}
    )
    assert session.statistics().intake == one_by_one.statistics().intake
    assert answers_of(session) == answers_of(one_by_one)


@pytest.mark.parametrize("order", ["in order", "backwards"])
@pytest.mark.parametrize("lateness", [0, 3])
def test_large_frames_go_in_columns_and_the_stream_goes_on(
    order: str, lateness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers and the counts are those of rows, behind the frames, too; what is late there is refused."""
    monkeypatch.setattr("tidelog.runtime.frames.pushing.LEAST", 0)
    handed = []
    monkeypatch.setattr(
        "tidelog.runtime.sessions.reasoner.Reasoner.begin_with",
        lambda *args, begin_with=Reasoner.begin_with: handed.append(begin_with(*args)) or handed[-1],
    )
    rows, doors = readings(60), [(f"r{time % 2}", time) for time in range(1, 60, 4)]
    plan = tidelog.compile(PROGRAM)
    session, one_by_one = (tidelog.Session(plan, emit="final", lateness=lateness) for _ in range(2))
    doors_table = {"room": [room for room, _ in doors], "time": [time for _, time in doors]}
    session.push_frames({"temp": frame_of(rows if order == "in order" else rows[::-1]), "door": doors_table})
    assert handed == [True]
    for time in range(60):
        for sensor, value, _ in [row for row in rows if row[2] == time]:
            one_by_one.push("temp", [sensor, value], time=time)
        for room, _ in [door for door in doors if door[1] == time]:
            one_by_one.push("door", [room], time=time)
    for each in (session, one_by_one):
        each.push("temp", ["s1", 85], time=59)
        with pytest.raises(LateError):
            each.push("temp", ["s1", 85], time=58 - lateness)
        each.push_frame("temp", frame_of([("s2", 85, 61), ("s0", 20, 64)]))
    assert handed == [True]
    assert session.statistics().intake == one_by_one.statistics().intake
    assert answers_of(session) == answers_of(one_by_one)


def test_frames_that_follow_go_in_columns_until_a_fact_comes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Piece by piece, the answers pulled behind each; what comes behind the fact, or late, goes row by row."""
    monkeypatch.setattr("tidelog.runtime.frames.pushing.LEAST", 0)
    rows = readings(90)
    session, one_by_one = (tidelog.Session(tidelog.compile(PROGRAM), emit="final") for _ in range(2))
    told = []
    for begin in (0, 30, 60):
        session.push_frame("temp", frame_of(rows[begin : begin + 30]))
        assert session.begun_with is not None
        assert session.statistics().in_columns == session.statistics().intake.accepted > 0
        told += session.pull()
    with pytest.raises(LateError, match=r"temp.*late.* \(2 rows could not be used, this is the first\)"):
        session.push_frame("temp", frame_of([("s1", 85, 3), ("s1", 85, 4), ("s1", 85, 90)]))
    assert session.begun_with is None
    for sensor, value, time in [*rows, ("s1", 85, 90)]:
        one_by_one.push("temp", [sensor, value], time=time)
    for each in (session, one_by_one):
        each.push("temp", ["s2", 85], time=91)
        each.push_frame("temp", frame_of([("s2", 85, 92), ("s0", 20, 94)]))
    assert sorted([*map(str, told), *answers_of(session)]) == answers_of(one_by_one)
    assert session.statistics().intake.accepted == one_by_one.statistics().intake.accepted


def test_large_frames_with_bad_rows_say_so_as_small_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go row by row: the error names the first of them in the order of time, and all others count."""
    monkeypatch.setattr("tidelog.runtime.frames.pushing.LEAST", 0)
    session = tidelog.Session(tidelog.compile(PROGRAM))
    frame = {"sensor": ["s1", None, None, "s2"], "value": [85, 85, 85, 85], "time": [4, 3, 2, 1]}
    with pytest.raises(DataError, match=r"temp row 2: `sensor` is null \(2 rows could not be used, this is the first\)"):
        session.push_frame("temp", frame)
    assert session.statistics().intake.accepted == 2


def test_the_first_bad_row_is_raised_and_all_others_count() -> None:
    """A null costs its own row: the error names it, and says how many could not be used."""
    session = tidelog.Session(tidelog.compile(PROGRAM))
    frame = {"sensor": ["s1", None, None, "s2"], "value": [85, 85, 85, 85], "time": [1, 2, 3, 4]}
    with pytest.raises(DataError, match=r"temp row 1: `sensor` is null \(2 rows could not be used, this is the first\)"):
        session.push_frame("temp", frame)
    assert session.statistics().intake.accepted == 2


def test_rows_that_are_refused_go_to_whoever_asks() -> None:
    """With `on_rejected` nothing is raised: what is no fact, and what is late, comes with its row and what it said."""
    session = tidelog.Session(tidelog.compile(PROGRAM))
    session.push("temp", ["s1", 20], time=10)
    found: list[Rejected] = []
    frame = {"sensor": ["s1", "s1", None], "value": [85, 85, 85], "time": [12, 3, 13]}
    session.push_frame("temp", frame, on_rejected=found.extend)
    assert [(item.place, item.reason) for item in found] == [
        ("temp row 2", "`sensor` is null"),
        ("temp row 1", "late: facts before 10 can no longer come"),
    ]
    assert found[0].raw == b'{"sensor":null,"value":85,"time":13}'
    with pytest.raises(LateError, match=r"temp row 0: temp\(s1,85\)@3: late"):
        session.push_frame("temp", {"sensor": ["s1"], "value": [85], "time": [3]})


def test_wrong_columns_hand_in_nothing() -> None:
    """Of two frames, one with a wrong column: neither is taken."""
    session = tidelog.Session(tidelog.compile(PROGRAM))
    good: dict[str, Any] = {"sensor": ["s1"], "value": [85], "time": [1]}
    with pytest.raises(DataError, match="the table lacks the field `room` of `door`"):
        session.push_frames({"temp": good, "door": {"rom": ["r1"], "time": [1]}})
    assert session.statistics().intake.accepted == 0


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {"sensor": "s1", "value": [1, 2], "time": [1, 2]},
            "column `sensor` is a list of values, one for each row, got str",
        ),
        ({"sensor": ["s1"], "value": 1, "time": [1]}, "column `value` is a list of values, one for each row, got int"),
        ({"sensor": ["s1", "s2"], "value": [1], "time": [1, 2]}, "column `value` has 1 values, and `sensor` has 2"),
        ({"sensor": ["s1", 3], "value": [1, 2], "time": [1, 2]}, "column `sensor` holds values of several types"),
        ({"sensor": ["s1", "s2"], "value": [1, "x"], "time": [1, 2]}, "column `value` holds values of several types"),
        ({"sensor": ["s1", "s2"], "value": [1.5, 2**53 + 1], "time": [1, 2]}, INEXACT),
        ({"sensor": ["s1", "s2"], "value": [2**53 + 1, 1.5], "time": [1, 2]}, INEXACT),
        ({"sensor": ["s1"], "value": [2**70], "time": [1]}, "column `value` has a whole number beyond 64 bits"),
    ],
)
def test_a_dict_whose_columns_are_none_is_told_by_column(columns: dict[str, Any], told: str) -> None:
    """A text is no column of letters, and what Arrow cannot take is an error of ours."""
    session = tidelog.Session(tidelog.compile(PROGRAM))
    with pytest.raises(DataError, match=told):
        session.push_frame("temp", columns)
    session.finish()
    assert answers_of(session) == []


def test_floats_beside_whole_numbers_that_no_float_is_are_told_so() -> None:
    """Also of a data frame, whose columns of objects Arrow looks through: the number is the cause, not its type."""
    frame = pd.DataFrame({"sensor": ["s1", "s2"], "value": pd.Series([1.5, 2**53 + 1], dtype=object), "time": [1, 2]})
    with pytest.raises(DataError, match=INEXACT):
        tidelog.Session(tidelog.compile(PROGRAM)).push_frame("temp", frame)


def test_without_pyarrow_one_line_says_what_to_install() -> None:
    """Where pyarrow is missing, frames and Parquet say so; everything else works."""
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import tidelog\n"
        "session = tidelog.Session(tidelog.compile('p(X) :- q(X).'))\n"
        "session.push('q', ['a'], time=1)\n"
        "print(len(session.pull()))\n"
        "parquet = lambda: tidelog.open_sink('parquet:d', session.plan.schema)\n"
        "for call in (lambda: session.push_frame('q', {}), session.pull_frames, parquet):\n"
        "    try:\n        call()\n"
        "    except tidelog.ConnectorError as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    line = "Arrow tables and Parquet need pyarrow, which is not installed: pip install 'tidelog[frames]'"
    assert done.stdout.splitlines() == ["1", line, line, line], done.stderr


def test_a_reading_of_a_frame_is_cheap_beside_that_of_calls() -> None:
    """A row of a frame costs less than half of what a call of `push` costs, also where operators are compiled."""
    from time import process_time  # noqa: PLC0415 - only here

    rows = readings(1000)
    plan, frame = tidelog.compile(PROGRAM), frame_of(rows)
    calls, framed = [], []
    for _ in range(3):
        session = tidelog.Session(plan)
        begin = process_time()
        for sensor, value, time in rows:
            session.push("temp", [sensor, value], time=time)
        calls.append(process_time() - begin)
        session = tidelog.Session(plan)
        begin = process_time()
        session.push_frame("temp", frame)
        framed.append(process_time() - begin)
    assert min(framed) * 2 < min(calls)

"""A backtest tells what two programs tell of one history, and the figures are those of a count by hand."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog import Plan, Session
from tidelog.cli import main
from tidelog.plans.data.facts import Row
from tidelog.plans.diagnostics.errors import DataError, SpecError

PROGRAM = """timeline integer, unit 1 s.
parameter LIMIT = 3.
parameter GAP = 2.
input temp(room: text, value: number).
alarm(R) :- diamondminus[0,2] (temp(R, V), V >= LIMIT).
output alarm.
"""
READINGS = st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab"), st.integers(0, 5)), max_size=25)
Runs = dict[Row, list[tuple[int, int]]]


def _plan(limit: int, text: str = PROGRAM) -> Plan:
    return tidelog.compile(text, parameters={"LIMIT": limit})


def _runs(plan: Plan, readings: list[tuple[int, str, int]]) -> Runs:
    """What a session tells, row by row."""
    session = Session(plan, emit="final")
    for time, room, value in sorted(readings, key=lambda reading: reading[0]):
        session.push("temp", [room, value], time)
    session.finish()
    found: Runs = {}
    for _, row, lo, hi in session.pull_records():
        found.setdefault(row, []).append((lo, hi))
    return {row: sorted(ranges) for row, ranges in found.items()}


def _frame(readings: list[tuple[int, str, int]]) -> dict[str, list[object]]:
    return {
        "time": [time for time, _, _ in readings],
        "room": [room for _, room, _ in readings],
        "value": [value for _, _, value in readings],
    }


def _ticks(runs: Runs) -> set[tuple[Row, int]]:
    return {(row, tick) for row, ranges in runs.items() for lo, hi in ranges for tick in range(lo, hi + 1)}


@given(readings=READINGS, old=st.integers(0, 5), new=st.integers(0, 5))
def test_differences_and_figures_are_counted_right(readings: list[tuple[int, str, int]], old: int, new: int) -> None:
    """What only one tells; counts, times, the longest, flaps within the time that is given."""
    plans = _plan(old), _plan(new)
    found = tidelog.backtest(*plans, {"temp": _frame(readings)}, flap=4)
    runs = [_runs(plan, readings) for plan in plans]
    ticks = [_ticks(each) for each in runs]
    compared = found.outputs["alarm"]
    for number, side in enumerate((compared.old, compared.new)):
        assert side is not None
        alone = {(row, t) for row, lo, hi in side.alone.facts(found.pool) for t in range(lo, hi + 1)}
        assert alone == ticks[number] - ticks[1 - number]
        lengths = [hi - lo + 1 for ranges in runs[number].values() for lo, hi in ranges]
        flaps = sum(later[0] - before[1] <= 4 for ranges in runs[number].values() for before, later in pairwise(ranges))
        figures = side.figures
        assert (figures.count, figures.total, figures.longest) == (len(lengths), sum(lengths), max(lengths, default=0))
        assert figures.flaps == flaps


@given(
    readings=READINGS,
    labels=st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 6), st.sampled_from([("a",), ("b",)])), min_size=1, max_size=5
    ),
)
def test_labels_give_precision_recall_and_delay(
    readings: list[tuple[int, str, int]], labels: list[tuple[int, int, Row]]
) -> None:
    """By the definition, over labels that lie apart."""
    plan = _plan(3)
    wanted: Runs = {}
    for begin, length, row in sorted(labels):
        ranges = wanted.setdefault(row, [])
        if not ranges or begin > ranges[-1][1] + 1:
            ranges.append((begin, begin + length))
    records = [("alarm", row, lo, hi) for row, ranges in wanted.items() for lo, hi in ranges]
    found = tidelog.backtest(plan, plan, {"temp": _frame(readings)}, labels={"alarm": records})
    runs = _runs(plan, readings)
    told = [(row, lo, hi) for row, ranges in runs.items() for lo, hi in ranges]
    met = [run for run in told if any(r == run[0] and lo <= run[2] and run[1] <= hi for _, r, lo, hi in records)]
    delays = []
    for _, row, lo, hi in records:
        begins = [run[1] for run in told if run[0] == row and run[1] <= hi and lo <= run[2]]
        if begins:
            delays.append(max(min(begins), lo) - lo)
    side = found.outputs["alarm"].new
    assert side is not None
    judged = side.judged
    assert judged is not None
    assert (judged.labels, judged.found) == (len(records), len(delays))
    assert judged.precision == (len(met) / len(told) if told else None)
    assert judged.recall == len(delays) / len(records)
    assert judged.delay == (Fraction(median(delays)) if delays else None)
    rows = [(*row, lo, hi) for _, row, lo, hi in records]
    as_frame = dict(zip(["sensor", "from", "to"], map(list, zip(*rows, strict=True)), strict=True))
    again = tidelog.backtest(plan, plan, {"temp": _frame(readings)}, labels={"alarm": as_frame}).outputs["alarm"].new
    assert again is not None
    assert again.judged == judged
    assert judged.longest_delay == (max(delays) if delays else None)


def test_what_only_one_program_has_stands_alone() -> None:
    """An output that the other lacks is told as a whole; inputs and time have to be declared alike."""
    readings = [(1, "a", 4), (9, "b", 5)]
    more = tidelog.compile(PROGRAM.replace("output alarm.", "high(R) :- temp(R, V), V > 4. output alarm, high."))
    found = tidelog.backtest(_plan(3), more, {"temp": _frame(readings)})
    assert found.outputs["high"].old is None
    assert [(row["x1"], row["only"]) for row in found.frames()["high"].to_pylist()] == [("b", "new")]
    other = tidelog.compile(PROGRAM.replace("value: number", "value: integer"))
    with pytest.raises(SpecError, match="declare `temp` in different ways"):
        tidelog.backtest(_plan(3), other, {"temp": _frame(readings)})
    with pytest.raises(SpecError, match="declare time in different ways"):
        tidelog.backtest(_plan(3), tidelog.compile(PROGRAM.replace("unit 1 s", "unit 1 min")), {"temp": _frame(readings)})
    with pytest.raises(DataError, match="temp row 1"):
        tidelog.backtest(_plan(3), _plan(4), {"temp": {"time": [1, None], "room": ["a", "b"], "value": [1, 2]}})


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Programs, a history and labels."""
    readings = [(0, "a", 3), (2, "a", 5), (20, "b", 3), (40, "a", 4), (41, "b", 0)]
    texts = {
        "old.tide": PROGRAM,
        "new.tide": PROGRAM.replace("LIMIT = 3", "LIMIT = 4"),
        "temp.csv": "".join(["time,room,value\n", *(f"{time},{room},{value}\n" for time, room, value in readings)]),
        "labels.txt": "alarm(a)@[1,5]\nalarm(b)@[30,35]\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


def test_the_text_shows_figures_side_by_side(files: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """Then what only one of them tells."""
    code = main(
        ["backtest", files["old.tide"], files["new.tide"], "--in", files["temp.csv"], "--labels", files["labels.txt"]]
    )
    told, said = capfd.readouterr()
    assert (code, said) == (0, "")
    assert (
        told
        == """history: 5 facts, 0 to 41

alarm             old    new
intervals           3      2
time in alarm    11 s    6 s
a day           6,322  4,215
flaps               1      1
longest           5 s    3 s
precision       0.333  0.500
recall          0.500  0.500
delay (median)    0 s    1 s
longest delay     0 s    1 s
only OLD: 2 intervals
  alarm(a)@[0,1]
  alarm(b)@[20,22]
"""
    )


def test_json_tells_all(files: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """A line for the history, one an output, one for each interval that one tells alone."""
    assert main(["backtest", files["old.tide"], files["new.tide"], files["temp.csv"], "--format", "json"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert lines[0] == {"facts": 5, "from": 0, "to": 41}
    assert lines[1]["output"] == "alarm"
    assert (lines[1]["old"]["intervals"], lines[1]["new"]["intervals"]) == (3, 2)
    assert lines[2:] == [
        {"only": "old", "predicate": "alarm", "args": ["a"], "interval": "[0,1]"},
        {"only": "old", "predicate": "alarm", "args": ["b"], "interval": "[20,22]"},
    ]


def test_a_sweep_has_a_line_for_each_candidate(files: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """Every value, and every combination of several parameters."""
    arguments = ["backtest", files["old.tide"], files["old.tide"], files["temp.csv"], "--format", "json"]
    assert main([*arguments, "--set", "LIMIT=2..5:1.5", "--set", "GAP=1,2"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(line["set"]["LIMIT"], line["set"]["GAP"], line["intervals"]) for line in lines] == [
        (2, 1, 3),
        (2, 2, 3),
        (3.5, 1, 2),
        (3.5, 2, 2),
        (5, 1, 1),
        (5, 2, 1),
    ]


@pytest.mark.parametrize(("values", "shown"), [("a,b", "a"), ("nan", "nan"), ("3,x", "x")])
def test_a_value_that_does_not_fit_is_refused_with_its_place(
    files: dict[str, str], capfd: pytest.CaptureFixture[str], values: str, shown: str
) -> None:
    """It told zeros for it, which looked like an answer."""
    arguments = ["backtest", files["old.tide"], files["old.tide"], files["temp.csv"]]
    assert main([*arguments, "--set", f"LIMIT={values}"]) == 2
    out, error = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(
        rf"tidelog: error: --set: .*old\.tide: line \d+: parameter `LIMIT` is a number, and `{shown}`, .* is a text\n", error
    )


def test_statistics_tell_what_is_shared(files: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """A step of both programs stands with the old one; candidates are added up."""
    arguments = ["backtest", files["old.tide"], files["new.tide"], files["temp.csv"], "--show", "0", "--stats"]
    said = []
    for more in ([], ["--set", "LIMIT=4,5"]):
        assert main([*arguments, *more]) == 0
        said.append([line.removeprefix("tidelog: ") for line in capfd.readouterr().err.splitlines()])
    for lines in said:
        assert lines[0] == "facts: 5 accepted; 0 rejected in all"
        first = next(number for number, line in enumerate(lines) if line.startswith("other steps of the new one: "))
        assert {line.split()[-1] for line in lines if line.startswith("step ")} == {"seconds"}
        assert [line.split()[0] for line in lines[first + 1 :]] == ["step", "alarm.1", "alarm"]
    received = [[line.split()[2] for line in lines if line.startswith("alarm ")] for lines in said]
    assert received[0] == ["4", "2"]
    assert received[1] == ["4", "3"]
    assert main([*arguments[:2], files["old.tide"], *arguments[3:]]) == 0
    assert "the new program has no other steps" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "LIMTI=1..3"], "declares no parameter `LIMTI` (it declares: `LIMIT`, `GAP`)"),
        (["--set", "LIMIT"], "expected NAME=VALUES"),
        (["--set", "LIMIT=3..1"], "a range goes up"),
        (["--set", "LIMIT=1..9999999"], "more than 10,000 candidates"),
        (["--set", "LIMIT=1,,2"], "a value is missing"),
        (["--lateness", "soon"], "--lateness: "),
        (["--flap", "-3"], "--flap: "),
    ],
)
def test_wrong_options_are_told_in_one_line(
    files: dict[str, str], capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """Exit code 2, and nothing is told."""
    assert main(["backtest", files["old.tide"], files["new.tide"], files["temp.csv"], *arguments]) == 2
    told, said = capfd.readouterr()
    assert told == ""
    assert message in said


def test_labels_of_no_output_are_refused(files: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """With the nearest name."""
    Path(files["labels.txt"]).write_text("alarn(a)@3\n")
    assert (
        main(["backtest", *[files[name] for name in ("old.tide", "new.tide", "temp.csv")], "--labels", files["labels.txt"]])
        == 2
    )
    assert "no output `alarn`; did you mean `alarm`?" in capfd.readouterr().err


def test_bad_and_late_rows_are_told_and_the_others_count(files: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """As in `run`."""
    with Path(files["temp.csv"]).open("a") as file:
        file.write("x,a,3\n1,a,5\n")
    assert main(["backtest", files["old.tide"], files["new.tide"], files["temp.csv"]]) == 0
    said = capfd.readouterr().err
    assert "temp.csv:7:" in said
    assert "temp.csv:8: late: what begins before 41 can no longer come" in said
    assert "2 records could not be used" in said


@pytest.mark.parametrize("unit", ["1 h", "7 s", "1 ms"])
def test_the_flap_time_is_a_whole_number_of_ticks(unit: str) -> None:
    """Whatever the unit of the program: an hour is more than it, so that only what follows at once has flapped."""
    plan = tidelog.compile(PROGRAM.replace("unit 1 s", f"unit {unit}"))
    frame = _frame([(0, "a", 3), (4, "a", 3), (9, "a", 3)])
    side = tidelog.backtest(plan, plan, {"temp": frame}).outputs["alarm"].old
    assert side is not None
    assert side.figures.flaps == {"1 h": 0, "7 s": 2, "1 ms": 2}[unit]


def test_behind_the_last_fact_a_recursion_is_not_compared() -> None:
    """One without an end is followed as far as the history goes, and no further."""
    plan = tidelog.compile(PROGRAM + "boxplus[5,5] alarm(R) :- alarm(R).")
    found = tidelog.backtest(plan, plan, {"temp": _frame([(0, "a", 3), (13, "b", 1)])})
    side = found.outputs["alarm"].new
    assert side is not None
    assert side.told.facts(found.pool) == [(("a",), 0, 2), (("a",), 5, 7), (("a",), 10, 12)]
    assert len(side.alone) == 0


@pytest.mark.parametrize(
    "rule",
    [
        "hot(R) :- temp(R, V) in [#2], V > 80.",
        "hot(R) :- always temp(R, _) in [#1].",
        "hot(R) :- temp(R, V)@T in [#2], T > 1.",
        "hot(R) :- temp(R, 83) in [#2 of temp].",
    ],
)
def test_programs_with_tuple_windows_are_compared(rule: str) -> None:
    """They run row by row; how many arguments their steps' rows have was not known, and a backtest ended with an error."""
    plan = tidelog.compile(f"timeline integer. input temp(room, value). {rule} output hot.")
    frame = {"room": ["a", "b", "a"], "value": [83, 90, 70], "time": [1, 2, 4]}
    found = tidelog.backtest(plan, plan, {"temp": frame})
    side = found.outputs["hot"].new
    session = Session(plan, emit="final")
    for room, value, time in zip(*frame.values(), strict=True):
        session.push("temp", [room, value], time)
    session.finish()
    assert side is not None
    expected = {record[1:] for record in session.pull_records()}
    assert {*side.told.facts(found.pool)} == expected
    assert expected


def test_a_backtest_says_in_a_line_what_it_found() -> None:
    """Printed, or shown by Python's prompt."""
    text = "input temp(room, value). hot(R) :- temp(R, V), V >= LIMIT. output hot."
    old, new = (tidelog.compile(text.replace("LIMIT", limit)) for limit in ("80", "85"))
    found = tidelog.backtest(old, new, {"temp": {"room": ["a", "b"], "value": [83, 90], "time": [1, 2]}})
    assert repr(found) == "<Backtest of 2 facts, old and new tell: hot 2 and 1>"

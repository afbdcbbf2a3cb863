"""`tidelog run` over files in columns says, refuses and counts what it does row by row."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog
from tidelog.cli import main
from tidelog.commands.streams import histories
from tidelog.commands.streams.run import add_options

PROGRAM = """timeline integer, unit 1 s.
input temp(room: text, value: number).
input door(room: text).
output alarm, quiet, mean, open.
hot(R) :- temp(R, V), V >= 80.
alarm(R) :- boxminus[0,6] diamondminus[0,3] hot(R).
quiet(R) :- diamondminus[10,10] temp(R, _), not diamondminus[0,9] temp(R, _).
mean(R, A) :- A = avg(V) over temp(R, V) in [10 step 10] by R.
open(R) :- not hot(R) since door(R).
bottom :- temp(R, V), V > 1000.
"""


def _rows(seed: int, count: int) -> list[tuple[int, str, float]]:
    draw = random.Random(seed)
    times = sorted(draw.randrange(count) for _ in range(count))
    return [(time, f"r{draw.randrange(4)}", round(draw.gauss(80, 8), 1)) for time in times]


def _csv(path: Path, rows: list[tuple[int, str, float]]) -> str:
    lines = [f"{time},{room},{value}" for time, room, value in rows]
    path.write_text("\n".join(["time,room,value", *lines, ""]))
    return str(path)


def _doors(path: Path, rows: list[tuple[int, str, float]]) -> str:
    times, rooms, _ = zip(*rows[::7], strict=True)
    pq.write_table(pa.table({"time": pa.array(times, pa.int64()), "room": rooms}), path)
    return str(path)


def _both(
    arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, list[str], list[str]]]:
    """Exit code, answers and what was said, in columns and row by row."""
    found = []
    for least in (0, 1 << 40):
        monkeypatch.setattr(histories, "LEAST", least)
        code = main(arguments)
        told, said = capfd.readouterr()
        found.append((code, sorted(told.splitlines()), sorted(said.splitlines())))
    return found


@pytest.mark.parametrize("mode", ["final", "changes", "points"])
def test_answers_are_those_of_rows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Two files, one of CSV and one of Parquet, in each form of answers."""
    (tmp_path / "p.tide").write_text(PROGRAM)
    rows = _rows(1, 400)
    sources = [_csv(tmp_path / "temp.csv", rows), _doors(tmp_path / "door.parquet", rows)]
    arguments = ["run", str(tmp_path / "p.tide"), "--emit", mode, *(part for path in sources for part in ("--in", path))]
    columns, by_rows = _both(arguments, capfd, monkeypatch)
    assert columns == by_rows
    assert columns[0] == 0
    assert len(columns[1]) > 100


def test_bad_late_and_unused_rows_are_told_with_their_places(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same lines say so, and the same counts; a violated constraint is told, and is the exit code."""
    (tmp_path / "p.tide").write_text(PROGRAM)
    lines = Path(_csv(tmp_path / "temp.csv", _rows(2, 300))).read_text().splitlines()
    lines[20], lines[40], lines[60], lines[80] = "x,r1,3", "5,r1,81", "soon,r2,", f"{lines[80].split(',')[0]},r1,2000"
    (tmp_path / "temp.csv").write_text("\n".join(lines) + "\n")
    arguments = ["run", str(tmp_path / "p.tide"), "--in", str(tmp_path / "temp.csv"), "--emit", "final", "--lateness", "3"]
    columns, by_rows = _both(arguments, capfd, monkeypatch)
    assert columns == by_rows
    assert columns[0] == 1
    assert any("late: facts before" in line for line in columns[2])
    assert any("constraint violated" in line for line in columns[2])
    assert any("3 records could not be used" in line for line in columns[2])


def test_statistics_count_the_same_facts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line of `--stats` is that of a run by rows."""
    (tmp_path / "p.tide").write_text(PROGRAM)
    source = _csv(tmp_path / "temp.csv", _rows(3, 200))
    columns, by_rows = _both(["run", str(tmp_path / "p.tide"), "--in", source, "--stats"], capfd, monkeypatch)
    facts = [[line for line in found[2] if "facts:" in line] for found in (columns, by_rows)]
    assert facts[0] == facts[1]
    assert "200 accepted" in facts[0][0]


def test_statistics_tell_what_each_step_took(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In columns alone, and of what is recursive, too; rows received and sent are those of the steps."""
    text = "timeline integer. input e(a: integer, b: integer). r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). output r."
    (tmp_path / "p.tide").write_text(text)
    (tmp_path / "e.csv").write_text("time,a,b\n1,1,2\n1,2,3\n1,3,4\n")
    columns, by_rows = _both(
        ["run", str(tmp_path / "p.tide"), "--in", str(tmp_path / "e.csv"), "--stats"], capfd, monkeypatch
    )
    (header,) = [line.split() for line in columns[2] if line.startswith("tidelog: step ")]
    steps = {line.split()[1]: dict(zip(header[2:], line.split()[2:], strict=True)) for line in columns[2] if " 0.0" in line}
    assert not any("seconds" in line for line in by_rows[2])
    assert header[-1] == "seconds"
    assert sum(float(step["seconds"]) for step in steps.values()) > 0
    assert steps["r"]["sent"] == "6"
    assert sum(int(step["received"]) for step in steps.values()) >= 9


def test_a_recursion_through_time_goes_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far one without an end is followed behind the last fact is what rows say."""
    monkeypatch.setattr(histories, "LEAST", 0)
    parser = argparse.ArgumentParser()
    add_options(parser)
    source = _csv(tmp_path / "temp.csv", _rows(1, 9))
    options = parser.parse_args(["p.tide", "--in", source])
    for rules, in_columns in (("", True), ("seen(R) :- door(R). boxplus[5,5] seen(R) :- seen(R). output seen.", False)):
        made = histories.history_maker(tidelog.compile(PROGRAM + rules), options, ["-"])
        assert (made is not None) == in_columns

"""How far a history has come is shown where a person looks, and nowhere else."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog
from tidelog.cli import main
from tidelog.commands import progress
from tidelog.commands.streams import histories
from tidelog.connectors.files.history_files import open_history
from tidelog.connectors.spec import parse_spec
from tidelog.operators.columns.pool import Pool

PROGRAM = "timeline integer.\ninput temp(room: text, value: number).\nhot(R) :- temp(R, V), V > 80.\noutput hot.\n"
COUNT = 20_000
SHOWN = re.compile(r"\r(\d+)%, ([\d,]+) rows, [\d,]+ a second, \d+ (s|min) left")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program and a history, all of which goes in columns."""
    (tmp_path / "p.tide").write_text(PROGRAM)
    lines = "".join(f"{number},r{number % 7},{number % 90}\n" for number in range(COUNT))
    (tmp_path / "temp.csv").write_text("time,room,value\n" + lines)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(histories, "LEAST", 0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    return tmp_path


@pytest.mark.parametrize("command", [["run", "p.tide", "--in", "temp.csv"], ["backtest", "p.tide", "p.tide", "temp.csv"]])
def test_rows_and_time_left_are_shown_on_a_terminal(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """The line is empty at the end."""
    command = [*command, "--memory", "1MB"]
    assert main(command) == 0
    assert "rows" not in capfd.readouterr().err
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(command) == 0
    shown = SHOWN.findall(terminal.getvalue())
    assert len(shown) > 2
    assert [int(share) for share, _, _ in shown] == sorted(int(share) for share, _, _ in shown)
    assert shown[-1][:2] == ("100", f"{COUNT:,}")
    assert terminal.getvalue().endswith(" \r")


def test_all_bytes_of_a_file_are_read(here: Path) -> None:
    """Of Parquet by the share of its rows."""
    plan = tidelog.compile(PROGRAM)
    rows = range(COUNT)
    table = pa.table({"time": pa.array(rows), "room": ["r"] * COUNT, "value": pa.array(rows, pa.float64())})
    pq.write_table(table, here / "temp.parquet")
    for name in ("temp.csv", "temp.parquet"):
        read: list[int] = []
        batches = open_history(parse_spec(name), plan.schema, Pool(), rows=3_000, on_read=read.append)
        assert sum(map(len, batches)) == COUNT
        assert len(read) > 2
        assert sum(read) == (here / name).stat().st_size

"""How far files have been read is shown on a terminal, for each command that reads them, and nowhere else."""

from __future__ import annotations

import gzip
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from children import WAIT, child, tidelog

COUNT = 30_000
PROGRAM = "timeline integer.\ninput temp(room: text, value: number).\noutput hot.\nhot(R) :- temp(R, V), V > 80.\n"
STREAM = "timeline integer.\ninput temp(room: text, value: number).\noutput hot.\nhot(R) :- temp(R, V) in [#3], V > 80.\n"
SHOWN = re.compile(r"\r(\d+)%, ([\d,]+) rows, [\d,]+ a second, \d+ s left *\r")
SOON = "import sys; from tidelog.commands import progress; progress.INTERVAL = 0.01; from tidelog.cli import main; "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, one with a tuple window, and the same facts in each format."""
    folder = tmp_path_factory.mktemp("progress")
    (folder / "p.tide").write_text(PROGRAM)
    (folder / "stream.tide").write_text(STREAM)
    rows = [(time, f"r{time % 7}", time % 90) for time in range(COUNT)]
    csv = "time,room,value\n" + "".join(f"{time},{room},{value}\n" for time, room, value in rows)
    (folder / "temp.csv").write_text(csv)
    (folder / "temp.csv.gz").write_bytes(gzip.compress(csv.encode()))
    (folder / "temp.txt").write_text("".join(f"temp({room},{value})@{time}\n" for time, room, value in rows))
    lines = (f'{{"temp":{{"room":"{room}","value":{value}}},"time":{time}}}\n' for time, room, value in rows)
    (folder / "temp.jsonl").write_text("".join(lines))
    times, rooms, values = zip(*rows, strict=True)
    table = pa.table({"time": times, "room": rooms, "value": pa.array(values, pa.float64())})
    pq.write_table(table, folder / "temp.parquet")
    return folder


def on_a_terminal(folder: Path, *arguments: str, given: str = os.devnull) -> str:
    """What a command writes to a terminal on standard error, where the line is drawn often."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-c", f"{SOON}sys.exit(main(sys.argv[1:]))", *arguments]
    shown = b""
    with (
        open(folder / given, "rb") as stdin,
        child(command, cwd=folder, stderr=follower, stdin=stdin, stdout=subprocess.DEVNULL) as process,
    ):
        os.close(follower)
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        assert process.wait(WAIT) == 0
    os.close(leader)
    return shown.decode()


FILES = ("temp.csv", "temp.csv.gz", "temp.txt", "temp.jsonl", "temp.parquet")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        *(["run", "p.tide", name, "--out", "/dev/null"] for name in FILES),
        *(["materialise", "p.tide", name] for name in FILES),
        ["ask", "p.tide", "temp.csv", "--query", "hot(r1)@T", "--out", "jsonl+/dev/null"],
        ["plot", "p.tide", "temp.csv"],
        ["plot", "stream.tide", "temp.csv"],
        ["why", "p.tide", "temp.csv", "--fact", "hot(r4)@81"],
        ["entails", "p.tide", "temp.jsonl", "--fact", "hot(r4)@81"],
        ["consistent", "p.tide", "temp.csv", "--method", "materialise"],
        ["backtest", "p.tide", "p.tide", "temp.csv", "temp.csv.gz", "--memory", "1MB"],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_rows_rate_and_time_left(folder: Path, arguments: list[str]) -> None:
    """In one line, by the bytes of the files, compressed or not; in the end it is empty."""
    terminal = on_a_terminal(folder, *arguments)
    shown = SHOWN.findall(terminal)
    assert shown, terminal[-300:]
    shares = [int(share) for share, _ in shown]
    assert shares == sorted(shares) and shares[-1] <= 100
    assert all(int(rows.replace(",", "")) <= 2 * COUNT for _, rows in shown)
    assert terminal.rstrip("\n").endswith(" \r")


def test_nothing_is_shown_in_a_pipe(folder: Path) -> None:
    """Standard error has only what is said."""
    for command in ("run", "materialise"):
        done = tidelog(command, "p.tide", "temp.csv", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_of_standard_input_the_rows_are_shown(folder: Path) -> None:
    """It has no length, so no share and no time left."""
    terminal = on_a_terminal(folder, "materialise", "p.tide", "facts+-", given="temp.txt")
    assert re.search(r"\r[\d,]+ rows, [\d,]+ a second *\r", terminal)
    assert "%" not in terminal

"""A stream of a program on Spark, killed at random points and started again: its tables hold each answer once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

import tidelog
from spark.quick import environment
from tidelog.connectors.formats.formats import make_decoder
from tidelog.plans.plan.plan import Plan
from waiting import eventually

PROGRAM = """
timeline integer.
input reading(sensor, machine).
input fault(machine).
output alone, trouble.
moved(S) :- reading(S, M), diamondminus[1,6] reading(S, N), M != N.
alone(S) :- reading(S, _), not moved(S).
left(M) :- reading(S, M), moved(S).
trouble(M) :- fault(M), not diamondminus[0,2] left(M).
"""
FILES, FACTS, LATENESS = 8, 60, 4
_PATIENCE = 120.0
AS_SPARK_DOES = [
    "spark.sql.streaming.checkpoint.fileChecksum.enabled=true",
    "spark.sql.streaming.checkpointFileManagerClass="
    "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager",
]
"""How the files of a checkpoint were written once: as Spark's defaults have it."""
GONE = "Spark has given up: its process (the JVM) has ended, killed or for lack of memory: `--log FILE` keeps what it says"
TOO_LATE = '{"predicate":"fault","args":["too late"],"time":1}'

Told = Counter[tuple[str, str, int]]
"""How often it was told that a row of a predicate holds at a time."""


def lines_of(draw: random.Random) -> list[str]:
    """Facts of a few sensors and machines, out of order within the lateness, as lines of JSON."""
    found = []
    for number in range(FILES * FACTS):
        at = LATENESS + number // 5 - draw.randint(0, LATENESS)
        machine = f"m{draw.randrange(5)}"
        name, row = draw.choice([("reading", [f"s{draw.randrange(20)}", machine])] * 3 + [("fault", [machine])])
        found.append(msgspec.json.encode({"predicate": name, "args": row, "time": at}).decode())
    return found


def expected(plan: Plan, lines: Iterable[str]) -> Told:
    """What one process that nothing disturbs has told by then."""
    session = tidelog.Session(plan, emit="intervals", lateness=LATENESS)
    session.push_records(
        make_decoder("jsonl", plan.schema, "lines", None).decode([line.encode() for line in lines], 1).records
    )
    return Counter((name, shown(row), at) for name, row, lo, hi in session.pull_records() for at in range(lo, hi + 1))


def shown(row: Iterable[object]) -> str:
    return ",".join(msgspec.json.encode(value).decode() for value in row)


def told(tables: Path) -> Told:
    """What the tables hold, as a reader of plain Parquet sees them."""
    found: Told = Counter()
    for file in tables.glob("[!_.]*/batch=*/*.parquet"):
        for row in pq.ParquetFile(file).read().to_pylist():
            name, times = file.parts[-3], range(int(row["start"]), int(row["end"]) + 1)
            found.update((name, ",".join(row["arguments"]), at) for at in times)
    return found


def start(folder: Path, *settings: str) -> subprocess.Popen[str]:
    """The stream over what is there, in a group of processes of its own."""
    options = ["--in", "jsonl+in", "--out", "parquet:tables", "--checkpoint", "checkpoint", "--once", "--files", "1"]
    options += ["--lateness", str(LATENESS), "--buckets", "2", "--cores", "1"]
    options += [text for setting in settings for text in ("--conf", setting)]
    command = [sys.executable, "-m", "tidelog", "spark", "run", "p.tide", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True, env=environment()
    )


def begun(folder: Path) -> int:
    """How many batches have begun."""
    offsets = folder / "checkpoint" / "offsets"
    return sum(name.isdecimal() for name in os.listdir(offsets)) if offsets.is_dir() else 0


def kill_somewhere(folder: Path, draw: random.Random, kill: Callable[[subprocess.Popen[str]], None], *settings: str) -> None:
    """Start the stream, and kill it in one of the batches that it begins."""
    process = start(folder, *settings)
    target = begun(folder) + draw.randint(1, 2)
    eventually(lambda: begun(folder) >= target or process.poll() is not None)
    time.sleep(draw.uniform(0, 2))  # a drawn moment of the batch
    assert process.poll() is None, process.communicate()[0]
    kill(process)
    process.communicate()
    assert_nothing_left(process.pid)


def assert_nothing_left(session: int) -> None:
    """Once the driver is killed, the JVM and its workers end by themselves."""
    eventually(lambda: not processes_of(session), _PATIENCE)


def processes_of(session: int) -> list[str]:
    """The processes of a session, by name."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # it has just ended
                text = (folder / "stat").read_text()
                state, _, _, sid = text[text.rindex(")") + 2 :].split()[:4]
                if int(sid) == session and state != "Z":
                    found.append(text[: text.rindex(")") + 1])
    return found


@pytest.mark.long
def test_killed_at_random_points(tmp_path: Path) -> None:
    """Two stages, negation and facts that come late, a file a batch; the driver is killed, then all of Spark.

    The checkpoint begins as Spark writes one by default, and as earlier versions did.
    Nothing is lost, nothing is told twice, what comes too late is found to do so, and no process is left behind.
    """
    draw = random.Random()
    lines = lines_of(draw)
    (tmp_path / "p.tide").write_text(PROGRAM, "utf-8")
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        some = lines[number * FACTS : (number + 1) * FACTS] + [TOO_LATE] * (number == FILES - 1)
        path = tmp_path / "in" / f"{number}.jsonl"
        path.write_text("\n".join(some), "utf-8")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    kill_somewhere(tmp_path, draw, lambda process: process.kill(), *AS_SPARK_DOES)
    kill_somewhere(tmp_path, draw, lambda process: os.killpg(process.pid, signal.SIGKILL))
    process = start(tmp_path)
    said = process.communicate()[0]
    assert process.returncode == 0, said
    assert '("too late")@1' in said
    assert begun(tmp_path) > FILES - 2  # what was found, and not begun, when it was killed comes with the next file
    right = expected(tidelog.compile(PROGRAM), lines)
    assert {name for name, *_ in right} == {"alone", "trouble"}
    assert set(right.values()) == {1}
    assert told(tmp_path / "tables") == right


def java_of(session: int) -> int:
    """The number of the JVM of a session."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                text = (folder / "stat").read_text()
                name, (_, _, _, sid) = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()[:4]
                if int(sid) == session and name == "java":
                    return int(folder.name)
    raise AssertionError("no JVM runs")


@pytest.mark.slow
@pytest.mark.long
def test_a_killed_jvm_is_one_line(tmp_path: Path) -> None:
    """A run whose JVM is killed, as by the system where memory ends, ends with one line that says so."""
    (tmp_path / "p.tide").write_text(PROGRAM, "utf-8")
    (tmp_path / "in").mkdir()
    for number, line in enumerate(lines_of(random.Random(1))):
        (tmp_path / "in" / f"{number:04}.jsonl").write_text(line, "utf-8")
    process = start(tmp_path)
    eventually(lambda: begun(tmp_path) > 1 or process.poll() is not None)
    os.kill(java_of(process.pid), signal.SIGKILL)
    said = process.communicate()[0]
    assert process.returncode == 1, said
    assert said.splitlines() == ["tidelog: error: " + GONE], said
    assert_nothing_left(process.pid)

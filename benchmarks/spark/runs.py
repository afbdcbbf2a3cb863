"""Runs to be measured, each in a process of its own, over readings that lie in a temporary folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from time import perf_counter

import msgspec

from benchmarks.spark.found import History, Stream
from benchmarks.spark.readings import readings, write_csv, write_parquet, write_program

_ROOT = Path(__file__).parents[2]
_FILES = 4
_BUCKETS = 8


@dataclass(frozen=True, slots=True)
class Alone:
    """A run in one process: seconds, and how many facts it tells."""

    seconds: float
    told: int


class Readings:
    """The readings of so many turbines, as files of each kind that is asked for, in a folder that is there."""

    def __init__(self, folder: Path, keys: int, rows: int) -> None:
        self._folder = folder
        self._found = readings(keys, rows)
        self._program = folder / "turbines.tide"
        write_program(self._program)

    def alone(self) -> Alone:
        """`tidelog run` over one file of CSV, to one file of facts."""
        spec, out = self._files("csv", 1), self._folder / "answers.facts"
        begin = perf_counter()
        _python("tidelog", "run", str(self._program), "--in", spec, "--out", f"facts+{out}", "--emit", "final")
        seconds = perf_counter() - begin
        return Alone(seconds, len(out.read_bytes().splitlines()))

    def history(self, kind: str, cores: int) -> History:
        """Over all files at once, of this kind."""
        return msgspec.json.decode(self._probe("history", self._files(kind, _FILES), cores, _BUCKETS), type=History)

    def stream(self, batches: int, cores: int, buckets: int) -> Stream:
        """Over files of CSV, one a batch."""
        return msgspec.json.decode(self._probe("stream", self._files("csv", batches), cores, buckets), type=Stream)

    def _files(self, kind: str, count: int) -> str:
        """The SPEC of the readings in so many files of a kind."""
        folder = self._folder / f"{kind}-{count}"
        if not folder.exists():
            (write_parquet if kind == "parquet" else write_csv)(folder, self._found, count)
        files = f"temp-*.{kind}" if count > 1 else f"temp-000.{kind}"
        return f"{folder}/{files}?predicate=temp"

    def _probe(self, what: str, spec: str, cores: int, buckets: int) -> str:
        written = self._folder / "written"
        program = str(self._program)
        try:
            return _python("benchmarks.spark.probe", what, program, spec, str(cores), str(buckets), str(written))
        finally:
            rmtree(written, ignore_errors=True)


def _python(module: str, *arguments: str) -> str:
    """What a module prints; RuntimeError with what it says where it fails."""
    command: Sequence[str] = (sys.executable, "-m", module, *arguments)
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} has failed:\n{done.stderr}")
    return done.stdout

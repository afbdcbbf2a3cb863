"""Workers of a cluster that have no tidelog get it from the driver, and what they lack otherwise is named."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from children import WAIT
from spark.quick import JAVA
from tidelog.connectors.spark.cluster.archive import is_pure, pack
from tidelog.connectors.spark.cluster.queries import why
from tidelog.connectors.spark.cluster.session import _own_python_as
from tidelog.connectors.spark.places import environment
from tidelog.plans.diagnostics.errors import SpecError

from .cluster import COMPILED, bare_python, cluster

PROGRAM = """
timeline integer, unit 1 s.
input temp(sensor: text, value: number).
output hot, mute.
hot(S) :- boxminus[0,2] warm(S).
warm(S) :- temp(S, V), V >= 30.
mute(S) :- diamondminus[0,9] temp(S, _), not diamondminus[0,2] temp(S, _).
"""
QUICK = (
    "spark.executor.memory=512m",
    "spark.sql.codegen.wholeStage=false",
    f"spark.driver.extraJavaOptions={JAVA}",
    f"spark.executor.extraJavaOptions={JAVA}",
    "spark.default.parallelism=2",
    "spark.driver.host=127.0.0.1",
)


@pytest.fixture
def plant(tmp_path: Path) -> Path:
    """A folder with a program, and one of readings."""
    (tmp_path / "plant.tide").write_text(PROGRAM, "utf-8")
    (tmp_path / "readings").mkdir()
    draw = random.Random(7)
    facts = (
        {"predicate": "temp", "args": [f"s{sensor}", draw.choice((25, 31, 31, 31, 35))], "time": time}
        for time in range(40)
        for sensor in range(6)
        if time % 20 < 20 - 2 * sensor
    )
    (tmp_path / "readings" / "all.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts), "utf-8")
    return tmp_path


def tidelog(folder: Path, *options: str, python: str | None = None) -> tuple[int, list[str], str]:
    """The exit code, the sorted lines and the messages of a command that is run in a folder."""
    environ = os.environ | ({} if python is None else {"PYSPARK_PYTHON": python})
    command = [sys.executable, "-m", "tidelog", *options]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=2 * WAIT, check=False)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


def on_cluster(folder: Path, master: str, python: str, *options: str) -> tuple[int, list[str], str]:
    conf = [text for each in QUICK for text in ("--conf", each)]
    told = ("--in", "jsonl+readings", "--out", "facts+-", "--log", "spark.log", "--buckets", "2", *conf)
    return tidelog(folder, "spark", "run", "plant.tide", "--master", master, *told, *options, python=python)


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found.master


@pytest.mark.long
def test_a_cluster_without_tidelog_answers_as_one_process(plant: Path, master: str) -> None:
    """Workers that have no tidelog give what one process gives: over history in an environment that is packed, as a stream
    in a Python that is there."""
    python = bare_python(plant / "python", COMPILED)
    assert subprocess.run([python, "-c", "import tidelog"], cwd="/", env={}, capture_output=True, check=False).returncode
    with tarfile.open(plant / "env.tar.gz", "w:gz") as archive:
        archive.add(plant / "python", ".")
    facts = ("--in", "readings/all.jsonl", "--out", "facts+-")
    history = tidelog(plant, "run", "plant.tide", *facts, "--emit", "final")
    assert (history[0], len(history[1]) > 20) == (0, True)
    assert on_cluster(plant, master, python, "--archives", "env.tar.gz") == history
    stream = tidelog(plant, "run", "plant.tide", *facts, "--emit", "final", "--at-end", "stop")
    told = on_cluster(plant, master, python, "--checkpoint", f"file://{plant}/checkpoint", "--once", "--emit", "final")
    assert told[:2] == stream[:2], told[2]


@pytest.mark.long
def test_what_workers_lack_is_named(plant: Path, master: str) -> None:
    """A package that is compiled, and is not there: a line, with the remedy."""
    python = bare_python(plant / "python", [name for name in COMPILED if name != "msgspec"])
    code, _, said = on_cluster(plant, master, python)
    assert (code, said.count("\n")) == (1, 1)
    assert "lacks `msgspec`: bring an environment that has it: `venv-pack -o env.tar.gz`" in said


def test_the_first_batch_of_a_stream_finds_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While Spark is started, the relative path of the workers' Python is this one; afterwards all is as before."""
    monkeypatch.chdir(tmp_path)
    with _own_python_as("./env/bin/python"):
        code = ["./env/bin/python", "-c", "import sys, msgspec; print(sys.executable)"]
        done = subprocess.run(code, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.stdout.strip() == sys.executable
    assert (Path.cwd(), os.listdir(tmp_path)) == (tmp_path, [])


def test_a_python_that_is_not_there_is_told() -> None:
    """What Java says where a worker's Python cannot be started is one line, with the remedy."""
    said = 'java.io.IOException: Cannot run program "/nowhere/python": error=2, No such file or directory'
    assert why(OSError(said)).startswith("workers cannot start `/nowhere/python`: name the Python that they have by ")


def test_another_version_of_python_is_told() -> None:
    """What Spark says of it in many lines is one, with the remedy."""
    said = (
        "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
        "version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions."
    )
    told = "the workers' Python is 3.12, and this one 3.11: name one like this by the variable `PYSPARK_PYTHON`, or bring it"
    assert why(OSError(said)).startswith(told)


def test_a_zip_holds_sources_and_data(tmp_path: Path) -> None:
    """Python imports tidelog from it, and compiles a program; nothing compiled is in it."""
    path = pack(["tidelog", "lark", "anyio", "typing_extensions"], os.fspath(tmp_path / "tidelog.zip"))
    names = ZipFile(path).namelist()
    assert {"tidelog/plans/language/grammar.json", "tidelog/connectors/spark/source.py", "typing_extensions.py"} < set(names)
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    assert (is_pure("lark"), is_pure("typing_extensions"), is_pure("msgspec")) == (True, True, False)
    code = f"import sys; sys.path.insert(0, {path!r}); import tidelog as t; print(t.compile('p(X) :- q(X).').outputs, t)"
    python = bare_python(tmp_path / "python", ["msgspec"])
    done = subprocess.run([python, "-c", code], cwd="/", env={}, capture_output=True, text=True, timeout=WAIT, check=False)
    assert ("'p'" in done.stdout, path in done.stdout) == (True, True), done.stderr


def test_archives(tmp_path: Path) -> None:
    """An archive with an environment is a file, or a URI, with the name that its folder gets on workers."""
    file = tmp_path / "env.tar.gz"
    file.touch()
    assert environment(os.fspath(file)) == (f"{file}#environment", "./environment/bin/python")
    refused: Sequence[tuple[str, str]] = [("env.zip,b.zip", "one archive"), ("a#..", "one archive"), ("no.zip", "no file")]
    for archive, message in refused:
        with pytest.raises(SpecError, match=message):
            environment(archive)

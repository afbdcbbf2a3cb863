"""`spark-submit` of a program that uses tidelog, to a cluster whose Python has none, and that loses a worker meanwhile."""

from __future__ import annotations

import json
import os
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark.sql import Row

from children import WAIT, child, tidelog
from spark.cluster import COMPILED, HOME, bare_python, cluster
from spark.quick import JAVA
from spark.test_reason import COLUMNS, PROGRAM, READINGS, expected, facts
from waiting import eventually

CONF = (
    "spark.cores.max=2",
    "spark.driver.host=127.0.0.1",
    "spark.executor.cores=1",
    "spark.executor.memory=512m",
    "spark.shuffle.io.retryWait=1s",
    "spark.sql.codegen.wholeStage=false",
    f"spark.driver.extraJavaOptions={JAVA}",
    f"spark.executor.extraJavaOptions={JAVA}",
)
SCRIPT = f'''
import json, os, sys, time
from pyspark.sql import SparkSession
from tidelog.spark import reason

folder = sys.argv[1]
session = SparkSession.builder.getOrCreate()

def wait(batches):
    """Say which worker has begun, and go on once the test lets it."""
    open(os.path.join(folder, "at-" + os.getcwd().split(os.sep)[-3]), "w").close()
    while not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.05)
    yield from batches

frame = session.createDataFrame({READINGS!r}, {COLUMNS!r}).repartition(4)
told = reason(frame, {PROGRAM!r}, output="mute(node: text)", buckets=4)
rows = [row.asDict() for row in told.mapInArrow(wait, told.schema).collect()]
import tidelog
with open(os.path.join(folder, "told"), "w") as file:
    json.dump([tidelog.__file__, rows], file, default=str)
'''


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_answers_as_one_process(tmp_path: Path) -> None:
    """Both workers have begun the last stage when one is killed, with what it has told the other, which then does all."""
    archive, script = tmp_path / "tidelog.zip", tmp_path / "alarms.py"
    assert tidelog("spark", "archive", os.fspath(archive)).returncode == 0
    script.write_text(SCRIPT, "utf-8")
    python = bare_python(tmp_path / "python", COMPILED)
    others = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SPARK", "VIRTUAL"))}
    environment = others | {"SPARK_HOME": HOME, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
    with cluster(tmp_path / "cluster", workers=2) as found:
        command = [f"{HOME}/bin/spark-submit", "--master", found.master, "--py-files", os.fspath(archive)]
        command += [text for each in CONF for text in ("--conf", each)]
        with (
            (tmp_path / "log").open("wb") as log,
            child([*command, os.fspath(script), os.fspath(tmp_path)], env=environment, stderr=log, cwd=tmp_path) as run,
        ):
            eventually(lambda: run.poll() is not None or all((tmp_path / f"at-{name}").exists() for name in found.workers))
            assert run.poll() is None, (tmp_path / "log").read_text()[-3000:]
            found.workers["worker-0"].kill()
            (tmp_path / "go").touch()
            assert run.wait(WAIT) == 0, (tmp_path / "log").read_text()[-3000:]
    place, rows = json.loads((tmp_path / "told").read_text())
    assert place.startswith(os.fspath(archive.name)) or archive.name in place
    assert facts([Row(**row) for row in rows], "mute", ("node",)) == expected(READINGS, "mute")


def test_an_archive_holds_what_is_python_alone(tmp_path: Path) -> None:
    """It is written as a whole, and what has to be there beside it is told; what Python cannot import from is refused."""
    path = tmp_path / "tidelog.zip"
    path.write_text("an older one")
    told = tidelog("spark", "archive", "tidelog.zip", cwd=tmp_path)
    assert (told.returncode, told.stdout) == (0, "")
    assert "`tidelog.zip` holds tidelog, anyio, " in told.stderr
    assert "and to have msgspec, pyarrow, pandas, protobuf" in told.stderr
    assert {"tidelog/spark.py", "lark/__init__.py"} < set(ZipFile(path).namelist())
    assert os.listdir(tmp_path) == ["tidelog.zip"]
    for name, message in (("tidelog.tar", "what is called a zip"), ("none/tidelog.zip", "No such file or directory")):
        told = tidelog("spark", "archive", name, cwd=tmp_path)
        assert (told.returncode, message in told.stderr) == (2, True)

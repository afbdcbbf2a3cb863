"""A session that somebody else has started, as on a hosted platform: tidelog works in it, and leaves it as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import Row

import tidelog
from children import WAIT
from spark.cluster import bare_python
from spark.quick import environment
from spark.test_reason import COLUMNS, HOT, PROGRAM, READINGS, expected, facts
from tidelog.connectors.spark.cluster.shipping import is_this_python

SCRIPT = f"""
import json, logging
from pyspark.sql import SparkSession

def settings(session):
    return sorted(tuple(row) for row in session.sql("SET").collect())

given = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = given.createDataFrame({READINGS!r}, {COLUMNS!r})
before = settings(given)

from tidelog.connectors.spark import spark_session
from tidelog.spark import reason
told = reason(frame, {PROGRAM!r}, output={HOT!r}, buckets=1).collect()
assert spark_session(cores=7) is given
assert settings(given) == before
assert given.range(3).count() == 3  # it is not stopped
print(json.dumps([row.asDict() for row in told], default=str))
"""


@pytest.mark.long
def test_a_given_session_without_an_environment_or_a_home(tmp_path: Path) -> None:
    """Nothing is written where one may not, `python3` on the path is another Python, and no setting is changed."""
    place = os.path.dirname(os.path.dirname(tidelog.__file__))
    path = f"{os.path.dirname(bare_python(tmp_path / 'other', []))}{os.pathsep}{os.environ['PATH']}"
    others = {key: value for key, value in environment().items() if not key.startswith(("PYTHON", "PYSPARK", "VIRTUAL"))}
    environ = others | {"HOME": "/dev/null", "PATH": path, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd="/proc", env=environ, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [Row(**row) for row in json.loads(done.stdout)]
    assert facts(rows, "hot", ("node", "value")) == expected(READINGS, "hot")
    assert f"Python workers run `{sys.executable}` from now on, not `python3`, which is another" in done.stderr
    assert "the session that is there stays as it is: spark.sql." in done.stderr


def test_an_interpreter_is_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its environment, not by the file that is run in the end."""
    other = bare_python(tmp_path / "other", [])
    assert os.path.realpath(other) == os.path.realpath(sys.executable)
    assert (is_this_python(sys.executable), is_this_python(other), is_this_python("nowhere")) == (True, False, False)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    assert is_this_python("python3")
    monkeypatch.setenv("PATH", os.path.dirname(other))
    assert not is_this_python("python3")

"""How Spark is started: silent, and on this machine with this interpreter in its workers, on loopback."""

from __future__ import annotations

import atexit
import logging
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidelog.connectors.spark.cluster.connect import refuse_connect

logger = logging.getLogger("tidelog")

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # the name of a node is text, even if it reads like a number
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # the default is a form that others read as nanoseconds, which end in the year 2262
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_ATTEMPTS = 4
"""How often a task is tried, as on a cluster: on a busy machine a worker may start too late, or be killed."""
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_FIRST_COMPILER_ONLY = "-XX:TieredStopAtLevel=1"
"""On one machine Spark plans and moves rows, and Python computes: to compile that once more, and better, costs more than the
run gains by it in its first minutes."""
_FEW_CORES = 2
_ONE_COLLECTOR = "-XX:+UseSerialGC"
"""On so few cores the garbage of planning is collected by one thread: several, beside those that work, cost more."""
_ROOM_FOR_CLASSES = "-XX:MetaspaceSize=192m"
"""So many classes are loaded at the start that Java would collect garbage several times to make room for them."""
_SILENT_ARCHIVE = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"
"""An archive that is of another Java, or of other jars, is passed over; what cannot be put into one is of no interest."""
_WORKERS = {"spark.python.daemon.module": "tidelog.connectors.spark.cluster.worker_daemon"}
"""Workers of this machine are forked from a process that has loaded what they need; a cluster may have no tidelog yet."""
_LIGHT = {
    # nobody sees Spark's page of a query, for which each one's plan is written
    "spark.sql.ui.explainMode": "simple",
    # workers of all kinds have the same environment, so that one process forks all of them
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
"""What a session costs less with that nobody else has part in."""
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_session(
    name: str = "tidelog",
    *,
    cores: int = 2,
    master: str | None = None,
    log: str = os.devnull,
    settings: Mapping[str, str] | None = None,
    python: str | None = None,
    classes: str | None = None,
) -> SparkSession:
    """The Spark session of this process, started on `cores` cores of this machine if there is none yet. One that is there is
    returned as it is: none of its settings is changed, and what is asked for here, and is otherwise there, is logged.

    Its workers run this Python. It listens on loopback only, its time zone is UTC, and what it logs goes to the file `log`.
    `settings` are further ones of Spark's own; they win. With the `master` of a cluster, which has cores of its own, it
    listens as Spark does, and its workers run `python`, or what `PYSPARK_PYTHON` says, if not that of this path. On this
    machine `classes` is the file of an archive of Java's classes, as `java_options` has it.
    """
    refuse_connect("`spark_session`", master)
    found = SparkSession.getActiveSession()
    if found is not None:
        _note_differences(found, {**_SETTINGS, **dict(settings or {})})
        return found
    chosen = {**_SETTINGS}
    if master is None or master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        # a batch has few groups: one task for each core is enough
        chosen |= {**_LOOPBACK, **_LIGHT, **_WORKERS, "spark.sql.shuffle.partitions": str(cores)}
        chosen[_JAVA_OPTIONS] = java_options(classes, cores)
    else:
        os.environ["PYSPARK_PYTHON"] = python or os.environ.get("PYSPARK_PYTHON") or sys.executable
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master or f"local[{cores},{_ATTEMPTS}]").appName(name)
    for key, value in (chosen | dict(settings or {})).items():
        builder = builder.config(key, value)
    with _standard_error_in(log), _own_python_as(python):  # the JVM inherits it, and with it all that Spark says
        session = builder.getOrCreate()
    server = getattr(getattr(session, "sparkContext", None), "_accumulatorServer", None)
    if server is not None:  # it would print a page of its own where the JVM is killed, which is told elsewhere
        server.handle_error = lambda *_: None
    logging.getLogger().addFilter(is_news)
    return session


def is_news(record: logging.LogRecord) -> bool:
    """All but what Py4J logs, with its stack, of a call that a killed JVM has cut off: the call raises it, too."""
    return record.msg != "Exception while sending command."


def java_options(classes: str | None, cores: int) -> str:
    """The options of the JVM that a session of this machine runs in, on so many cores.

    Classes come from an archive, as Java has loaded and checked them, if that is there; else it is made when the JVM ends.
    """
    chosen = f"{_FIRST_COMPILER_ONLY} {_ROOM_FOR_CLASSES}"
    if cores <= _FEW_CORES:
        chosen += f" {_ONE_COLLECTOR}"
    if classes is None:
        return chosen
    path = os.path.abspath(classes)
    option = "SharedArchiveFile" if os.path.exists(path) else "ArchiveClassesAtExit"
    return f'{chosen} {_SILENT_ARCHIVE} "-XX:{option}={path}"'


def _note_differences(session: SparkSession, wanted: Mapping[str, str]) -> None:
    """Say which settings a session that is there has otherwise than they are wanted."""
    found = {name: _setting(session, name) for name in sorted(wanted) if name.startswith("spark.sql.")}
    others = [f"{name}={value or 'not set'}" for name, value in found.items() if value != wanted[name]]
    if others:
        logger.warning("the session that is there stays as it is: %s", ", ".join(others))


def _setting(session: SparkSession, name: str) -> str | None:
    try:
        return session.conf.get(name)
    except PySparkException:  # nobody has set it, and it has no default
        return None


@contextmanager
def _own_python_as(python: str | None) -> Iterator[None]:
    """Start the JVM where a relative path of the workers' Python leads to this one: Spark runs it on this machine, too."""
    if python is None or os.path.isabs(python):
        yield
        return
    folder = tempfile.mkdtemp(prefix="tidelog-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, python)
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "utf-8")
    path.chmod(0o700)
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _standard_error_in(path: str) -> Iterator[None]:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        before = os.dup(2)
    except OSError:  # it is closed
        before = None
    os.dup2(log, 2)
    os.close(log)
    try:
        yield
    finally:
        if before is None:
            os.close(2)
        else:
            os.dup2(before, 2)
            os.close(before)

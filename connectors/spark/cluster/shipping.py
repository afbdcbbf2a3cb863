"""Workers of a cluster get tidelog from the driver: a zip of it, with what it needs and they lack."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import cloudpickle

from tidelog.connectors.spark.cluster import worker_python
from tidelog.connectors.spark.cluster.archive import NEEDED, NEEDED_BY_SPARK, PACKAGE, is_pure, pack
from tidelog.connectors.spark.cluster.connect import is_connect, session_name
from tidelog.connectors.spark.cluster.queries import told_in_a_line
from tidelog.connectors.spark.cluster.worker_python import is_there, look
from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_MOST_LOOKS = 32
_LOOKS_OF_SERVER = 4
"""How many workers of a server of Spark Connect are looked at: it does not say how many it has."""
_SEEN = "host string, digest string, missing array<string>"
_seen = pa.schema({"host": pa.string(), "digest": pa.string(), "missing": pa.list_(pa.string())})
_HINT = "bring an environment that has it: `venv-pack -o env.tar.gz`, then `--archives env.tar.gz` (`spark.archives`)"

logger = logging.getLogger("tidelog")

_by_value: Any = cloudpickle  # it has no types
_prepared: set[str] = set()
"""The applications of Spark, and the sessions of Spark Connect, whose workers have what they need."""
_supplied: set[str] = set()
"""The sessions of Spark Connect whose workers got it from here."""

_Look = tuple[str, str | None, list[str]]
"""A worker's host, the digest of its tidelog, and what it lacks."""


def prepare_workers(spark: SparkSession, *, keeps_state: bool = False) -> None:
    """See to it that the workers of a session can run this tidelog: those of a cluster get it, once a session, and those of
    this machine run this Python.

    ConnectorError where their Python is of another version, or lacks what has to be installed there. For a stream that
    `keeps_state` a server of Spark Connect has to have tidelog itself.
    """
    if is_connect(spark):
        _prepare_server(spark, keeps_state=keeps_state)
        return
    context = spark.sparkContext
    application = context.applicationId or ""
    if context.master is None or application in _prepared or _prepare_here(context):
        return
    lacking = _lacking(_looks(context))
    if lacking:
        path = _packed(lacking)
        context.addPyFile(path)
        # the first batch of a stream begins in their Python on this machine, where Spark looks for nothing that was added
        known = context.environment.get("PYTHONPATH")
        context.environment["PYTHONPATH"] = path if known is None else f"{path}{os.pathsep}{known}"
    _prepared.add(application)


def _prepare_here(context: SparkContext) -> bool:
    """Whether workers are of this machine, and run this Python. Where nobody has chosen theirs, it would be the `python3` of
    the path, which in a virtual environment that is not activated is another: they get this one from now on."""
    if (context.master or "").split("[")[0] != "local":
        return False
    if is_this_python(context.pythonExec):
        return True
    if "PYSPARK_PYTHON" in os.environ:
        return False
    logger.warning("Python workers run `%s` from now on, not `%s`, which is another", sys.executable, context.pythonExec)
    context.pythonExec = sys.executable
    return True


def is_this_python(command: str) -> bool:
    """Whether a command starts this interpreter, in this environment."""
    found = shutil.which(command)
    if found is None:
        return False
    places = [os.path.dirname(os.path.abspath(path)) for path in (found, sys.executable)]
    return places[0] == places[1] and os.path.realpath(found) == os.path.realpath(sys.executable)


def _prepare_server(spark: SparkSession, *, keeps_state: bool) -> None:
    """The same for a session of Spark Connect: a file that it has added is its own, and goes with it."""
    name = session_name(spark)
    if name not in _prepared:
        lacking = _lacking(_looks_of_server(spark))
        if lacking:
            spark.addArtifacts(_packed(lacking), pyfile=True)
            _supplied.add(name)
        _prepared.add(name)
    if keeps_state and name in _supplied:  # it sets up the state in a Python on its own machine, which gets no files
        raise ConnectorError(
            "the server of Spark Connect has no tidelog of this version, and a stream that keeps state needs it there: "
            "`pip install tidelog` into the Python of the server, and begin a new session; a batch needs none"
        )


def _packed(modules: Sequence[str]) -> str:
    """The path of a zip with these modules, which is there as long as this process is."""
    folder = tempfile.mkdtemp(prefix="tidelog-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pack(modules, os.path.join(folder, f"{PACKAGE}.zip"))


def _lacking(looks: Iterable[_Look]) -> list[str]:
    """What a zip has to bring to the workers; ConnectorError where that would not do."""
    own = worker_python.digest_of(PACKAGE)
    lacking: set[str] = set()
    for host, digest, missing in looks:
        if digest != own:
            lacking.add(PACKAGE)
        for name in missing:
            if not is_pure(name):
                raise ConnectorError(f"the Python of the workers on `{host}` lacks `{name}`: {_HINT}")
            lacking.add(name)
    return sorted(lacking)


def _looks(context: SparkContext) -> Iterable[_Look]:
    modules = _modules()
    tasks = max(1, min(_MOST_LOOKS, context.defaultParallelism))

    def look_there(_: Iterable[int]) -> Iterator[_Look]:
        yield look(PACKAGE, modules)

    with _sent_by_value(), told_in_a_line():
        return context.parallelize(range(tasks), tasks).mapPartitions(look_there).collect()


def _looks_of_server(spark: SparkSession) -> Iterable[_Look]:
    """The same by a frame, since there are no RDDs behind Spark Connect."""
    modules = _modules()

    def look_there(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            host, digest, missing = look(PACKAGE, modules)
            yield pa.RecordBatch.from_pydict({"host": [host], "digest": [digest], "missing": [missing]}, _seen)

    with _sent_by_value(), told_in_a_line():
        rows = spark.range(0, _LOOKS_OF_SERVER, 1, _LOOKS_OF_SERVER).mapInArrow(look_there, _SEEN).collect()
    return [(row.host, row.digest, row.missing) for row in rows]


def _modules() -> list[str]:
    return [*filter(is_there, NEEDED), *NEEDED_BY_SPARK]


@contextmanager
def _sent_by_value() -> Iterator[None]:
    """Let Spark send the code itself that looks: a reference would want tidelog to be there."""
    _by_value.register_pickle_by_value(worker_python)
    try:
        yield
    finally:
        _by_value.unregister_pickle_by_value(worker_python)

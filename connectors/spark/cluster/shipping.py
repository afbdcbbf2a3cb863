"""Workers of a cluster get tidelog from the driver: a zip of it, with what it needs and they lack.

What is compiled cannot come in a zip that Python imports from. Where workers lack such a package, the error names it, and
says how to bring an environment with them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
from pyspark import cloudpickle

from tidelog.connectors.spark.cluster import worker_python
from tidelog.connectors.spark.cluster.connect import is_connect, session_name
from tidelog.connectors.spark.cluster.queries import told_in_a_line
from tidelog.connectors.spark.cluster.worker_python import folder_of, is_there, look
from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_PACKAGE = "tidelog"
NEEDED = ("anyio", "idna", "sniffio", "typing_extensions", "lark", "msgspec")
"""What tidelog loads in a worker, as far as it is installed here."""
_NEEDED_BY_SPARK = ("pyarrow", "pandas", "google.protobuf")
"""What PySpark loads in a worker for what is run."""
_COMPILED = (".so", ".pyd")
_LEFT_OUT = (*_COMPILED, ".pyc")
_MOST_LOOKS = 32
_LOOKS_OF_SERVER = 4
"""How many workers of a server of Spark Connect are looked at: it does not say how many it has."""
_SEEN = "host string, digest string, missing array<string>"
_seen = pa.schema({"host": pa.string(), "digest": pa.string(), "missing": pa.list_(pa.string())})
_HINT = "bring an environment that has it: `venv-pack -o env.tar.gz`, then `--archives env.tar.gz` (`spark.archives`)"

_by_value: Any = cloudpickle  # it has no types
_prepared: set[str] = set()
"""The applications of Spark, and the sessions of Spark Connect, whose workers have what they need."""
_supplied: set[str] = set()
"""The sessions of Spark Connect whose workers got it from here."""

_Look = tuple[str, str | None, list[str]]
"""A worker's host, the digest of its tidelog, and what it lacks."""


def prepare_workers(spark: SparkSession, *, keeps_state: bool = False) -> None:
    """See to it that the workers of a session's cluster can run this tidelog; once a session, and nothing on one machine.

    ConnectorError where their Python is of another version, or lacks what has to be installed there. For a stream that
    `keeps_state` a server of Spark Connect has to have tidelog itself.
    """
    if is_connect(spark):
        _prepare_server(spark, keeps_state=keeps_state)
        return
    context = spark.sparkContext
    application = context.applicationId or ""
    if context.master is None or context.master.split("[")[0] == "local" or application in _prepared:
        return
    lacking = _lacking(_looks(context))
    if lacking:
        path = _packed(lacking)
        context.addPyFile(path)
        # the first batch of a stream begins in their Python on this machine, where Spark looks for nothing that was added
        known = context.environment.get("PYTHONPATH")
        context.environment["PYTHONPATH"] = path if known is None else f"{path}{os.pathsep}{known}"
    _prepared.add(application)


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
    return pack(modules, os.path.join(folder, f"{_PACKAGE}.zip"))


def _lacking(looks: Iterable[_Look]) -> list[str]:
    """What a zip has to bring to the workers; ConnectorError where that would not do."""
    own = worker_python.digest_of(_PACKAGE)
    lacking: set[str] = set()
    for host, digest, missing in looks:
        if digest != own:
            lacking.add(_PACKAGE)
        for name in missing:
            if not is_pure(name):
                raise ConnectorError(f"the Python of the workers on `{host}` lacks `{name}`: {_HINT}")
            lacking.add(name)
    return sorted(lacking)


def _looks(context: SparkContext) -> Iterable[_Look]:
    modules = _modules()
    tasks = max(1, min(_MOST_LOOKS, context.defaultParallelism))

    def look_there(_: Iterable[int]) -> Iterator[_Look]:
        yield look(_PACKAGE, modules)

    with _sent_by_value(), told_in_a_line():
        return context.parallelize(range(tasks), tasks).mapPartitions(look_there).collect()


def _looks_of_server(spark: SparkSession) -> Iterable[_Look]:
    """The same by a frame, since there are no RDDs behind Spark Connect."""
    modules = _modules()

    def look_there(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            host, digest, missing = look(_PACKAGE, modules)
            yield pa.RecordBatch.from_pydict({"host": [host], "digest": [digest], "missing": [missing]}, _seen)

    with _sent_by_value(), told_in_a_line():
        rows = spark.range(0, _LOOKS_OF_SERVER, 1, _LOOKS_OF_SERVER).mapInArrow(look_there, _SEEN).collect()
    return [(row.host, row.digest, row.missing) for row in rows]


def _modules() -> list[str]:
    return [*filter(is_there, NEEDED), *_NEEDED_BY_SPARK]


@contextmanager
def _sent_by_value() -> Iterator[None]:
    """Let Spark send the code itself that looks: a reference would want tidelog to be there."""
    _by_value.register_pickle_by_value(worker_python)
    try:
        yield
    finally:
        _by_value.unregister_pickle_by_value(worker_python)


def is_pure(module: str) -> bool:
    """Whether a zip can bring it: it is Python's source alone."""
    folder = folder_of(module)
    if folder is None:
        return os.path.isfile(_file_of(module) or "")
    return not any(name.endswith(_COMPILED) for _, _, files in os.walk(folder) for name in files)


def pack(modules: Sequence[str], path: str) -> str:
    """Write a zip with these modules' sources and data; of what is compiled, the sources. Returns its path."""
    with closing(ZipFile(path, "w", ZIP_DEFLATED)) as archive:
        for module in modules:
            folder = folder_of(module)
            if folder is None:
                archive.write(_file_of(module) or "", f"{module}.py")
                continue
            for place, folders, files in os.walk(folder, followlinks=True):
                folders[:] = [name for name in folders if name != "__pycache__"]
                within = os.path.join(module, os.path.relpath(place, folder))
                for name in files:
                    if not name.endswith(_LEFT_OUT):
                        archive.write(os.path.join(place, name), os.path.normpath(os.path.join(within, name)))
    return path


def _file_of(module: str) -> str | None:
    """The source of a module that is one file."""
    spec = find_spec(module) if is_there(module) else None
    return None if spec is None or not str(spec.origin).endswith(".py") else spec.origin

"""A standalone cluster of Spark's on loopback, and a Python for its workers that does not have tidelog."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from queue import Queue
from typing import Any

import pyspark

from children import WAIT, child
from tidelog.connectors.spark.cluster.archive import NEEDED
from tidelog.connectors.spark.cluster.worker_python import is_there

HOME = os.path.dirname(pyspark.__file__)
COMPILED = ("msgspec", "pyarrow", "pandas", "numpy", "protobuf", "python-dateutil", "six", "tzdata", "pytz")
"""What a cluster's Python has that runs frames of PySpark, and msgspec; nothing else of what tidelog needs."""
_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a master, and its workers by the names of their folders."""

    master: str
    workers: Mapping[str, subprocess.Popen[Any]]


@contextmanager
def cluster(folder: Path, workers: int = 1) -> Iterator[Cluster]:
    """A master with so many workers, of one core each."""
    with ExitStack() as stack:
        _, (address,) = _started(
            stack, "master.Master", ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], _MASTER
        )
        found = {}
        for number in range(workers):
            work = folder / f"worker-{number}"
            told = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "-c", "1", "-m", "1g", "-d", os.fspath(work)]
            found[work.name], _ = _started(stack, "worker.Worker", [*told, address], _REGISTERED)
        yield Cluster(address, found)


def _started(
    stack: ExitStack, name: str, options: Sequence[str], ready: re.Pattern[str]
) -> tuple[subprocess.Popen[Any], tuple[str, ...]]:
    """Start one of Spark's daemons; also what it says of itself once it is ready."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK", "VIRTUAL"))}
    environment |= {"SPARK_HOME": HOME, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
    command = ["java", *_JAVA, "-cp", f"{HOME}/jars/*", f"org.apache.spark.deploy.{name}", *options]
    process = stack.enter_context(child(command, env=environment, stderr=subprocess.PIPE, text=True))
    stack.callback(process.kill)
    found: Queue[tuple[str, ...]] = Queue()

    def read() -> None:  # to its end, or it would wait for us
        for line in process.stderr or ():
            if match := ready.search(line):
                found.put(match.groups())

    threading.Thread(target=read, daemon=True).start()
    return process, found.get(timeout=WAIT)


def bare_python(folder: Path, distributions: Sequence[str]) -> str:
    """An interpreter, as this one, that has these distributions and no others."""
    venv.create(folder, symlinks=True)
    for name in distributions:
        told = distribution(name)
        for top in {path.parts[0] for path in told.files or () if path.parts[0] not in ("..", "__pycache__")}:
            _link(folder, os.fspath(told.locate_file(top)))
    return os.fspath(folder / "bin" / "python")


def install_tidelog(folder: Path) -> None:
    """Let such an interpreter have tidelog, and all that it needs in a worker."""
    for name in ("tidelog", *filter(is_there, NEEDED)):
        spec = find_spec(name)
        assert spec is not None
        _link(folder, next(iter(spec.submodule_search_locations or ()), str(spec.origin)))


def _link(folder: Path, path: str) -> None:
    place = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    link = place / os.path.basename(path)
    if not link.exists():
        link.symlink_to(os.path.realpath(path))

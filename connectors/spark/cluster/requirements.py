"""What Spark needs on this machine, checked before it is started: one clear line instead of a page from the JVM."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from tidelog.plans.diagnostics.errors import ConnectorError

JAVA = 17
"""The oldest Java that Spark 4 runs on."""

_Version = tuple[int, ...]
_PACKAGES: dict[str, tuple[_Version, _Version]] = {
    "pyspark": ((4, 1), (4, 4)),
    "pandas": ((2, 2), (3,)),
    "pyarrow": ((15,), (1000,)),
    "protobuf": ((6, 33), (8,)),
}
"""From which version on, and below which; the last is what PySpark keeps the state of streams with."""
_READ = ("pyspark", "pandas", "pyarrow")
"""Those without which no frame is read."""

STREAM_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # what changed is written with a batch, not all that there is
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # what is read once is read to its end, and lets time move on, also where an outbox is among the inputs
    "spark.sql.streaming.triggerAvailableNowWrapper.enabled": "true",
}
"""What Spark has to be set to, so that it keeps state as a stream's stages want it."""

FIXED = frozenset(STREAM_SETTINGS) | {
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
    "spark.sql.sources.partitionColumnTypeInference.enabled",
}
"""Settings that a run chooses itself, since its answers, or its checkpoint, depend on them."""

_HINT = "pip install 'tidelog[spark]'"
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_JAVA_VERSION = re.compile(r'version "(\d+)')


@cache
def check_requirements() -> None:
    """ConnectorError that names the first thing that is missing or of a version that does not work; found once, kept."""
    for package, (low, below) in _PACKAGES.items():
        _check_package(package, low, below)
    _check_java()


@cache
def check_packages() -> None:
    """The same for a session that is there: it has its Java, or is one of Spark Connect and needs none here, and its
    platform has chosen the protobuf that goes with its PySpark."""
    for package in _READ:
        _check_package(package, *_PACKAGES[package])


def check_state() -> None:
    """ConnectorError where PySpark cannot talk of a stream's state with the protobuf that is here."""
    try:
        import_module("pyspark.sql.streaming.proto.StateMessage_pb2")
    except Exception as error:  # protobuf raises errors of its own
        raise ConnectorError(f"Spark cannot keep the state of a stream with the protobuf that is here: {error}") from error


def _check_package(package: str, low: _Version, below: _Version) -> None:
    wanted = f"{package} {_text(low)} or newer" + (f", below {_text(below)}" if below < (1000,) else "")
    found = _version(package)
    if found is None:
        raise ConnectorError(f"Spark needs {wanted}, which is not installed: {_HINT}")
    numbers = _NUMBERS.match(found)
    if numbers is None or not low <= tuple(map(int, numbers[0].split("."))) < below:
        raise ConnectorError(f"Spark needs {wanted}, and {found} is installed: {_HINT}")


def _version(package: str) -> str | None:
    """What is there of a package; `spark-submit` and hosted platforms bring PySpark as a folder that nobody installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        if package != "pyspark" or find_spec(package) is None:
            return None
    return str(import_module("pyspark.version").__version__)


def _text(numbers: _Version) -> str:
    return ".".join(map(str, numbers))


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    hint = f"Spark needs Java {JAVA} or newer"
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the user's own Java, no shell
    except (OSError, subprocess.TimeoutExpired):
        place = (
            f"`{java}` cannot be run: set JAVA_HOME aright" if home else "none is on the path: install one, or set JAVA_HOME"
        )
        raise ConnectorError(f"{hint}, and {place}") from None
    found = _JAVA_VERSION.search(done.stderr + done.stdout)
    if found is None or int(found[1]) < JAVA:
        raise ConnectorError(f"{hint}, and `{java}` is {found[1] if found else 'of an unknown version'}: set JAVA_HOME")

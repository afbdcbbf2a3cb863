"""The process from which Spark forks Python workers, with all loaded that they need, so that none has to load it again.

    python -m tidelog.connectors.spark.cluster.worker_daemon pyspark.worker

Spark runs it where `spark.python.daemon.module` says so: in sessions that tidelog starts on this machine, and no others.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder

_NEEDED = (
    *(
        "pandas",  # pyarrow asks for it at the first value that it converts
        "pyarrow.compute",
        "pyspark.sql.pandas.serializers",
        "pyspark.sql.streaming.proto.StateMessage_pb2",
    ),
    "tidelog.connectors.spark.running.inputs.blocks",
    "tidelog.connectors.spark.running.inputs.frames",
    "tidelog.connectors.spark.running.outputs.lines",
    "tidelog.connectors.spark.running.outputs.table_rows",
    "tidelog.connectors.spark.running.stream",
    "tidelog.runtime.columns.stages.flow",
)
"""What tasks load. It starts no thread, which a fork would lose."""


def main() -> None:
    """Load, then serve Spark until it ends."""
    kept = without_archives(sys.path)
    for place in {*sys.path}.difference(kept):
        sys.path_importer_cache.pop(place, None)
    sys.path[:] = kept
    for name in _NEEDED:
        import_module(name)
    import_module("tidelog.plans.language.parser").grammar()  # each worker compiles the program, and would read it
    import_module("pyspark.daemon").manager()


def without_archives(path: list[str]) -> list[str]:
    """The path of modules without the archives in PySpark's own folder, where that folder lies on the path, too.

    Spark puts these archives first. What is in them is compiled anew by each process that imports it, and each worker lists
    them again before its first task.
    """
    lib = os.path.join("pyspark", "python", "lib")
    others = [place for place in path if os.path.dirname(place)[-len(lib) :] != lib]
    found = PathFinder.find_spec("pyspark", others)
    if found is None or found.origin is None:
        return path
    own = os.path.realpath(os.path.join(os.path.dirname(os.path.dirname(found.origin)), lib))
    return [place for place in path if os.path.realpath(os.path.dirname(place)) != own]


if __name__ == "__main__":
    main()

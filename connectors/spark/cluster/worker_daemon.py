"""The process from which Spark forks Python workers, with all loaded that they need, so that none has to load it again.

    python -m tidelog.connectors.spark.cluster.worker_daemon pyspark.worker

Spark runs it where `spark.python.daemon.module` says so: in sessions that tidelog starts on this machine, and no others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pyspark import daemon

_daemon: Any = daemon  # it has no types

_NEEDED = (
    *(
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
    for name in _NEEDED:
        import_module(name)
    _daemon.manager()


if __name__ == "__main__":
    main()

"""A server of Spark Connect on loopback, with Python workers of its own."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from children import WAIT, child
from spark.cluster import HOME
from spark.quick import JAVA

_STARTED = re.compile(r"Spark Connect server started at: \S+:(\d+)")
_CONF = (
    "spark.connect.grpc.binding.port=0",
    "spark.driver.host=127.0.0.1",
    "spark.sql.codegen.wholeStage=false",
    "spark.sql.shuffle.partitions=2",
    "spark.ui.enabled=false",
)


@contextmanager
def server(folder: Path, python: str) -> Iterator[str]:
    """The address of a server that runs in a folder, on two cores; `python` is that of its workers."""
    others = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SPARK", "VIRTUAL"))}
    environment = others | {"SPARK_HOME": HOME, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
    command = [f"{HOME}/bin/spark-submit", "--master", "local[2]", "--driver-java-options", JAVA]
    command += [text for each in _CONF for text in ("--conf", each)]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with child(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        ports: Queue[str] = Queue()

        def read() -> None:  # to its end, or it would wait for us
            for line in process.stderr or ():
                if match := _STARTED.search(line):
                    ports.put(match[1])

        threading.Thread(target=read, daemon=True).start()
        try:
            yield f"sc://127.0.0.1:{ports.get(timeout=WAIT)}"
        finally:
            process.kill()

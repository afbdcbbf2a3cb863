"""Spark Connect: a session whose Spark runs in another process, behind an address, and of which only its API is here.

It has no `sparkContext`, no RDD and no JVM to call. What works by frames alone works with it: `mapInArrow` and
`transformWithState`, and so `tidelog.spark.reason` and the data source. `spark run` does not.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "sc://"
"""How the address of a server begins."""
_MODES = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""The variables by which PySpark knows that this process talks to a server."""
_INSTEAD = "use `tidelog.spark.reason` in a session of Spark Connect, or name a master, such as `spark://HOST:7077`"


def is_connect(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def refuse_connect(what: str, master: str | None) -> None:
    """SpecError where a master is a server of Spark Connect, or this process is set to talk to one; `what` needs its own."""
    if master is not None and master.startswith(SCHEME):
        raise SpecError(f"{what} calls Spark's own process, which a server of Spark Connect (`{master}`) hides: {_INSTEAD}")
    for name in _MODES:
        if name in os.environ:
            raise SpecError(
                f"{what} starts a Spark of its own, and the variable `{name}` sets PySpark to a server of Spark Connect: "
                f"unset it, or {_INSTEAD}"
            )


def session_name(session: Any) -> str:
    """What tells a session of Spark Connect from all others."""
    return str(session.session_id)

"""Processes in which Spark runs for seconds: what runs so briefly is not worth compiling well."""

from __future__ import annotations

import os

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def environment() -> dict[str, str]:
    """The environment of a process that starts a Spark of its own."""
    return {**os.environ, "JDK_JAVA_OPTIONS": f"{JAVA} -Dspark.sql.codegen.wholeStage=false"}

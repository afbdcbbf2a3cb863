"""Spark reads what a stream derives, and runs programs: the data source `tidelog`, and all behind `spark run`.

Everything is loaded when it is first used, after a check of what Spark needs, since nothing else of tidelog needs Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.connectors.spark.cluster.requirements import check_packages, check_requirements

if TYPE_CHECKING:
    from tidelog.connectors.spark.cluster.session import spark_session
    from tidelog.connectors.spark.running.inputs.delta_tables import read_delta
    from tidelog.connectors.spark.source import TidelogDataSource, register

__all__ = [
    "TidelogDataSource",
    "check_packages",
    "check_requirements",
    "read_delta",
    "register",
    "spark_session",
]

_HOMES = {
    "TidelogDataSource": "source",
    "read_delta": "running.inputs.delta_tables",
    "register": "source",
    "spark_session": "cluster.session",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    if name == "spark_session":
        check_requirements()
    else:  # they take a session, which has its Java
        check_packages()
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

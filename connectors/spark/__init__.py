"""Spark reads what a stream derives: the data source `tidelog`, and the pipeline that makes Parquet tables of it.

Everything is loaded when it is first used, after a check of what Spark needs, since nothing else of tidelog needs Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.connectors.spark.cluster.requirements import check_requirements

if TYPE_CHECKING:
    from tidelog.connectors.spark.arguments import parse_declaration, parse_fields
    from tidelog.connectors.spark.cluster.session import spark_session
    from tidelog.connectors.spark.ingest import Ingestion
    from tidelog.connectors.spark.origins import Access
    from tidelog.connectors.spark.source import TidelogDataSource, register
    from tidelog.connectors.spark.tables.tables import table_files

__all__ = [
    "Access",
    "Ingestion",
    "TidelogDataSource",
    "check_requirements",
    "parse_declaration",
    "parse_fields",
    "register",
    "spark_session",
    "table_files",
]

_HOMES = {
    "Access": "origins",
    "Ingestion": "ingest",
    "TidelogDataSource": "source",
    "parse_declaration": "arguments",
    "parse_fields": "arguments",
    "register": "source",
    "spark_session": "cluster.session",
    "table_files": "tables.tables",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    check_requirements()
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

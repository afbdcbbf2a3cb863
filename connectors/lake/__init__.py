"""Tables that everyone reads: facts of outboxes in tables of Delta Lake, each fact once, without Spark.

Everything is loaded when it is first used, after a look whether the library is there, which nothing else of tidelog needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.connectors.lake.library import deltalake

if TYPE_CHECKING:
    from tidelog.connectors.lake.arguments import parse_declaration, parse_fields
    from tidelog.connectors.lake.gateways.ingest import Ingestion
    from tidelog.connectors.lake.gateways.origins import Access
    from tidelog.connectors.lake.lake import open_lake, open_table
    from tidelog.connectors.lake.old_tables import take_over
    from tidelog.connectors.lake.upkeep import compact, vacuum

__all__ = [
    "Access",
    "Ingestion",
    "compact",
    "open_lake",
    "open_table",
    "parse_declaration",
    "parse_fields",
    "take_over",
    "vacuum",
]

_HOMES = {
    "Access": "gateways.origins",
    "Ingestion": "gateways.ingest",
    "compact": "upkeep",
    "open_lake": "lake",
    "open_table": "lake",
    "parse_declaration": "arguments",
    "parse_fields": "arguments",
    "take_over": "old_tables",
    "vacuum": "upkeep",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    deltalake()
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

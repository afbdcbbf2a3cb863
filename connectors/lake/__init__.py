"""Tables that everyone reads: facts of outboxes in tables of Delta Lake or Apache Iceberg, each fact once, without Spark.

Everything is loaded when it is first used, after a look whether PyArrow is there, which nothing else of tidelog needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from tidelog.connectors.lake.arguments import parse_declaration, parse_fields
    from tidelog.connectors.lake.conditions import Unknown, mask_of, parse_conditions
    from tidelog.connectors.lake.deleting import Deleted, delete
    from tidelog.connectors.lake.gateways.ingest import Ingestion
    from tidelog.connectors.lake.gateways.origins import Access
    from tidelog.connectors.lake.old_tables import take_over
    from tidelog.connectors.lake.opening import open_lake
    from tidelog.connectors.lake.upkeep import compact, vacuum

__all__ = [
    "Access",
    "Deleted",
    "Ingestion",
    "Unknown",
    "compact",
    "delete",
    "mask_of",
    "open_lake",
    "parse_conditions",
    "parse_declaration",
    "parse_fields",
    "take_over",
    "vacuum",
]

_HOMES = {
    "Access": "gateways.origins",
    "Deleted": "deleting",
    "Ingestion": "gateways.ingest",
    "Unknown": "conditions",
    "compact": "upkeep",
    "delete": "deleting",
    "mask_of": "conditions",
    "open_lake": "opening",
    "parse_conditions": "conditions",
    "parse_declaration": "arguments",
    "parse_fields": "arguments",
    "take_over": "old_tables",
    "vacuum": "upkeep",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    try:
        import_module("pyarrow")
    except ImportError as error:
        raise SpecError(
            f"tables need {error.name}, which is not installed: pip install 'tidelog[delta]' or 'tidelog[iceberg]'"
        ) from None
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

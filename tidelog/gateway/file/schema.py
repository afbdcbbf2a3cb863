"""The schema of a gateway's file: that of all tables, and of the kinds of sources and sinks that this file names."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any, cast

import msgspec

from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.kinds.table import ENDS, End, find, own_kinds
from tidelog.plans.diagnostics.errors import SpecError


def schema_of(data: dict[str, Any], refuse: Callable[[End, int, str], None]) -> type[GatewaySettings]:
    """The struct that a file's data are read as.

    `refuse` is told of each kind that cannot be had: the table's place, and why.
    """
    unions: list[tuple[str, Any, Any]] = []
    for end in ENDS:
        kinds = {kind.settings: kind for kind in own_kinds(end)}
        for i, table in enumerate(_tables(data.get(end))):
            try:
                kind = find(end, table["type"]) if isinstance(table.get("type"), str) else None
            except SpecError as error:
                refuse(end, i, str(error))
                continue
            if kind is not None:
                kinds[kind.settings] = kind
        unions.append((end, GenericAlias(tuple, (reduce(or_, kinds), ...)), ()))
    return cast(
        "type[GatewaySettings]",
        msgspec.defstruct(
            "GatewaySettings", unions, bases=(GatewaySettings,), frozen=True, kw_only=True, forbid_unknown_fields=True
        ),
    )


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one if isinstance(one, dict) else {} for one in value] if isinstance(value, list) else []

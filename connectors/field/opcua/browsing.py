"""The variables below a server's folder Objects, and what they hold: for `tidelog peek opc.tcp://…`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asyncua import ua
from asyncua.ua.attribute_ids import AttributeIds
from asyncua.ua.object_ids import ObjectIds
from asyncua.ua.uaerrors import UaError
from asyncua.ua.uatypes import DataValue, NodeId

from tidelog.connectors.field.opcua.connecting import CLIENT_ERRORS, connect, leave
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaAccess

_node_id: Callable[..., NodeId] = NodeId
"""The library's class, with the types that it takes and does not tell."""
MOST_VARIABLES: Final = 10_000
"""So many variables are looked at."""
_AT_ONCE: Final = 100
_DEEPEST: Final = 12
"""So many levels below Objects are looked at: references may lead round in a circle."""
_WANTED: Final = ua.NodeClass.Object.value | ua.NodeClass.Variable.value


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its id, the names that lead to it from the folder Objects, and what it holds: `number`, `flag`, `text`,
    or why it is none of these."""

    id: str
    path: tuple[str, ...]
    kind: str

    @property
    def is_plain(self) -> bool:
        """Whether a fact can hold it."""
        return self.kind in ("number", "flag", "text")


def browse(access: OpcUaAccess, folder: str = ".") -> tuple[list[Variable], bool]:
    """The variables of a server, and whether these are all. ConnectionError where it cannot be reached. It blocks."""
    return asyncio.run(_browse(access, folder))


async def _browse(access: OpcUaAccess, folder: str) -> tuple[list[Variable], bool]:
    client = await connect(access, folder, session_seconds=60.0, on_lost=lambda _: None)
    try:
        found, are_all = await _variables(client.uaclient.session)
        values: list[Any] = []
        for begin in range(0, len(found), _AT_ONCE):
            part = [node for node, _ in found[begin : begin + _AT_ONCE]]
            values += await client.uaclient.session.read_attributes(part, AttributeIds.Value)
    except CLIENT_ERRORS as error:
        raise ConnectionError(f"{access.url}: {error or 'no answer'}") from error
    finally:
        await leave(client)
    kinds = map(_kind_of, values)
    return [Variable(node.to_string(), path, kind) for (node, path), kind in zip(found, kinds, strict=True)], are_all


async def _variables(session: Any) -> tuple[list[tuple[Any, tuple[str, ...]]], bool]:
    """All variables that are no properties, each with its path; what the protocol itself says of the server is left out."""
    found: list[tuple[Any, tuple[str, ...]]] = []
    seen = {_node_id(ObjectIds.ObjectsFolder), _node_id(ObjectIds.Server)}
    level: list[tuple[Any, tuple[str, ...]]] = [(_node_id(ObjectIds.ObjectsFolder), ())]
    for _ in range(_DEEPEST):
        below: list[tuple[Any, tuple[str, ...]]] = []
        for begin in range(0, len(level), _AT_ONCE):
            part = level[begin : begin + _AT_ONCE]
            for (_, path), references in zip(part, await _children(session, [node for node, _ in part]), strict=True):
                for one in references:
                    if one.NodeId in seen or one.ReferenceTypeId == _node_id(ObjectIds.HasProperty):
                        continue
                    seen.add(one.NodeId)
                    place = (*path, one.BrowseName.Name or "")
                    below.append((one.NodeId, place))
                    if one.NodeClass == ua.NodeClass.Variable and one.NodeId.NamespaceIndex:
                        found.append((one.NodeId, place))
                    if len(found) >= MOST_VARIABLES:
                        return found, False
        level = below
    return found, not level


async def _children(session: Any, nodes: Sequence[Any]) -> list[list[Any]]:
    """What lies below each of these nodes."""
    asked = ua.BrowseParameters()
    for node in nodes:
        one = ua.BrowseDescription()
        one.NodeId, one.BrowseDirection = node, ua.BrowseDirection.Forward
        one.ReferenceTypeId, one.IncludeSubtypes = _node_id(ObjectIds.HierarchicalReferences), True
        one.NodeClassMask, one.ResultMask = _WANTED, ua.BrowseResultMask.All.value
        asked.NodesToBrowse.append(one)
    results = await session.browse(asked)
    found = [[*(result.References or ())] for result in results]
    for index, result in enumerate(results):
        point = result.ContinuationPoint
        while point:
            more = ua.BrowseNextParameters()
            more.ContinuationPoints = [point]
            rest = (await session.browse_next(more))[0]
            found[index] += rest.References or ()
            point = rest.ContinuationPoint
    return found


def _kind_of(value: DataValue) -> str:
    if value.StatusCode is not None and not value.StatusCode.is_good():
        return f"its status is {value.StatusCode.name}"
    held = None if value.Value is None else value.Value.Value
    if isinstance(held, bool):
        return "flag"
    if isinstance(held, int) or (isinstance(held, float) and math.isfinite(held)):
        return "number"
    if isinstance(held, str):
        return "text"
    return "it holds nothing" if held is None else f"it holds {type(held).__name__}"


def try_server(access: OpcUaAccess, nodes: Sequence[NodeSettings], folder: str) -> str:
    """Connect, and ask for nodes: how many of them are there, and what is wrong with the first that is not. It blocks.

    ConnectionError where the server cannot be reached, or has none of them.
    """
    return asyncio.run(_try(access, nodes, folder))


async def _try(access: OpcUaAccess, nodes: Sequence[NodeSettings], folder: str) -> str:
    client = await connect(access, folder, session_seconds=60.0, on_lost=lambda _: None)
    wrong: list[str] = []
    try:
        for node in nodes:
            try:
                found = await client.get_node(node.id).read_data_value(raise_on_bad_status=False)
            except UaError as error:
                wrong.append(f"`{node.id}`: {error}")
                continue
            if found.StatusCode is not None and not found.StatusCode.is_good():
                wrong.append(f"`{node.id}`: {found.StatusCode.name}")
    except CLIENT_ERRORS as error:
        raise ConnectionError(f"{access.url}: {error or 'no answer'}") from error
    finally:
        await leave(client)
    if nodes and len(wrong) == len(nodes):
        raise ConnectionError(f"{access.url} has no node that can be read: {wrong[0]}")
    there = f"{access.url} lets it in, and has {len(nodes) - len(wrong)} of {len(nodes)} nodes"
    return f"{there}; not {wrong[0]}" if wrong else there

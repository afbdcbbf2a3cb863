"""Nodes of a server, by OPC UA."""

from __future__ import annotations

from tidelog import connectors  # loads what it needs once it is used
from tidelog.connectors.sources.polled import NodeSettings, PolledSource
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SourceKind, SourceOpening
from tidelog.gateway.kinds.reaching import reach_url
from tidelog.gateway.kinds.settings import PolledSourceSettings

_PORT = 4840


class OpcUaSourceSettings(PolledSourceSettings, frozen=True, kw_only=True, tag="opcua"):
    """Nodes of a server."""

    url: str
    node: tuple[NodeSettings, ...]
    user: str = ""
    password: Secret | None = None
    security: str = ""
    """Policy, mode, certificate and key, as the library takes them: `Basic256Sha256,SignAndEncrypt,cert.der,key.pem`."""


def _open(settings: OpcUaSourceSettings, opening: SourceOpening) -> PolledSource:
    server = connectors.OpcUaServer(
        settings.url,
        settings.node,
        user=settings.user,
        password=settings.password,
        security=settings.security,
        folder=str(opening.place.folder),
    )
    return PolledSource(settings.name, server, opening.mapper(settings), every=settings.every)


def _check(settings: OpcUaSourceSettings, place: Place) -> None:
    if settings.password is not None:
        settings.password.reveal(place.folder)


async def _reach(settings: OpcUaSourceSettings, place: Place) -> str:
    return await reach_url(settings.url, _PORT if settings.url.startswith("opc.tcp:") else None)


SOURCE = SourceKind(
    interface=INTERFACE,
    settings=OpcUaSourceSettings,
    open=_open,
    needs="tidelog[opcua]",
    check=_check,
    reach=_reach,
)

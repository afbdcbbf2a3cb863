"""Nodes of a server, by OPC UA; and a server of the program's alarms, for SCADA."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import anyio.to_thread

from tidelog import connectors  # loads what it needs once it is used
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.settings import ShowingSinkSettings
from tidelog.gateway.users import users_of
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Sink, Source


class OpcUaSourceSettings(OpcUaSettings, frozen=True, kw_only=True, tag_field="type", tag="opcua"):
    """Nodes of a server."""

    name: str
    program: str = ""
    format: Literal["json"] = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    node: tuple[NodeSettings, ...]


class OpcUaSinkSettings(ShowingSinkSettings, frozen=True, kw_only=True, tag="opcua"):
    """A server of the program's alarms. Who acts on them are the users of `[http]`."""

    endpoint: str = "127.0.0.1:4840"
    certificate: str = ""
    key: str = ""
    clients: str = ""
    """A folder with the certificates of the clients that may connect; any may, unless told."""


def _open_source(settings: OpcUaSourceSettings, opening: SourceOpening) -> Source:
    return connectors.OpcUaSource(
        settings.name,
        settings,
        settings.node,
        opening.mapper(settings),
        folder=str(opening.place.folder),
        keeps=bool(opening.file.state),
    )


def _check_source(settings: OpcUaSourceSettings, place: Place) -> None:
    if settings.password is not None:
        settings.password.reveal(place.folder)
    files = [part.strip() for part in settings.security.split(",")[2:]]
    _check_files(place, *files, settings.user_certificate, settings.user_key)


async def _reach(settings: OpcUaSourceSettings, place: Place) -> str:
    from tidelog.connectors.field.opcua.browsing import try_server  # noqa: PLC0415 - it loads asyncua

    return await anyio.to_thread.run_sync(try_server, settings, settings.node, str(place.folder))


def _open_sink(settings: OpcUaSinkSettings, opening: SinkOpening) -> Sink:
    http, folder = opening.file.http, opening.place.folder
    if http is None or not http.user:
        raise SpecError("who acts on alarms by OPC UA is a user of the page: the file needs `[http]`, and `[[http.user]]`")
    if not opening.plan.alarms:
        raise SpecError("the program declares no alarms, which is all that it shows")
    files = {name: str(folder / path) for name in ("certificate", "key", "clients") if (path := getattr(settings, name))}
    return connectors.AlarmSink(settings.name, settings.endpoint, users_of(http, folder), **files)


def _check_sink(settings: OpcUaSinkSettings, place: Place) -> None:
    _check_files(place, settings.certificate, settings.key)
    if settings.clients and not (place.folder / settings.clients).is_dir():
        raise SpecError(f"`clients`: there is no folder `{place.folder / settings.clients}`")


def _check_files(place: Place, *files: str) -> None:
    for name in files:
        path: Path = place.folder / name.partition("::")[0]
        if name and not path.is_file():
            raise SpecError(f"there is no file `{path}`, which is to hold a certificate or a key")


SOURCE = SourceKind(
    interface=INTERFACE,
    settings=OpcUaSourceSettings,
    open=_open_source,
    needs="tidelog[opcua]",
    check=_check_source,
    reach=_reach,
)
SINK = SinkKind(interface=INTERFACE, settings=OpcUaSinkSettings, open=_open_sink, needs="tidelog[opcua]", check=_check_sink)

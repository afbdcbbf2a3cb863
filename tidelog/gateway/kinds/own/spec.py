"""What `tidelog run` reads and writes: files, pipes, sockets; outboxes, too, which `gateway/outboxes.py` opens."""

from __future__ import annotations

from pathlib import Path

import anyio

from tidelog.connectors.opening import open_sink, open_source
from tidelog.connectors.outbox.spec import is_outbox
from tidelog.connectors.spec import parse_spec
from tidelog.connectors.transport.acceptor import ClientLimits
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.reaching import CONNECT_SECONDS, NOTHING
from tidelog.gateway.kinds.settings import SinkSettings, SourceSettings
from tidelog.runtime.ports.interfaces import Listener, Sink, Source


class SpecSourceSettings(SourceSettings, frozen=True, kw_only=True, tag="spec"):
    """What `tidelog run --in SPEC` reads."""

    spec: str


class SpecSinkSettings(SinkSettings, frozen=True, kw_only=True, tag="spec"):
    """What `tidelog run --out SPEC` writes."""

    spec: str


def _open_source(settings: SpecSourceSettings, opening: SourceOpening) -> Source | Listener:
    path, limits = _from(opening.place.folder, settings.spec), opening.file.limits
    return open_source(
        path, opening.plan.schema, allow_remote=True, max_line=limits.line, clients=ClientLimits(limits.clients)
    )


def _open_sink(settings: SpecSinkSettings, opening: SinkOpening) -> Sink:
    path, plan = _from(opening.place.folder, settings.spec), opening.plan
    clients = ClientLimits(opening.file.limits.clients)
    return open_sink(
        path, plan.schema, iso=opening.iso, allow_remote=True, clients=clients, outputs=plan.told, keeps_file=True
    )


def _from(folder: Path, spec: str) -> str:
    """The SPEC with its relative path beginning at the file's folder."""
    path = parse_spec(spec, allow_remote=True).path
    if not path or Path(path).is_absolute():
        return spec
    at = spec.index(path)
    return spec[:at] + str(folder / path) + spec[at + len(path) :]


async def _reach(settings: SpecSourceSettings | SpecSinkSettings, place: Place) -> str:
    if isinstance(settings, SpecSinkSettings) and is_outbox(settings.spec):
        return NOTHING
    spec = parse_spec(settings.spec, allow_remote=True)
    if spec.address is None or spec.listens:
        return NOTHING
    with anyio.fail_after(CONNECT_SECONDS):
        await (await spec.address.connect()).aclose()
    return f"{spec.address} is there"


SOURCE = SourceKind(interface=INTERFACE, settings=SpecSourceSettings, open=_open_source, reach=_reach)
SINK = SinkKind(interface=INTERFACE, settings=SpecSinkSettings, open=_open_sink, reach=_reach)

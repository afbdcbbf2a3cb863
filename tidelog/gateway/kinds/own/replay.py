"""Messages recorded in a file."""

from __future__ import annotations

from tidelog.connectors.sources.replay import ReplaySource
from tidelog.connectors.transport.bounds import Positive
from tidelog.gateway.kinds.kind import INTERFACE, SourceKind, SourceOpening
from tidelog.gateway.kinds.settings import MessageSourceSettings


class ReplaySourceSettings(MessageSourceSettings, frozen=True, kw_only=True, tag="replay"):
    """Messages recorded in a file, played as they came: a simulated plant."""

    file: str
    loop: bool = True
    speed: Positive = 1.0


def _open(settings: ReplaySourceSettings, opening: SourceOpening) -> ReplaySource:
    path = opening.place.folder / settings.file
    return ReplaySource(settings.name, path, opening.mapper(settings), loop=settings.loop, speed=settings.speed)


SOURCE = SourceKind(interface=INTERFACE, settings=ReplaySourceSettings, open=_open)

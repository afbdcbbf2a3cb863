"""Kinds of sources and sinks that a gateway's file may name by `type`: ours, and those of other packages.

A package brings one by an entry point of the group `tidelog.sources` or `tidelog.sinks`: its name is what stands behind
`type`, and it leads to a `SourceKind` or a `SinkKind`. `docs/howto/write-a-connector.md` has an example.
"""

from typing import TYPE_CHECKING

from tidelog.plans.lazy import exports

if TYPE_CHECKING:
    from tidelog.gateway.kinds.kind import (
        INTERFACE,
        Heading,
        Message,
        Place,
        SinkKind,
        SinkOpening,
        SourceKind,
        SourceOpening,
    )
    from tidelog.gateway.kinds.settings import (
        ChoosySinkSettings,
        MessageSourceSettings,
        PeopleSinkSettings,
        PolledSourceSettings,
        ShowingSinkSettings,
        SinkSettings,
        SourceSettings,
    )

__all__ = [
    "INTERFACE",
    "ChoosySinkSettings",
    "Heading",
    "Message",
    "MessageSourceSettings",
    "PeopleSinkSettings",
    "Place",
    "PolledSourceSettings",
    "ShowingSinkSettings",
    "SinkKind",
    "SinkOpening",
    "SinkSettings",
    "SourceKind",
    "SourceOpening",
    "SourceSettings",
]

_HOMES = {
    "kind": ("INTERFACE", "Heading", "Message", "Place", "SinkKind", "SinkOpening", "SourceKind", "SourceOpening"),
    "settings": (
        "ChoosySinkSettings",
        "MessageSourceSettings",
        "PeopleSinkSettings",
        "PolledSourceSettings",
        "ShowingSinkSettings",
        "SinkSettings",
        "SourceSettings",
    ),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)

"""The table of kinds: those that come with tidelog, and those that other packages bring by entry points.

A package is looked for where a file names a kind, and loaded where that is not ours. No package takes a name of ours, or one
of another package: such a file is refused, so that nobody is surprised by what an installation brings along.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Literal, cast

import msgspec

from tidelog.gateway.kinds.kind import INTERFACE, AnyKind, SinkKind, SourceKind
from tidelog.gateway.kinds.settings import EndSettings
from tidelog.plans.diagnostics.errors import SpecError

End = Literal["source", "sink"]
ENDS: Final[tuple[End, ...]] = ("source", "sink")

_OWN: Final[dict[End, dict[str, str]]] = {
    "source": {
        "http": "devices",
        "influx": "influx",
        "kafka": "kafka",
        "modbus": "modbus",
        "mqtt": "mqtt",
        "nats": "nats",
        "opcua": "opcua",
        "replay": "replay",
        "sparkplug": "sparkplug",
        "spec": "spec",
    },
    "sink": {
        "alertmanager": "alertmanager",
        "influx": "influx",
        "kafka": "kafka",
        "mail": "mail",
        "mqtt": "mqtt",
        "nats": "nats",
        "ntfy": "chat.ntfy",
        "opcua": "opcua",
        "slack": "chat.slack",
        "spec": "spec",
        "sql": "sql",
        "teams": "chat.teams",
        "telegram": "chat.telegram",
        "webhook": "webhook",
    },
}
"""The module in `own` of each of our kinds; it has a `SOURCE` or a `SINK`."""
_GROUPS: Final[dict[End, str]] = {"source": "tidelog.sources", "sink": "tidelog.sinks"}
_CLASSES: Final[dict[End, type[AnyKind]]] = {"source": SourceKind, "sink": SinkKind}
_of_settings: dict[type, AnyKind] = {}
"""The kind that each struct belongs to, of those that were loaded."""


def own_kinds(end: End) -> list[AnyKind]:
    """Our kinds of sources or of sinks, by their names."""
    return [_own(end, name) for name in _OWN[end]]


def names(end: End) -> list[str]:
    """The names that a file may give: ours, and behind them those of other packages."""
    own = list(_OWN[end])
    return own + sorted({point.name for point in entry_points(group=_GROUPS[end])}.difference(own))


def find(end: End, name: str) -> AnyKind | None:
    """The kind of this name; None where there is none.

    SpecError, with the names of packages, where two bring it, or one brings what is ours; where it cannot be loaded; and
    where it is made for another interface than ours.
    """
    points = list(entry_points(group=_GROUPS[end], name=name))
    if name in _OWN[end]:
        if points:
            raise SpecError(
                f"{end} kind `{name}` comes with tidelog, and {_packages(points)} brings one, too: uninstall that"
            )
        return _own(end, name)
    if len(points) > 1:
        raise SpecError(f"{_packages(points)} bring a {end} kind `{name}` each: uninstall all but one")
    return _load(end, points[0]) if points else None


def kind_of(settings: EndSettings) -> AnyKind:
    """The kind that these settings of a file are of."""
    return _of_settings[type(settings)]


def source_kind_of(settings: EndSettings) -> SourceKind[Any]:
    """The kind of a source."""
    return cast("SourceKind[Any]", kind_of(settings))


def sink_kind_of(settings: EndSettings) -> SinkKind[Any]:
    """The kind of a sink."""
    return cast("SinkKind[Any]", kind_of(settings))


def _own(end: End, name: str) -> AnyKind:
    kind: AnyKind = getattr(import_module(f"tidelog.gateway.kinds.own.{_OWN[end][name]}"), end.upper())
    _of_settings[kind.settings] = kind
    return kind


def _load(end: End, point: EntryPoint) -> AnyKind:
    where = f"{end} kind `{point.name}` of {_packages([point])}"
    try:
        kind = point.load()
    except Exception as error:  # whatever a module of others raises while it is imported
        raise SpecError(f"{where} cannot be loaded from `{point.value}`: {type(error).__name__}: {error}") from error
    if not isinstance(kind, _CLASSES[end]):
        expected = f"a `{_CLASSES[end].__name__}` of `tidelog.gateway.kinds`"
        raise SpecError(f"{where}: expected {expected} at `{point.value}`, got {type(kind).__name__}")
    if kind.interface != INTERFACE:
        older = "the package" if kind.interface < INTERFACE else "tidelog"
        raise SpecError(f"{where} is made for interface {kind.interface}, and this tidelog has {INTERFACE}: upgrade {older}")
    check_settings(kind.settings, point.name, where)
    _of_settings[kind.settings] = kind
    return kind


def check_settings(settings: Any, name: str, where: str) -> None:
    """SpecError unless it is a struct that can stand in the table beside the others."""
    if not (isinstance(settings, type) and issubclass(settings, msgspec.Struct)):
        raise SpecError(f"{where}: expected a struct of msgspec as its `settings`, got {settings!r}")
    config, fields = settings.__struct_config__, settings.__struct_fields__
    if (config.tag_field, config.tag) != ("type", name):
        raise SpecError(f'{where}: expected `tag_field="type", tag="{name}"` of its settings, got {config.tag!r}')
    if not (config.forbid_unknown_fields and config.frozen):
        raise SpecError(f"{where}: its settings have to be frozen, and to forbid unknown fields")
    if missing := [field for field in ("name", "program") if field not in fields]:
        raise SpecError(f"{where}: its settings have no `{missing[0]}`: derive them from those of `tidelog.gateway.kinds`")


def _packages(points: Sequence[EntryPoint]) -> str:
    """The packages of entry points, by name and version."""
    named = sorted({"a package" if point.dist is None else f"`{point.dist.name} {point.dist.version}`" for point in points})
    return " and ".join(named)

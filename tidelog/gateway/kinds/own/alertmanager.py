"""Alerts to Prometheus Alertmanager."""

from __future__ import annotations

import msgspec

from tidelog.connectors.notify.alertmanager import AlertmanagerSink, Repeating
from tidelog.connectors.notify.alerts import AlertWriter
from tidelog.connectors.transport.bounds import Positive
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.own.webhook import Text, check_texts, make_endpoint, reach_address, revealed
from tidelog.gateway.kinds.settings import ChoosySinkSettings
from tidelog.plans.diagnostics.errors import SpecError

HOLDING = ".holding"
"""Within the folder of states: what sinks have told to hold, a folder for each."""
_PATH = "/api/v2/alerts"


class AlertmanagerSinkSettings(ChoosySinkSettings, frozen=True, kw_only=True, tag="alertmanager"):
    """Alerts, from their begin to their end."""

    url: Text
    """The server's address, without `/api/v2/alerts`."""
    headers: dict[str, Text] = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Templates of labels, beside those that an alert has anyway, or in their place."""
    annotations: dict[str, str] = msgspec.field(default_factory=lambda: {"summary": "{text}"})
    """Templates of annotations."""
    page: str = ""
    """The address of the gateway's page, as people reach it: where an alert leads to."""
    repeat: Positive = 60.0
    """After how many seconds what holds is told again."""
    timeout: Positive = 10.0
    retry_longest: Positive = 60.0


def _open(settings: AlertmanagerSinkSettings, opening: SinkOpening) -> AlertmanagerSink:
    program = next(one for one in opening.file.programs if one.name == opening.program)
    if program.emit != "changes":
        raise SpecError(f"Alertmanager is told when something begins and ends: `emit` is `changes`, not `{program.emit}`")
    if settings.limits.waiting is not None:
        raise SpecError("Alertmanager has to hear of each end: leave `limits.waiting` away")
    if opening.file.limits.when_full == "drop-oldest":
        raise SpecError("Alertmanager has to hear of each end: `limits.when_full` is `block` or `stop`, not `drop-oldest`")
    plan, place = opening.plan, opening.place
    writer = AlertWriter(
        plan.schema,
        place.gateway,
        outputs=opening.told,
        labels=settings.labels,
        annotations=settings.annotations,
        iso=opening.iso,
        about=opening.about(settings.page, explains=True),
    )
    endpoint = make_endpoint(settings, place, settings.url, path=_PATH)
    folder = str(place.folder / opening.file.state / HOLDING / settings.name) if opening.file.state else None
    repeating = Repeating(settings.repeat, folder)
    return AlertmanagerSink(settings.name, endpoint, plan.schema, writer, repeating=repeating, choice=opening.choice)


def _check(settings: AlertmanagerSinkSettings, place: Place) -> None:
    check_texts(settings, place)
    revealed(settings.url, place)


async def _reach(settings: AlertmanagerSinkSettings, place: Place) -> str:
    return await reach_address(revealed(settings.url, place))


SINK = SinkKind(interface=INTERFACE, settings=AlertmanagerSinkSettings, open=_open, check=_check, reach=_reach)

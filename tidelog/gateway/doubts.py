"""What is right in a gateway's file, and most likely not meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.connectors.mapping.mapper import unread_levels
from tidelog.gateway.building import Unit
from tidelog.gateway.file.hiding import is_secret
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.kinds.own.alertmanager import AlertmanagerSinkSettings
from tidelog.gateway.kinds.own.webhook import PostingSinkSettings
from tidelog.gateway.kinds.settings import TakesMessages
from tidelog.plans.islands.islands import islands_of


def doubts(settings: GatewaySettings, units: Sequence[Unit]) -> Iterator[str]:
    """A line for each."""
    for unit in units:
        name = unit.settings.name
        for source in settings.source:
            if isinstance(source, TakesMessages) and source.program in ("", name):
                yield from _unread(source, unit)
        if not unit.choices:
            seen = "is seen on the page alone" if settings.http is not None else "is seen by nobody"
            yield f"program `{name}` has no `[[sink]]`: what it tells {seen}"
        yield from _idle_workers(unit)
    for sink in settings.sink:
        if isinstance(sink, PostingSinkSettings | AlertmanagerSinkSettings):
            for header, value in sink.headers.items():
                if isinstance(value, str) and is_secret(header):
                    yield f'sink `{sink.name}`: the header `{header}` stands in the file: say `{{ env = "NAME" }}`'


def _idle_workers(unit: Unit) -> Iterator[str]:
    """More workers than there is work for."""
    workers = unit.settings.workers
    if workers == 1:
        return
    islands = islands_of(unit.plan, "rule" if unit.settings.actors == "rule" else "islands")
    if len(islands) < workers and all(island.key is None for island in islands):
        why = f": {islands[0].prevented_by} has none" if islands[0].prevented_by else ""
        number = "one island" if len(islands) == 1 else f"{len(islands)} islands"
        told = f"`workers` is {workers}, and its rules are {number} without a key{why}"
        yield f"program `{unit.settings.name}`: {told}; so {workers - len(islands)} of the workers will have nothing to do"


def _unread(source: TakesMessages, unit: Unit) -> Iterator[str]:
    for one in source.map:
        for level in unread_levels(unit.plan.schema, one):
            told = f"the level `{{{level}}}` of `{one.topic}` is read by no field of `{one.predicate}`"
            yield f"source `{source.name}`: {told}; if none is to read it, write `+`"

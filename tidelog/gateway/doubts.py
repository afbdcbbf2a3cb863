"""What is right in a gateway's file, and most likely not meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.connectors.mapping.mapper import unread_levels
from tidelog.gateway.building import Unit, filled_with_changes
from tidelog.gateway.file.hiding import is_secret
from tidelog.gateway.file.settings import GatewaySettings, SupervisionSettings
from tidelog.gateway.kinds.own.alertmanager import AlertmanagerSinkSettings
from tidelog.gateway.kinds.own.webhook import PostingSinkSettings
from tidelog.gateway.kinds.settings import TakesMessages
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.proving.emptiness import empty_predicates
from tidelog.plans.proving.findings import book_of
from tidelog.plans.tree.declared.alarms import alarms_of, is_of_alarm
from tidelog.plans.tree.syntax import Input
from tidelog.plans.tree.walk import statements_of
from tidelog.runtime.ports.actors import actors_for


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
        yield from _without_source(settings, unit)
        yield from filled_with_changes(unit)
    yield from _needless_supervision(settings, units)
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


def _needless_supervision(settings: GatewaySettings, units: Sequence[Unit]) -> Iterator[str]:
    """What is to become of single actors, where all rules of each program are one."""
    each = [actors_for(unit.settings.actors, unit.settings.workers) for unit in units]
    if settings.supervision != SupervisionSettings() and all(actors == "one" for actors in each):
        yield "`[supervision]` is without effect: all rules are one actor; say `workers`, or `actors`, to have several"


def _without_source(settings: GatewaySettings, unit: Unit) -> Iterator[str]:
    """Outputs that can never hold, since no source brings what their rules need."""
    sources = [source for source in settings.source if source.program in ("", unit.settings.name)]
    if not sources or not all(isinstance(source, TakesMessages) and source.format in ("json", "text") for source in sources):
        return  # any fact may come
    brought = {one.predicate for source in sources if isinstance(source, TakesMessages) for one in source.map}
    program, alarms = unit.plan.program, alarms_of(unit.plan.program)
    declared = [item.predicate for item in statements_of(program, Input) if not is_of_alarm(item.predicate, alarms)]
    book = book_of(unit.plan)
    missing = [name for name in declared if name not in brought and name not in book.facts]
    before = empty_predicates(book, ())
    after = empty_predicates(replace(book, given=book.given.difference(missing), open=book.open.difference(missing)), ())
    silent = [f"`{name}`" for name in unit.plan.outputs if name in after and name not in before]
    if silent:
        posted = " unless it is posted" if settings.http is not None and settings.http.ingest else ""
        lacking = ", ".join(f"`{name}`" for name in missing)
        yield f"program `{unit.settings.name}`: no source brings {lacking}, so {', '.join(silent)} can never hold{posted}"


def _unread(source: TakesMessages, unit: Unit) -> Iterator[str]:
    for one in source.map:
        for level in unread_levels(unit.plan.schema, one):
            told = f"the level `{{{level}}}` of `{one.topic}` is read by no field of `{one.predicate}`"
            yield f"source `{source.name}`: {told}; if none is to read it, write `+`"

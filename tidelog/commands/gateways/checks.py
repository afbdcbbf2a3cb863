"""What can be seen of a gateway's file without running it: whether it is right, and what messages become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from tidelog.commands.outcome import BAD, DONE, count, say, show_diagnostics, write_out
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.connectors.sources.replay import recorded_messages
from tidelog.gateway.backgrounds import fetch_all
from tidelog.gateway.building import Unit, build, build_mappers, http_settings
from tidelog.gateway.doubts import doubts
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.kinds.kind import Place
from tidelog.gateway.kinds.reaching import NOTHING
from tidelog.gateway.kinds.table import kind_of
from tidelog.gateway.pair.standby import check_standby
from tidelog.gateway.surroundings import check_surroundings
from tidelog.plans.data.facts import Record, format_atom
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.islands.islands import islands_of
from tidelog.runtime.ports.actors import read_actors
from tidelog.runtime.ports.interfaces import Batch


def check(settings: GatewaySettings, file: Path, *, with_ends: bool) -> int:
    """Say what the file means; with `with_ends`, also whether brokers, devices, receivers and sockets can be reached."""
    if with_ends:
        fetch_all(settings.background, file.parent)
    units = build(settings, file.parent)
    for unit in units:
        show_diagnostics(unit.plan.warnings, unit.plan.name, unit.plan.program.text)
        write_out(_summary(unit))
    for line in doubts(settings, units):
        say(f"warning: {line}")
    check_surroundings(settings, file.parent)
    if settings.http is not None:
        write_out(f"http: {http_settings(settings.http, file.parent).url}\n")
    if settings.standby is not None:
        own = check_standby(settings, file.parent)
        write_out(f"standby: {own.lease} says who leads, {own.follow} is the other one\n")
    if with_ends:
        return anyio.run(_reach_all, settings, file, backend="trio")
    write_out(f"{file}: right\n")
    return DONE


def _summary(unit: Unit) -> str:
    lines = [f"program {unit.settings.name}: {count(len(unit.plan.steps), 'step')}, tells {', '.join(unit.plan.told)}"]
    lines += [
        f"  source {name}: {source.name}" if name != source.name else f"  source {name}"
        for name, source in unit.sources.items()
    ]
    lines += [f"  sink {name}: {sink.name}" if name != sink.name else f"  sink {name}" for name, sink in unit.sinks.items()]
    lines += [f"  sink {name}: outbox {outbox.path}" for name, outbox in unit.outboxes.items()]
    lines += _spread(unit)
    return "".join(f"{line}\n" for line in lines)


def _spread(unit: Unit) -> Iterator[str]:
    """Over what the rules of a program are spread, where they are."""
    workers = unit.settings.workers
    actors = read_actors(unit.settings.actors, workers)
    if actors == "one":
        return
    islands = islands_of(unit.plan, actors)
    keyed = sum(island.key is not None for island in islands)
    shards = len(islands) + keyed * (workers - 1)
    yield f"  {count(len(islands), 'island')}, {keyed} with a key: {count(shards, 'shard')} in {count(workers, 'worker')}"


async def _reach_all(settings: GatewaySettings, file: Path) -> int:
    is_all_there = True
    place = Place(settings.name, file.parent)
    for end in (*settings.source, *settings.sink):
        reach = kind_of(end).reach
        try:
            reached = NOTHING if reach is None else await reach(end, place)
        except (OSError, TimeoutError) as error:
            is_all_there = False
            write_out(f"  {end.name}: cannot be reached: {error or 'no answer'}\n")
        else:
            write_out(f"  {end.name}: {reached}\n")
    write_out(f"{file}: {'right' if is_all_there else 'right, but not all ends can be reached'}\n")
    return DONE if is_all_there else BAD


# --- messages -----------------------------------------------------------------------------------------------------------


def try_messages(settings: GatewaySettings, file: Path, messages: Path) -> int:
    """Show what each recorded message becomes, by each source that takes messages; exit code 1 where one cannot be read."""
    mappers = list(build_mappers(settings, file.parent))
    if not mappers:
        raise SpecError("no source of the file takes messages")
    wrong = 0
    for number, line, message in recorded_messages(messages):
        where = f"{messages}:{number}"
        if isinstance(message, DataError):
            write_out(f"{where}: {message.reason}: {line.decode('utf-8', 'replace')[:200]}\n")
            wrong += 1
            continue
        write_out(f"{where}: {message.topic}\n")
        taking = [item for item in mappers if _takes(item[3], message)]
        if not taking:
            write_out("  no source takes it\n")
        for name, plan, mapper, _ in taking:
            batch = mapper.batch([message])
            write_out(_became(name, batch, TimeFormatter(plan.timeline, plan.timeline.unit is not None)))
            wrong += len(batch.rejected)
    if wrong:
        say(f"{count(wrong, 'message')} could not be used")
    return BAD if wrong else DONE


def _takes(topics: Sequence[str], message: Message) -> bool:
    """Whether a source subscribes to a message's topic."""
    return any(TopicPattern.parse(text).match(message.topic) is not None for text in topics)


def _became(name: str, batch: Batch, times: TimeFormatter) -> str:
    lines = [f"  {name}: {_shown(record, times)}\n" for record in batch.records]
    lines += [f"  {name} cannot use it: {item.reason}\n" for item in batch.rejected]
    return "".join(lines) or f"  {name}: nothing\n"


def _shown(record: Record, times: TimeFormatter) -> str:
    predicate, row, lo, hi = record
    return f"{format_atom(predicate, row)}@{times.at(lo, hi)}"

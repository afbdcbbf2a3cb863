"""`tidelog state`: what a run has stored, and whether it is as it was written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from tidelog.commands.outcome import BAD, DONE, count
from tidelog.commands.stored.parts import Spread, parts_of
from tidelog.commands.stored.replay import write
from tidelog.commands.streams.spreading import add_spread_options, spread_of
from tidelog.connectors.standby.shared_state import read_terms
from tidelog.connectors.store.state_store import FILE, StateDirectory
from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.diagnostics.visible import visible
from tidelog.plans.plan.stored import unpack_plan
from tidelog.runtime.durable.replaying import head_of
from tidelog.runtime.intake.watermarks import plain_name
from tidelog.runtime.journal.manifest import Head
from tidelog.runtime.journal.partitions import Parts
from tidelog.runtime.sessions.session import Session

_SECOND = 1_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("state", metavar="DIR", help="the state of a run, as `run --state DIR` keeps it")
    add_spread_options(
        parser, "show what each part of it would have in a run with N workers", "show the parts by islands, or by rules"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is stored; the exit code is 1 where something of it is damaged."""
    spread = Spread(**spread_of(options))
    with StateDirectory(options.state, read_only=True) as store:
        head = head_of(store)
        size = os.path.getsize(os.path.join(options.state, FILE))
        lines = [f"program {head.program}, run {head.run}", f"file {FILE}: {size:,} bytes"]
        damaged = False
        for show in (_show_terms, _show_journal, partial(_show_snapshot, spread=spread), _show_older, _show_answers):
            try:
                lines += show(store, head)
            except TidelogError as error:
                damaged = True
                lines.append(f"damaged: {error}")
        lines += _ends(head)
    write("".join(f"{visible(line)}\n" for line in lines))
    return BAD if damaged else DONE


def _show_terms(store: StateDirectory, head: Head) -> Iterator[str]:
    terms = read_terms(store.terms())
    if terms:
        last = terms[-1]
        yield f"standby: commit {store.commits}, led by {last.node} under epoch {last.epoch} from answer {last.first} on"


def _show_journal(store: StateDirectory, head: Head) -> Iterator[str]:
    blocks = facts = size = 0
    first = begin = end = 0
    for block in store.journal():
        first, begin = first or block.first, begin or block.at
        blocks, facts, size, end = blocks + 1, facts + block.facts, size + len(block.data), block.at
    if not blocks:
        yield f"journal: empty, behind event {head.events}"
        return
    told = f"{count(facts, 'fact')}, {size:,} bytes, {_when(begin)} to {_when(end)}"
    yield f"journal: events {first} to {head.events}, {told}"


def _show_snapshot(store: StateDirectory, head: Head, spread: Spread) -> Iterator[str]:
    if not head.snapshot:
        yield "snapshot: none yet"
        return
    parts = list(store.parts())
    yield f"snapshot: as of event {head.snapshot}, {sum(len(data) for _, data in parts):,} bytes"
    plan = unpack_plan(store.plan(), f"state `{store.name}`")
    session = Session(
        plan, emit=head.options["emit"], prospects=head.options["prospects"], sources=[s.name for s in head.sources]
    )
    session.load(Parts().load(parts))
    statistics = session.statistics()
    if session.is_finished:
        yield "  the stream has ended"
    elif session.frontier > NEG:
        yield f"  complete up to {plan.timeline.format_point(session.frontier)}"
    sizes = dict(parts)
    for name, step in statistics.steps.items():
        yield f"  {name}: {count(step.entries, 'row')}, {len(sizes[f'step {name}']):,} bytes"
    if spread.actors != "one":
        for part in parts_of(plan, session.state(), head.options, spread):
            shard = f", shard {part.shard + 1} of {part.shards}" if part.shards > 1 else ""
            yield f"  island {part.island.name}{shard}: {count(part.rows, 'row')}, {part.size:,} bytes"


def _show_older(store: StateDirectory, head: Head) -> Iterator[str]:
    older = [event for event in store.snapshots() if event != head.snapshot]
    for event in older:
        for _ in store.parts(event):
            pass
    if older:
        yield f"older snapshots: as of events {', '.join(map(str, older))}"


def _show_answers(store: StateDirectory, head: Head) -> Iterator[str]:
    kept = store.kept()
    yield f"answers: {head.answers} told, {kept.size:,} bytes owed"
    number = kept.first
    while (block := store.answers(number)) is not None:
        number = block.last + 1


def _ends(head: Head) -> Iterator[str]:
    for source in head.sources:
        standing = "has ended" if source.ended else _position(source.position)
        yield f"source {plain_name(source.name)}: {standing}"
    for sink in head.sinks:
        yield f"sink {plain_name(sink.name)}: has taken {sink.taken}, is owed {head.answers - sink.taken}"


def _position(position: dict[str, object] | None) -> str:
    if position is None:
        return "cannot be read again"
    known = [f"{name} {value}" for name, value in position.items() if isinstance(value, int)]
    return "stands at " + (", ".join(known) or "a position of its own")


def _when(at: int) -> str:
    return datetime.fromtimestamp(at / _SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""What is said of sources, sinks and servers at the end: who was not served, and which answers may not have arrived."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.commands.outcome import count, say
from tidelog.connectors.transport.acceptor import ClientLimits
from tidelog.runtime.ports.interfaces import Listener, ServesClients, Sink, SinkStatistics, Source
from tidelog.runtime.running.runner import Runner

if TYPE_CHECKING:
    from tidelog.runtime.running.history import HistoryRunner


def client_limits(options: argparse.Namespace) -> ClientLimits:
    """How many clients may connect to what listens, and for how long they may be silent."""
    return ClientLimits(options.max_clients, options.client_timeout)


def show_ends(ends: Iterable[Source | Listener | Sink], engine: Runner | HistoryRunner, with_statistics: bool) -> bool:
    """Notes on clients and answers; returns whether it is certain that all answers have arrived, each once."""
    for end in ends:
        if isinstance(end, ServesClients):
            show_connections(end, with_statistics)
    told = engine.sink_statistics()
    for name, statistics in told:
        _show_answers(name, statistics, with_statistics)
    return not any(statistics.lost or statistics.repeated or statistics.undelivered for _, statistics in told)


def show_connections(listener: ServesClients, with_statistics: bool) -> None:
    """A note where clients were not served, or left; the numbers with `--stats`."""
    found = listener.connections()
    if found.refused:
        say(f"note: {listener.name}: {count(found.refused, 'client')} refused, as all places were taken")
    if found.silent:
        say(f"note: {listener.name}: {count(found.silent, 'silent client')} disconnected")
    if with_statistics:
        say(f"{listener.name}: {found.accepted} connected, {found.refused} refused, {found.silent} silent")


def _show_answers(name: str, found: SinkStatistics, with_statistics: bool) -> None:
    if found.lost or found.repeated:
        uncertain = [f"up to {count(found.lost, 'answer')} may be lost"] if found.lost else []
        uncertain += [f"up to {count(found.repeated, 'answer')} may be there twice"] if found.repeated else []
        say(f"note: {name}: connection lost {_times(found.breaks)}: {', '.join(uncertain)}")
    if found.undelivered:
        say(f"note: {name}: {count(found.undelivered, 'answer')} could not be delivered, and are dead letters")
    if with_statistics and found.breaks:
        say(f"{name}: broken {_times(found.breaks)}; {found.lost} lost, {found.repeated} twice, at most")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"

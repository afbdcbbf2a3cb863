"""`run --out spark+outbox:DIR`: a run with a state, and the outbox's server beside it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import anyio

from tidelog.commands.outcome import count, say
from tidelog.commands.streams.ends import show_connections
from tidelog.commands.streams.http import http_settings
from tidelog.commands.streams.streaming import stream
from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.outbox.spec import OutboxSpec, is_outbox, parse_outbox
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.running.runner import GRACE, Runner
from tidelog.runtime.sessions.settings import Settings

if TYPE_CHECKING:
    from tidelog.connectors.http.server import HttpServer
    from tidelog.connectors.outbox.outbox import OutboxReader

_TAKEN_INTERVAL = 0.1
"""How often, in seconds, it is asked whether all has been taken."""


def add_outbox_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say to whom an outbox is served."""
    parser.add_argument("--serve-outbox", metavar="HOST:PORT", help="serve the outbox alone over HTTP, until all is taken")
    parser.add_argument("--tls-cert", metavar="F", help="the server's certificate (PEM), to serve beyond this machine")
    parser.add_argument("--tls-key", metavar="F", help="the key of the certificate (PEM)")
    parser.add_argument(
        "--token-file", metavar="F", help="a file with the token that clients (of the outbox, of HTTP) have to know"
    )


def outbox_of(plan: Plan, options: argparse.Namespace) -> OutboxSpec | None:
    """The outbox that the options name, or None; SpecError where there are several, or the program asks."""
    sinks = [spec for spec in options.sinks or () if is_outbox(spec)]
    if not sinks:
        return None
    if len(sinks) > 1:
        raise SpecError("a run has one outbox")
    if plan.questions:
        raise SpecError("an outbox holds derived facts, and what `ask` answers are none: leave the questions out")
    if options.iso:
        raise SpecError("`--iso`: an outbox holds times as exact numbers, and its schema their unit")
    return parse_outbox(sinks[0])


def run_with_outbox(plan: Plan, options: argparse.Namespace, settings: Settings, spec: OutboxSpec) -> int:
    """Run a plan into an outbox, and other sinks, until its sources end, or a signal asks to stop; returns the exit code.

    Without `--state` the outbox's directory holds the state, too.
    """
    from tidelog.connectors.outbox.sink import OutboxSink  # noqa: PLC0415 - few runs have one, and all have to start at once

    server = server_of(plan, options, spec.path)
    if options.state is None:
        options.state = spec.path
    if spec.every is not None and options.commit_every is None:
        options.commit_every = spec.every
    with spec.open(plan, holds_changes=options.emit == "changes") as outbox:
        make = Runner if server is None else partial(_ServedRunner, served=(spec.path, server, options.stats))
        return stream(plan, options, settings, make, [OutboxSink(outbox)])


def server_of(plan: Plan, options: argparse.Namespace, folder: str) -> HttpServer | None:
    """The server that the options ask for, or None; SpecError where it is not to be had like this."""
    if options.serve_outbox is None:
        return None
    server = over_http.HttpServer([], http_settings(options, "--serve-outbox"))
    server.outboxes[PurePath(plan.name).stem] = folder
    return server


def refuse_outbox_options(options: argparse.Namespace) -> None:
    """SpecError where options of an outbox are given, and there is none; `--http` takes a certificate and a token, too."""
    for name in ("serve_outbox",) if options.http is not None else ("serve_outbox", "tls_cert", "tls_key", "token_file"):
        if getattr(options, name) is not None:
            raise SpecError(f"`--{name.replace('_', '-')}` needs an outbox: `--out spark+outbox:DIR`")


class _ServedRunner(Runner):
    """A run whose outbox is served as it goes on, and at its end until all has been taken."""

    def __init__(self, *told: Any, served: tuple[str, HttpServer, bool]) -> None:
        super().__init__(*told)
        self._folder, self._server, self._with_statistics = served
        self._leave = False

    async def run(self) -> None:
        from tidelog.connectors.outbox.outbox import OutboxReader  # noqa: PLC0415 - likewise

        try:
            async with self._server:
                await super().run()
                with OutboxReader(self._folder) as reader:
                    await self._wait_until_taken(reader)
        finally:
            show_connections(self._server, self._with_statistics)

    def stop(self, grace: float = GRACE) -> None:
        self._leave = True
        super().stop(grace)

    async def _wait_until_taken(self, reader: OutboxReader) -> None:
        left = reader.last() - reader.first() + 1
        if left and not self._leave:
            say(f"note: the stream has ended; {count(left, 'fact')} left to be taken")
        while True:
            if self._leave or reader.first() > reader.last():
                return
            await anyio.sleep(_TAKEN_INTERVAL)

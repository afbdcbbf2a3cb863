"""`run --out spark+outbox:DIR`: a durable run, and the outbox's server beside it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import anyio

from tidelog.commands.ends import client_limits, show_connections
from tidelog.commands.outcome import count, say
from tidelog.commands.streaming import stream
from tidelog.connectors.outbox import Outbox, OutboxReader
from tidelog.connectors.outbox_server import OutboxServer, load_certificate, load_token, parse_server
from tidelog.connectors.outbox_spec import OutboxSpec, is_outbox, parse_outbox
from tidelog.plans.errors import SpecError
from tidelog.plans.plan import Plan
from tidelog.runtime.durable import DurableRun, fingerprint
from tidelog.runtime.engine import GRACE
from tidelog.runtime.interfaces import Sink, Source

_TAKEN_INTERVAL = 0.1
"""How often, in seconds, it is asked whether all has been taken."""


def add_outbox_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say to whom an outbox is served."""
    parser.add_argument("--serve-outbox", metavar="SPEC", help="serve the outbox at tcp+listen://HOST:PORT")
    parser.add_argument("--tls-cert", metavar="F", help="the server's certificate (PEM), to serve beyond this machine")
    parser.add_argument("--tls-key", metavar="F", help="the key of the certificate (PEM)")
    parser.add_argument(
        "--token-file", metavar="F", help="a file with the token that clients (of the outbox, of HTTP) have to know"
    )


def outbox_of(plan: Plan, options: argparse.Namespace) -> OutboxSpec | None:
    """The outbox that the options name, or None; SpecError where it is not the only sink, or the program asks."""
    sinks = options.sinks or []
    if not any(map(is_outbox, sinks)):
        return None
    if options.http is not None:
        raise SpecError("`--http` does not go with an outbox: it shows what an engine without one does")
    if len(sinks) > 1:
        raise SpecError("an outbox is the only sink of its run: what other sinks are sent could not be taken back")
    if plan.questions:
        raise SpecError("an outbox holds derived facts, and what `ask` answers are none: leave the questions out")
    if options.iso:
        raise SpecError("`--iso`: an outbox holds times as exact numbers, and its schema their unit")
    return parse_outbox(sinks[0])


def run_durably(plan: Plan, options: argparse.Namespace, spec: OutboxSpec) -> int:
    """Run a plan into an outbox until its sources end, or a signal asks to stop; returns the exit code."""
    server = server_of(options, spec.path)
    with spec.open(plan, fingerprint(plan), holds_changes=options.emit == "changes") as outbox:
        return stream(plan, options, _Maker(outbox, options, spec, server), into_outbox=True)


def server_of(options: argparse.Namespace, folder: str) -> OutboxServer | None:
    """The server that the options ask for, or None; SpecError where it is not to be had like this."""
    if options.serve_outbox is None:
        return None
    if (options.tls_cert is None) != (options.tls_key is None):
        raise SpecError("`--tls-cert` and `--tls-key` belong together")
    token = None if options.token_file is None else load_token(options.token_file)
    tls = None if options.tls_cert is None else load_certificate(options.tls_cert, options.tls_key)
    address, clients = parse_server(options.serve_outbox), client_limits(options)
    return OutboxServer(folder, address, token=token, tls=tls, clients=clients)


def refuse_outbox_options(options: argparse.Namespace) -> None:
    """SpecError where options of an outbox are given, and there is none; `--http` takes a certificate and a token, too."""
    for name in ("serve_outbox",) if options.http is not None else ("serve_outbox", "tls_cert", "tls_key", "token_file"):
        if getattr(options, name) is not None:
            raise SpecError(f"`--{name.replace('_', '-')}` needs an outbox: `--out spark+outbox:DIR`")


class _Maker:
    """Makes the durable run, as `stream` would make an engine."""

    def __init__(self, outbox: Outbox, options: argparse.Namespace, spec: OutboxSpec, server: OutboxServer | None) -> None:
        self._outbox, self._options, self._spec, self._server = outbox, options, spec, server

    def __call__(self, plan: Plan, sources: Sequence[Source], sinks: Sequence[Sink], **more: Any) -> DurableRun:
        more |= {"emit": self._options.emit, "prospects": not self._options.no_prospects}
        if self._spec.every is not None:
            more["every"] = self._spec.every
        if self._server is None:
            return DurableRun(plan, sources, self._outbox, **more)
        return _ServedRun(plan, sources, self._outbox, self._server, self._options.stats, **more)


class _ServedRun(DurableRun):
    """A durable run that is served as it goes on, and at its end until all has been taken."""

    def __init__(
        self, plan: Plan, sources: Sequence[Source], outbox: Outbox, server: OutboxServer, stats: bool, **more: Any
    ) -> None:
        super().__init__(plan, sources, outbox, **more)
        self._folder, self._server, self._with_statistics = outbox.name, server, stats
        self._leave = False

    async def run(self) -> None:
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

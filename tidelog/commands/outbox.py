"""`run --out spark+outbox:DIR`: a run with a state, and the outbox's server beside it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio

from tidelog.commands.ends import client_limits, show_connections
from tidelog.commands.outcome import count, say
from tidelog.commands.streaming import stream
from tidelog.connectors.outbox import OutboxReader
from tidelog.connectors.outbox_server import OutboxServer, load_certificate, load_token, parse_server
from tidelog.connectors.outbox_sink import OutboxSink
from tidelog.connectors.outbox_spec import OutboxSpec, is_outbox, parse_outbox
from tidelog.plans.errors import SpecError
from tidelog.plans.plan import Plan
from tidelog.runtime.engine import GRACE, Engine
from tidelog.runtime.head import fingerprint

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
    """The outbox that the options name, or None; SpecError where there are several, or the program asks."""
    sinks = [spec for spec in options.sinks or () if is_outbox(spec)]
    if not sinks:
        return None
    if options.http is not None:
        raise SpecError("`--http` does not go with an outbox: it shows what an engine without one does")
    if len(sinks) > 1:
        raise SpecError("a run has one outbox")
    if plan.questions:
        raise SpecError("an outbox holds derived facts, and what `ask` answers are none: leave the questions out")
    if options.iso:
        raise SpecError("`--iso`: an outbox holds times as exact numbers, and its schema their unit")
    return parse_outbox(sinks[0])


def run_with_outbox(plan: Plan, options: argparse.Namespace, spec: OutboxSpec) -> int:
    """Run a plan into an outbox, and other sinks, until its sources end, or a signal asks to stop; returns the exit code.

    Without `--state` the outbox's directory holds the state, too.
    """
    server = server_of(options, spec.path)
    if options.state is None:
        options.state = spec.path
    if spec.every is not None and options.commit_every is None:
        options.commit_every = spec.every
    with spec.open(plan, fingerprint(plan), holds_changes=options.emit == "changes") as outbox:
        told: dict[str, Any] = {"emit": options.emit, "prospects": not options.no_prospects}
        make: Callable[..., Engine] = partial(Engine, **told)
        if server is not None:
            make = partial(_ServedEngine, served=(spec.path, server, options.stats), **told)
        return stream(plan, options, make, [OutboxSink(outbox)])


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


class _ServedEngine(Engine):
    """An engine whose outbox is served as it goes on, and at its end until all has been taken."""

    def __init__(self, *ends: Any, served: tuple[str, OutboxServer, bool], **more: Any) -> None:
        super().__init__(*ends, **more)
        self._folder, self._server, self._with_statistics = served
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

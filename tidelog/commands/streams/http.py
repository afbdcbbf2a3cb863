"""`run --http HOST:PORT`: the page, metrics and answers over HTTP, and facts that are posted, beside a run."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import anyio

from tidelog.commands.outcome import say
from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.outbox.spec import is_outbox, parse_outbox
from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.connectors.transport.credentials import load_certificate, load_token
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan

if TYPE_CHECKING:
    from tidelog.connectors.http.server import HttpServer
    from tidelog.connectors.http.watching.watch import Watch
    from tidelog.runtime.ports.interfaces import Listener
    from tidelog.runtime.running.runner import Runner


def add_http_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where HTTP is served."""
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="serve a page, metrics and answers there, and take facts that are posted"
    )


class Served:
    """What is served of a run: its `watch` observes the engine, and brings what is posted. SpecError without the extra."""

    def __init__(self, plan: Plan, options: argparse.Namespace) -> None:
        settings = http_settings(options, "--http")
        name = PurePath(plan.name).stem
        state = getattr(options, "state", None)
        history = None if state is None else Path(state) / over_http.HISTORY
        self.watch: Watch = over_http.Watch(plan, name=name, iso=options.iso, history=history)
        self._goes_by_clock = getattr(options, "clock", None) is not None
        self._server: HttpServer = over_http.HttpServer([self.watch], settings)
        for spec in filter(is_outbox, options.sinks or ()):
            self._server.outboxes[name] = parse_outbox(spec).path

    @property
    def sources(self) -> list[Listener]:
        """What is posted, and what people do with alarms."""
        found: list[Listener] = [self.watch.ingest]
        return [*found, self.watch.desk.actions] if self.watch.desk.has_alarms else found

    @property
    def url(self) -> str:
        """Where it is served."""
        return self._server.url

    @asynccontextmanager
    async def beside(self, engine: Runner, *, is_durable: bool) -> AsyncIterator[None]:
        """Serve as long as the engine runs, ready once its state is restored; `is_durable`: it stores what it takes."""
        self.watch.attach(engine, is_durable=is_durable, goes_by_clock=self._goes_by_clock)
        async with self._server, anyio.create_task_group() as tasks:
            say(f"note: {self.url}")
            tasks.start_soon(self._wait_started, engine)
            yield
            tasks.cancel_scope.cancel()

    async def _wait_started(self, engine: Runner) -> None:
        await engine.wait_started()
        self.watch.is_ready = True


def http_settings(options: argparse.Namespace, name: str) -> over_http.HttpSettings:
    """How the option of this name has HTTP served; SpecError where that cannot be, or the extra is not installed."""
    if options.backend != "trio":
        raise SpecError(f"`{name}` is served on trio alone: leave out `--backend asyncio`")
    try:
        make = over_http.HttpServer, over_http.HttpSettings
    except ImportError as error:
        raise SpecError(f"`{name}` needs `{error.name}`, which is not installed: pip install 'tidelog[http]'") from error
    if (options.tls_cert is None) != (options.tls_key is None):
        raise SpecError("`--tls-cert` and `--tls-key` belong together")
    return make[1](
        parse_host_port(getattr(options, name.removeprefix("--").replace("-", "_"))),
        token=None if options.token_file is None else load_token(options.token_file),
        tls=None if options.tls_cert is None else load_certificate(options.tls_cert, options.tls_key),
    )

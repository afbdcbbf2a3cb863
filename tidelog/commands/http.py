"""`run --http HOST:PORT`: the page, metrics and answers over HTTP, and facts that are posted, beside a run."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tidelog.commands.outcome import say
from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.addresses import parse_host_port
from tidelog.connectors.outbox_server import load_certificate, load_token
from tidelog.plans.errors import SpecError
from tidelog.plans.plan import Plan

if TYPE_CHECKING:
    from tidelog.connectors.http.server import HttpServer
    from tidelog.connectors.http.watch import Watch


def add_http_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where HTTP is served."""
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="serve a page, metrics and answers there, and take facts that are posted"
    )


class Served:
    """What is served of a run: its `watch` observes the engine, and brings what is posted. SpecError without the extra."""

    def __init__(self, plan: Plan, options: argparse.Namespace) -> None:
        if options.backend != "trio":
            raise SpecError("`--http` is served on trio alone: leave out `--backend asyncio`")
        try:
            server, watch = over_http.HttpServer, over_http.Watch
        except ImportError as error:
            raise SpecError(f"`--http` needs `{error.name}`, which is not installed: pip install 'tidelog[http]'") from error
        self.watch: Watch = watch(plan, name=PurePath(plan.name).stem, iso=options.iso)
        self.watching: dict[str, Any] = {"observer": self.watch, "remember": over_http.KEPT_FACTS}
        """What the engine is to be made with."""
        if (options.tls_cert is None) != (options.tls_key is None):
            raise SpecError("`--tls-cert` and `--tls-key` belong together")
        settings = over_http.HttpSettings(
            parse_host_port(options.http),
            token=None if options.token_file is None else load_token(options.token_file),
            tls=None if options.tls_cert is None else load_certificate(options.tls_cert, options.tls_key),
        )
        self._server: HttpServer = server([self.watch], settings)

    @asynccontextmanager
    async def beside(self, engine: Any, *, is_durable: bool) -> AsyncIterator[None]:
        """Serve as long as the engine runs; `is_durable` tells that it stores what it takes."""
        self.watch.attach(engine, is_durable=is_durable)
        async with self._server as server:
            say(f"note: {server.url}")
            self.watch.is_ready = True
            yield

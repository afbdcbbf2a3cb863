"""`run --http HOST:PORT`: the page, metrics and answers over HTTP, and facts that are posted, beside a run."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tidelog.commands.outcome import say
from tidelog.connectors.addresses import TcpAddress
from tidelog.connectors.formatting import TimeFormatter
from tidelog.connectors.outbox_server import load_certificate, load_token
from tidelog.plans.errors import SpecError
from tidelog.plans.plan import Plan
from tidelog.runtime.why.recent import RecentFacts

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
            from tidelog.connectors.http.server import HttpServer  # noqa: PLC0415 - only who serves needs the extra
            from tidelog.connectors.http.settings import HttpSettings  # noqa: PLC0415 - the same
            from tidelog.connectors.http.watch import Watch  # noqa: PLC0415 - the same
        except ImportError as error:
            raise SpecError(f"`--http` needs `{error.name}`, which is not installed: pip install 'tidelog[http]'") from error
        at = TimeFormatter(plan.timeline, iso=plan.timeline.unit is not None).at
        self.watch: Watch = Watch(plan, name=PurePath(plan.name).stem, explain=RecentFacts(plan, at=at))
        if (options.tls_cert is None) != (options.tls_key is None):
            raise SpecError("`--tls-cert` and `--tls-key` belong together")
        settings = HttpSettings(
            parse_http(options.http),
            token=None if options.token_file is None else load_token(options.token_file),
            tls=None if options.tls_cert is None else load_certificate(options.tls_cert, options.tls_key),
        )
        self._server: HttpServer = HttpServer([self.watch], settings)

    @asynccontextmanager
    async def beside(self, engine: Any) -> AsyncIterator[None]:
        """Serve as long as the engine runs."""
        self.watch.attach(engine)
        async with self._server as server:
            say(f"note: {server.url}")
            self.watch.is_ready = True
            yield


def parse_http(text: str) -> TcpAddress:
    """The address that `HOST:PORT` names; SpecError for anything else.

    >>> parse_http("127.0.0.1:8080"), parse_http("[::1]:80")
    (TcpAddress(host='127.0.0.1', port=8080), TcpAddress(host='::1', port=80))
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not colon or not host or "/" in host or not (port.isascii() and port.isdigit()) or int(port[:6]) > 65535:
        raise SpecError(f"`--http {text}`: expected HOST:PORT, such as 127.0.0.1:8080")
    return TcpAddress(host, int(port))

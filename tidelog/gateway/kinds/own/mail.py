"""Mails to people."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import anyio
import anyio.to_thread
import msgspec

from tidelog.connectors.notify.letters import LetterWriter
from tidelog.connectors.notify.mail import DIGEST, PATIENCE, MailSink, Patience
from tidelog.connectors.notify.smtp import MailServer, MailSession, ServerRefusalError
from tidelog.connectors.transport.backoff import FIRST_PAUSE
from tidelog.connectors.transport.bounds import Count, NotNegative, Port, Positive
from tidelog.connectors.transport.credentials import trusting
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.settings import PeopleSinkSettings
from tidelog.plans.diagnostics.errors import SpecError

_PORTS = {"starttls": 587, "implicit": 465, "none": 25}
_LOCAL = ("localhost", "127.0.0.1", "::1")
_TEXT = "{text}\n\n{state}, {when}\n"
Address = Annotated[str, msgspec.Meta(pattern=r"^[!-?A-~]+@[!-?A-~]+$")]
"""A plain address of ASCII: `anna@example.org`."""


class MailSinkSettings(PeopleSinkSettings, frozen=True, kw_only=True, tag="mail"):
    """Mails to people, by a server that takes them in."""

    host: str
    port: Port | None = None
    """587, or 465 with `implicit`, or 25 with `none`, unless told."""
    tls: Literal["starttls", "implicit", "none"] = "starttls"
    ca: str = ""
    """A file with the certificates that are trusted; those of the system, unless told."""
    user: str = ""
    password: Secret | None = None
    sender: Address = msgspec.field(name="from")
    to: tuple[Address, ...]
    subject: str = "{state}: {text}"
    text: str = ""
    digest: Count = DIGEST
    """More answers than so many that are at hand at once become one mail."""
    patience: NotNegative = PATIENCE
    """For how many seconds a recipient is tried again whom the server does not take now, while it takes others."""
    timeout: Positive = 30.0
    retry_longest: Positive = 60.0


def _open(settings: MailSinkSettings, opening: SinkOpening) -> MailSink:
    if not settings.to:
        raise SpecError("`to` names nobody")
    page = settings.page
    text = settings.text or (f"{_TEXT}\n{{link}}\n" if page else _TEXT)
    writer = LetterWriter(
        settings.sender,
        settings.to,
        opening.template(settings.subject, key="subject", page=page, explains=True),
        opening.template(text, key="text", page=page, explains=True),
        opening.place.gateway,
    )
    longest = settings.retry_longest
    return MailSink(
        settings.name,
        _server(settings, opening.place),
        opening.plan.schema,
        writer,
        digest=settings.digest,
        patience=Patience(min(FIRST_PAUSE, longest), longest, settings.patience),
        choice=opening.choice,
    )


def _server(settings: MailSinkSettings, place: Place) -> MailServer:
    if bool(settings.user) != (settings.password is not None):
        raise SpecError("`user` and `password` belong together")
    if settings.user and settings.tls == "none" and settings.host not in _LOCAL:
        raise SpecError('with `tls = "none"` everybody on the way could read the password: use `starttls` or `implicit`')
    return MailServer(
        settings.host,
        settings.port or _PORTS[settings.tls],
        settings.tls,
        str(place.folder / settings.ca) if settings.ca else None,
        settings.user,
        None if settings.password is None else partial(settings.password.reveal, place.folder),
        settings.timeout,
    )


def _check(settings: MailSinkSettings, place: Place) -> None:
    """The password, and the certificates that are trusted."""
    server = _server(settings, place)
    if server.password is not None:
        server.password()
    if server.tls != "none":
        trusting(server.ca)


async def _reach(settings: MailSinkSettings, place: Place) -> str:
    """Log in, and say goodbye."""
    server = _server(settings, place)
    session = MailSession(server)
    try:
        await anyio.to_thread.run_sync(session.open)
    except ServerRefusalError as error:
        raise OSError(str(error)) from None
    await anyio.to_thread.run_sync(session.close)
    return f"the server for mail at {server} lets it in"


SINK = SinkKind(interface=INTERFACE, settings=MailSinkSettings, open=_open, check=_check, reach=_reach)

"""What tells people has what the kit asks of a sink: alerts, mail, and messages of services."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "notify"))

from receivers import TAKEN, HttpReceiver, Mailbox, Post, Reply, Request, http, mail_server

from tidelog.connectors.http.posting import Endpoint, Retries
from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.notify import services
from tidelog.connectors.notify.alertmanager import AlertmanagerSink
from tidelog.connectors.notify.alerts import AlertWriter
from tidelog.connectors.notify.letters import LetterWriter
from tidelog.connectors.notify.mail import MailSink, Patience
from tidelog.connectors.notify.smtp import MailServer
from tidelog.connectors.notify.writers import MessageWriter
from tidelog.testing.connectors import PLAN, POISON, Arrival, SinkBench, SinkKit, alarm, number_in
from wires import Wire

PROMPT = Retries(first=0.001, longest=0.01)
OUTPUTS = ["alarm"]


class PostedBench(SinkBench):
    """A receiver of HTTP."""

    poison = alarm(POISON)

    def __init__(self, server: HttpReceiver) -> None:
        self.server = server
        server.reply = self.reply

    def reply(self, request: Request) -> Reply:
        raise NotImplementedError

    def deafen(self) -> None:
        self.server.mode = "deaf"

    def leave(self) -> None:
        self.server.mode = "away"

    def come_back(self) -> None:
        self.server.mode = "here"


class AlertBench(PostedBench):
    """What takes alerts as Alertmanager does: a list with one that it does not take is refused, and the rest of it kept."""

    def __init__(self, server: HttpReceiver) -> None:
        super().__init__(server)
        self.got: list[Arrival] = []

    def reply(self, request: Request) -> Reply:
        assert request.path == "/api/v2/alerts"
        numbers = [int(one["labels"]["n"]) for one in request.json]
        if POISON in numbers:
            return 400, {}, b'"start time must be before end time"'
        for one in request.json:
            name = json.dumps([one["labels"], one["startsAt"]])
            self.got.append(Arrival(int(one["labels"]["n"]), name))
        return TAKEN

    def open(self) -> AlertmanagerSink:
        writer = AlertWriter(
            PLAN.schema, "plant", outputs=OUTPUTS, labels={}, annotations={"summary": "{text}"}, iso=True, about=About()
        )
        endpoint = Endpoint(f"{self.server.url}/api/v2/alerts", retries=PROMPT)
        return AlertmanagerSink("alerts", endpoint, PLAN.schema, writer)

    def arrived(self) -> Sequence[Arrival]:
        return list(self.got)


class TestAlertmanagerSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self) -> Iterator[SinkBench]:
        with http() as server:
            yield AlertBench(server)


class TelegramBench(PostedBench):
    """A service of messages."""

    def __init__(self, server: HttpReceiver) -> None:
        super().__init__(server)
        self.got: list[Arrival] = []

    def reply(self, request: Request) -> Reply:
        number = number_in(request.json["text"])
        if number == POISON:
            return 400, {}, b'{"ok":false,"error_code":400,"description":"Bad Request: message text is empty"}'
        self.got.append(Arrival(number, request.headers["webhook-id"]))
        return TAKEN

    def open(self) -> WebhookSink:
        endpoint = Endpoint(f"{self.server.url}/botTOKEN/sendMessage", retries=PROMPT, is_secret=True)
        table = Template(PLAN.schema, {"text": "{state}: {text}"}, iso=True, outputs=OUTPUTS, about=About())
        writer = MessageWriter(table, services.telegram(5))
        return WebhookSink(endpoint, PLAN.schema, name="chat", writer=writer, judge=services.judge_telegram)

    def arrived(self) -> Sequence[Arrival]:
        return list(self.got)


class TestTelegramSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self) -> Iterator[SinkBench]:
        with http() as server:
            yield TelegramBench(server)


class MailBench(SinkBench):
    """A server for mail behind a wire."""

    poison = alarm(POISON)

    def __init__(self, box: Mailbox, wire: Wire) -> None:
        self._box, self._wire = box, wire
        box.refuse_data = self._refused

    def _refused(self, post: Post) -> str | None:
        return "554 5.6.0 not wanted" if number_in(str(post.message["Subject"])) == POISON else None

    def open(self) -> MailSink:
        subject, text = (
            Template(PLAN.schema, text, iso=True, outputs=OUTPUTS, about=About()) for text in ("{text}", "{n}: {note}")
        )
        writer = LetterWriter("plant@example.org", ["anna@example.org"], subject, text, "plant")
        server = MailServer("127.0.0.1", self._wire.port, "none")
        return MailSink("mail", server, PLAN.schema, writer, patience=Patience(0.001, 0.01, 0.1))

    def arrived(self) -> Sequence[Arrival]:
        return [
            Arrival(number_in(str(post.message["Subject"])), str(post.message["Message-ID"])) for post in self._box.posts
        ]

    def deafen(self) -> None:
        self._box.taken = self._wire.leave  # mail is a dialogue: the connection ends before it is said that it is there

    def leave(self) -> None:
        self._wire.leave()

    def come_back(self) -> None:
        self._box.taken = lambda: None
        self._wire.come_back()


class TestMailSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self) -> Iterator[SinkBench]:
        box = Mailbox()
        with mail_server(box) as port, Wire(port) as wire:
            yield MailBench(box, wire)

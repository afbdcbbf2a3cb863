"""Messages of services: what is posted, how it is cut, and what refusals mean, by servers that behave as documented.
Time is virtual where pauses count."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.notify.writers import MARK, cut, header_value, utf8_bytes, utf16_units
from tidelog.gateway.building import build
from tidelog.gateway.file.reading import read_text
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected

PROGRAM = """timeline integer, unit 1 s.
input heat(room: text).
alarm hot(room: text), priority {priority}, text "Room {{room}} is hot".
output other(text).
hot(R) :- heat(R). other(R) :- heat(R).
"""
SLACK = 'type = "slack"\nurl = { env = "HOOK" }\n'
TEAMS = 'type = "teams"\nurl = { env = "HOOK" }\n'
TELEGRAM = 'type = "telegram"\ntoken = { env = "TOKEN" }\nchat = -100\n'
NTFY = 'type = "ntfy"\ntopic = "plant"\n'
ALERTS = 'type = "alertmanager"\nurl = "https://alerts.example"\n'
MAIL = 'type = "mail"\nhost = "mail.example.org"\nfrom = "plant@example.org"\nto = ["anna@example.org"]\n'
WEBHOOK = 'type = "webhook"\nurl = "https://receiver.example/hook"\n'
BEGINS = ChangeRecord("hot", ("north",), 10, POS)
ENDED = ChangeRecord("hot", ("north",), 10, 20)
Service = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., WebhookSink]:
    """Opens the sink of a gateway's file."""
    monkeypatch.setenv("TOKEN", "12:SECRET")
    monkeypatch.setenv("HOOK", "https://hooks.example/services/SECRET")

    def make(text: str, priority: str = "high") -> WebhookSink:
        (tmp_path / "plant.tide").write_text(PROGRAM.format(priority=priority))
        settings = read_text(
            f'program = "plant.tide"\n[[sink]]\nname = "people"\ntold = "conditions"\n{text}', "plant.toml", {}
        )
        sink = build(settings, tmp_path)[0].sinks["people"]
        assert isinstance(sink, WebhookSink)
        return sink

    return make


class Taken:
    """Takes what is posted, but for the answers that it has to give first."""

    def __init__(self, *first: httpx.Response) -> None:
        self.requests: list[tuple[float, httpx.Request]] = []
        self._first = list(first)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((trio.current_time(), request))
        return self._first.pop(0) if self._first else httpx.Response(200, content=b"ok")

    @property
    def last(self) -> Any:
        return json.loads(self.requests[-1][1].content)


def deliver(sink: WebhookSink, service: Service, answers: Sequence[AnyAnswer] = (BEGINS,)) -> list[Rejected]:
    """Send these in virtual time; the dead letters."""
    letters: list[Rejected] = []
    sink._poster._transport = httpx.MockTransport(service)

    async def take(found: Sequence[Rejected]) -> None:
        letters.extend(found)

    async def run() -> None:
        sink.give_up_to(take)
        async with sink:
            await sink.send(answers)

    trio.run(run, clock=MockClock(autojump_threshold=0))
    return letters


Make = Callable[..., WebhookSink]


def test_slack_is_told_a_text(make: Make) -> None:
    """What would begin a link or a mention there is text."""
    taken = Taken()
    deliver(make(SLACK), taken, [BEGINS, ChangeRecord("hot", ("<!channel> & co",), 1, 5)])
    first, second = [json.loads(request.content) for _, request in taken.requests]
    assert first == {"text": "begins: Room north is hot, since 1970-01-01T00:00:10Z"}
    assert second["text"].startswith("ended: Room &lt;!channel&gt; &amp; co is hot, from 1970-01-01T00:00:01Z to ")
    assert str(taken.requests[0][1].url) == "https://hooks.example/services/SECRET"


def test_telegram_is_told_a_text(make: Make) -> None:
    """A chat, and no marks that would be taken for more than text."""
    taken = Taken()
    deliver(make(TELEGRAM + 'text = "{severity} *{room}*"\n'), taken)
    assert taken.last == {"chat_id": -100, "text": "high *north*"}
    assert str(taken.requests[0][1].url) == "https://api.telegram.org/bot12:SECRET/sendMessage"


def test_teams_is_told_a_card(make: Make) -> None:
    """A card that a workflow posts to its channel."""
    taken = Taken(httpx.Response(202))
    assert deliver(make(TEAMS), taken) == []
    (attachment,) = taken.last["attachments"]
    assert (taken.last["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert attachment["content"]["type"] == "AdaptiveCard"
    assert attachment["content"]["body"][0]["text"] == "begins: Room north is hot, since 1970-01-01T00:00:10Z"


@pytest.mark.parametrize(("priority", "number"), [("critical", 5), ("high", 4), ("medium", 3), ("low", 1)])
def test_ntfy_is_told_how_urgent_it_is(make: Make, priority: str, number: int) -> None:
    """What begins is as urgent as its alarm, what has ended is not; a click leads to the page."""
    taken = Taken()
    more = 'token = { env = "TOKEN" }\ntags = ["fire"]\npage = "https://plant.example/"\npriorities = { low = 1 }\n'
    deliver(make(NTFY + more, priority), taken, [BEGINS])
    assert taken.last == {
        "topic": "plant",
        "title": "Room north is hot",
        "message": "begins, since 1970-01-01T00:00:10Z",
        "priority": number,
        "tags": ["fire"],
        "click": "https://plant.example/#q=Room%20north%20is%20hot",
    }
    assert taken.requests[0][1].headers["authorization"] == "Bearer 12:SECRET"
    deliver(make(NTFY, priority), taken, [ENDED])
    assert taken.last["priority"] == 2 and "click" not in taken.last


def test_ntfy_has_a_button_where_that_is_wanted(make: Make) -> None:
    """For alarms that begin; not for what has ended, or is no alarm."""
    taken = Taken()
    button = 'acknowledge = { url = "https://plant.example/", token = { env = "TOKEN" } }\n'
    deliver(make(NTFY + button), taken, [BEGINS, ENDED, ChangeRecord("other", ("x",), 1, POS)])
    first, *others = [json.loads(request.content) for _, request in taken.requests]
    (action,) = first["actions"]
    assert action["url"].startswith("https://plant.example/alarms/") and action["url"].endswith("/acknowledge")
    assert (action["action"], action["method"], action["clear"]) == ("http", "POST", True)
    assert action["headers"]["Authorization"] == "Bearer 12:SECRET" and json.loads(action["body"]) == {"comment": "by ntfy"}
    assert not any("actions" in other for other in others)


@pytest.mark.parametrize(
    ("settings", "most", "size"),
    [
        (SLACK, 40_000, lambda body: len(body["text"])),
        (TELEGRAM, 4096, lambda body: utf16_units(body["text"])),
        (NTFY, 4096, lambda body: utf8_bytes(body["message"])),
        (TEAMS, 28_000, lambda body: len(json.dumps(body, ensure_ascii=False).encode())),
    ],
)
@pytest.mark.parametrize("letter", ["a", "<", "☀", "𝄞", '"', "\n"])
def test_a_long_message_is_cut_with_a_mark(
    make: Make, settings: str, most: int, size: Callable[[Any], int], letter: str
) -> None:
    """To what the service takes, however it counts."""
    taken = Taken()
    assert deliver(make(settings + 'text = "{room}"\n'), taken, [ChangeRecord("hot", (letter * 50_000,), 1, POS)]) == []
    text = json.dumps(taken.last, ensure_ascii=False)
    assert MARK in text and most // 2 <= size(taken.last) <= most


@given(st.text(), st.integers(4, 40))
def test_what_is_cut_fits(text: str, most: int) -> None:
    """It is the text, or as much of it as fits with the mark."""
    for measure in (len, utf16_units) if "\ud800" not in text else (len,):
        found = cut(text, most, measure)
        assert found == text if measure(text) <= most else found.endswith(MARK) and text.startswith(found[: -len(MARK)])
        assert measure(found) <= max(most, measure(MARK))


# --- refusals ------------------------------------------------------------------------------------------------------------

BUSY = {
    "ok": False,
    "error_code": 429,
    "description": "Too Many Requests: retry after 90",
    "parameters": {"retry_after": 90},
}


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (SLACK, httpx.Response(429, headers={"retry-after": "90"}, content=b"rate_limited")),
        (TELEGRAM, httpx.Response(429, json=BUSY)),
        (TEAMS, httpx.Response(429, headers={"retry-after": "90"})),
        (NTFY, httpx.Response(429, headers={"retry-after": "90"}, json={"code": 42901, "http": 429})),
    ],
)
def test_who_is_busy_says_for_how_long(make: Make, settings: str, answer: httpx.Response) -> None:
    """It is left alone for so long, also where that is longer than the longest pause; and nothing is lost."""
    taken = Taken(answer)
    assert deliver(make(settings), taken) == []
    (before, _), (after, _) = taken.requests
    assert after - before == pytest.approx(90)


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (SLACK, httpx.Response(410, content=b"channel_is_archived")),
        (SLACK, httpx.Response(404, content=b"no_service")),
        (SLACK, httpx.Response(403, content=b"invalid_token")),
        (TELEGRAM, httpx.Response(400, json={"ok": False, "description": "Bad Request: chat not found"})),
        (TELEGRAM, httpx.Response(401, json={"ok": False, "description": "Unauthorized"})),
        (TELEGRAM, httpx.Response(403, json={"ok": False, "description": "Forbidden: bot was blocked by the user"})),
        (TEAMS, httpx.Response(400, json={"error": {"code": "WorkflowTriggerIsNotEnabled"}})),
        (NTFY, httpx.Response(403, json={"code": 40301, "error": "forbidden"})),
        (NTFY, httpx.Response(507, json={"code": 50701})),
    ],
)
def test_what_is_wrong_with_the_address_costs_no_message(
    make: Make, settings: str, answer: httpx.Response, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits until somebody has mended it; the log says what the service said, and no secret."""
    taken = Taken(*[answer] * 3)
    assert deliver(make(settings), taken) == []
    assert len(taken.requests) == 4
    assert f"status {answer.status_code}" in caplog.text and "SECRET" not in caplog.text


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (SLACK, httpx.Response(400, content=b"invalid_payload")),
        (TELEGRAM, httpx.Response(400, json={"ok": False, "description": "Bad Request: message is too long"})),
        (TEAMS, httpx.Response(413)),
        (NTFY, httpx.Response(400, json={"code": 40024, "error": "invalid request: actions invalid"})),
    ],
)
def test_a_message_that_is_refused_is_a_dead_letter(make: Make, settings: str, answer: httpx.Response) -> None:
    """With what the service said; the others go on."""
    taken = Taken(answer)
    letters = deliver(make(settings), taken, [BEGINS, ENDED])
    assert [letter.record for letter in letters] == [BEGINS] and len(taken.requests) == 2
    assert letters[0].reason.startswith(f"status {answer.status_code}")


# --- webhooks of any kind -------------------------------------------------------------------------------------------------


def test_a_webhook_has_templates_for_body_and_headers(make: Make) -> None:
    """A table within a table; a text; values in headers are one line of ASCII."""
    taken = Taken()
    nested = 'payload = { blocks = [{ text = { is = "{room}!" }, at = "{begins}", n = 1 }], s = "{severity}" }\n'
    deliver(make(WEBHOOK + nested + 'headers = { Title = "{text} ☀" }\n'), taken)
    assert taken.last == {"blocks": [{"text": {"is": "north!"}, "at": "1970-01-01T00:00:10Z", "n": 1}], "s": "high"}
    headers = taken.requests[-1][1].headers
    assert headers["title"] == header_value("Room north is hot ☀") and headers["content-type"] == "application/json"
    deliver(make(WEBHOOK + 'payload = "{state}:\\n{room}"\n'), taken)
    assert taken.requests[-1][1].content == b"begins:\nnorth"
    assert taken.requests[-1][1].headers["content-type"] == "text/plain; charset=utf-8"
    deliver(make(WEBHOOK + 'payload = "<a>{room}</a>"\nheaders = { "Content-Type" = "text/xml" }\n'), taken)
    assert taken.requests[-1][1].headers["content-type"] == "text/xml"


def test_begins_alone_where_they_are_chosen(make: Make) -> None:
    """`states` says of which a sink is told."""
    taken = Taken()
    deliver(make(WEBHOOK + 'states = ["ended"]\n'), taken, [BEGINS, ENDED])
    assert len(taken.requests) == 1 and taken.last["ends"] == "1970-01-01T00:00:20Z"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (WEBHOOK + 'payload = { a = { b = "{roam}" } }', "`payload`: no answer has a `{roam}`; did you mean `room`"),
        (WEBHOOK + 'headers = { Title = "{txt}" }', "`headers.Title`: no answer has a `{txt}`; did you mean `text`"),
        (SLACK + 'text = "{link}"', "`text`: no answer has a `{link}`"),
        (SLACK + 'page = "plant.example"', "`page` is the address of the gateway's page"),
        (NTFY + 'title = "{tittle}"', "`title`: no answer has a `{tittle}`"),
        (ALERTS + "limits = { waiting = 5 }", "leave `limits.waiting` away"),
        (ALERTS + 'labels = { site = "{roam}" }', "`labels`: no answer has a `{roam}`; did you mean `room`"),
        (MAIL + 'subject = "{txt}"', "`subject`: no answer has a `{txt}`; did you mean `text`"),
        (MAIL + 'user = "plant"', "`user` and `password` belong together"),
        (MAIL + 'tls = "none"\nuser = "x"\npassword = { env = "TOKEN" }', "everybody on the way could read the password"),
        (NTFY + "priorities = { low = 7 }", "`priorities`: expected a number from 1 to 5"),
    ],
)
def test_a_template_that_is_wrong_is_told_with_its_key(make: Make, settings: str, message: str) -> None:
    """And the sink whose it is."""
    with pytest.raises(SpecError) as caught:
        make(settings + "\n")
    assert str(caught.value).startswith("sink `people`: ") and message in str(caught.value)

"""Webhooks: what is posted, how it is signed, and what happens where the receiver does not take it. Time is virtual."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import httpx
import msgspec
import pytest
import trio
from trio.testing import MockClock

import tidelog
from tidelog.connectors.http import Endpoint, WebhookSink
from tidelog.connectors.http.posting import Retries
from tidelog.connectors.http.webhook import sign
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected

PLAN = tidelog.compile("timeline integer. input p(x). q(X) :- p(X).")
ANSWERS: list[AnyAnswer] = [("q", (i,), i, i) for i in range(3)]
URL = "https://receiver.example/hook?key=hidden"
ENDPOINT = Endpoint(URL)
SPECIFIED = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""What a message of the specification's example is signed with, in base64."""
NO_BASE64 = "whsec_*"
Answer = Callable[[httpx.Request], httpx.Response]


class Receiver:
    """Answers in turn as it is told to, and keeps what it was sent."""

    def __init__(self, *statuses: int, headers: dict[str, str] | None = None) -> None:
        self.requests: list[tuple[float, httpx.Request]] = []
        self._statuses, self._headers = list(statuses), headers or {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((trio.current_time(), request))
        status = self._statuses.pop(0) if self._statuses else 204
        if status == 0:
            raise httpx.ConnectError("refused")
        return httpx.Response(status, headers=self._headers)


def deliver(
    receiver: Answer,
    endpoint: Endpoint = ENDPOINT,
    *,
    answers: Sequence[AnyAnswer] = ANSWERS,
    heading: Heading | None = None,
    letters: list[Rejected] | None = None,
    **options: Any,
) -> WebhookSink:
    """Send three answers, or others, in virtual time."""
    sink = WebhookSink(endpoint, PLAN.schema, transport=httpx.MockTransport(receiver), **options)

    async def take(found: Sequence[Rejected]) -> None:
        if letters is not None:
            letters.extend(found)

    async def main() -> None:
        sink.give_up_to(take)
        async with sink:
            if heading is not None:
                sink.number(heading)
            await sink.send(answers)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return sink


def test_each_answer_is_posted_in_order() -> None:
    """The body is the JSON that a run prints; the id is the answer's run and number, and the same in a later run."""
    receiver, later = Receiver(), Receiver()
    sink = deliver(receiver, heading=Heading("run1", 7, 0))
    deliver(later, heading=Heading("run1", 7, 0))
    assert [msgspec.json.decode(request.content)["args"] for _, request in receiver.requests] == [[0], [1], [2]]
    ids = [request.headers["webhook-id"] for _, request in receiver.requests]
    assert ids == ["run1-7", "run1-8", "run1-9"]
    assert ids == [request.headers["webhook-id"] for _, request in later.requests]
    assert (sink.sent, sink.given_up, sink.attempts) == (3, 0, 3)
    assert "hidden" not in sink.name


@pytest.mark.parametrize(("secret", "key"), [("plain secret", b"plain secret"), ("whsec_AAEC", b"\x00\x01\x02")])
def test_what_is_sent_is_signed(secret: str, key: bytes) -> None:
    """HMAC-SHA256 over id, time and body, as Standard Webhooks has it; without a secret there is no signature."""
    receiver, unsigned = Receiver(), Receiver()
    deliver(receiver, Endpoint(URL, secret=secret, headers={"x-plant": "7"}))
    deliver(unsigned)
    request = receiver.requests[0][1]
    headers = request.headers
    assert headers["webhook-signature"] == sign(key, headers["webhook-id"], headers["webhook-timestamp"], request.content)
    assert headers["x-plant"] == "7"
    assert "webhook-signature" not in unsigned.requests[0][1].headers


def test_the_signature_is_that_of_the_specification() -> None:
    """The example that the libraries of Standard Webhooks are tested with."""
    receiver = Receiver()
    deliver(receiver, Endpoint(URL, secret=f"whsec_{SPECIFIED}"))
    key = base64.b64decode(SPECIFIED)
    signature = sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    headers, content = receiver.requests[0][1].headers, receiver.requests[0][1].content
    assert headers["webhook-signature"] == sign(key, headers["webhook-id"], headers["webhook-timestamp"], content)


def test_what_is_not_taken_is_sent_again_with_growing_pauses() -> None:
    """Without a connection, after an error, or where it is too much: again, with the same id, until it is taken."""
    receiver = Receiver(0, 500, 503, 429, 408, 0)
    sink = deliver(receiver, Endpoint(URL, retries=Retries(first=1, longest=4)))
    moments = [moment for moment, _ in receiver.requests[:7]]
    pauses = [after - before for before, after in pairwise(moments)]
    assert len({request.headers["webhook-id"] for _, request in receiver.requests[:7]}) == 1
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, [1, 2, 4, 4, 4, 4], strict=True))
    assert (sink.sent, sink.attempts) == (3, 9)


def test_a_receiver_says_when_to_come_again() -> None:
    """Retry-After is followed, as far as `longest` goes."""
    receiver = Receiver(503, headers={"retry-after": "20"})
    deliver(receiver, Endpoint(URL, retries=Retries(first=0.1, longest=30)))
    assert receiver.requests[1][0] - receiver.requests[0][0] == pytest.approx(20)


@pytest.mark.parametrize("heading", [None, Heading("run1", 7, 0)])
def test_two_alarms_with_one_text_have_two_ids(heading: Heading | None) -> None:
    """A receiver that drops an id that it has must not drop a second alarm that reads as the first."""
    receiver = Receiver()
    deliver(receiver, answers=[ANSWERS[0], ANSWERS[0]], heading=heading)
    (_, one), (_, two) = receiver.requests
    assert one.content == two.content
    assert one.headers["webhook-id"] != two.headers["webhook-id"]


def test_what_is_refused_for_good_is_a_dead_letter_and_costs_no_other() -> None:
    """A receiver that refuses an answer for itself, or says that it is gone for good, loses that one; the next is sent."""
    letters: list[Rejected] = []
    sink = deliver(Receiver(400, 410), letters=letters)
    assert [(item.record, item.reason) for item in letters] == [(ANSWERS[0], "status 400"), (ANSWERS[1], "status 410")]
    assert (sink.sent, sink.given_up) == (1, 2)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 401, 402, 403, 404, 405, 407, 421])
def test_an_address_that_is_wrong_is_mended_by_somebody_and_costs_no_alarm(status: int) -> None:
    """Redirections, refused credentials and a path that is not there are owed: the same answer, until it is taken."""
    letters: list[Rejected] = []
    receiver = Receiver(status, status, status)
    sink = deliver(receiver, letters=letters)
    assert letters == []
    assert (sink.sent, sink.attempts, sink.is_connected) == (3, 6, True)
    assert len({request.headers["webhook-id"] for _, request in receiver.requests[:4]}) == 1


def test_attempts_can_be_bounded() -> None:
    """With `attempts`, an answer that is not taken so often is refused."""
    sink = deliver(Receiver(*[500] * 4), Endpoint(URL, retries=Retries(attempts=2)))
    assert (sink.sent, sink.given_up, sink.attempts) == (1, 2, 5)


def test_an_address_that_is_none_is_refused() -> None:
    """SpecError for what is not of HTTP, and for a secret that is no base64."""
    for url in ("ftp://a/b", "receiver.example", "https://", "https://[::1", "https://a:port/"):
        with pytest.raises(SpecError, match="is no address of a webhook"):
            Endpoint(url)
    with pytest.raises(SpecError, match=r"^the text is no address of a webhook"):
        Endpoint("http//me:hunter2@host")
    with pytest.raises(SpecError, match="base64 does not follow"):
        Endpoint(URL, secret=NO_BASE64)


@pytest.mark.parametrize("value", ["hunter2\r\nx: y", "hunter2 ", "hünter2", "hunter2\0"])
def test_a_header_that_cannot_be_sent_is_refused_and_not_shown(value: str) -> None:
    """It is told at once, and not tried for ever; what it holds may be secret."""
    with pytest.raises(SpecError, match="the header `Authorization` cannot be sent") as caught:
        Endpoint(URL, headers={"Authorization": value})
    assert "nter2" not in str(caught.value)
    Endpoint(URL, headers={"Authorization": "Bearer a b", "X-Empty": ""})
    with pytest.raises(SpecError, match="is no name of a header"):
        Endpoint(URL, headers={"a b": "c"})

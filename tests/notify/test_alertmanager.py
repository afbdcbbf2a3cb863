"""Alerts, with Alertmanager itself: when they fire, when they resolve, and what survives restarts of either side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from receivers import HttpReceiver, alertmanager, http

import tidelog
from tidelog.connectors.http.posting import Endpoint, Retries
from tidelog.connectors.mapping.about import About
from tidelog.connectors.notify.alertmanager import AlertmanagerSink, Repeating
from tidelog.connectors.notify.alerts import AlertWriter
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Rejected
from tidelog.testing.connectors import until

pytestmark = pytest.mark.anyio

PLAN = tidelog.compile(
    """timeline integer, unit 1 s.
input heat(n: integer, room: text).
alarm hot(n: integer, room: text), priority high, text "Room {room} is hot".
output severe(severity: text), gone.
hot(N, R) :- heat(N, R). severe(R) :- heat(_, R). gone :- heat(1, _).
""",
)
ALARMS = {alarm.name: alarm for alarm in PLAN.alarms}
PROMPT = Retries(first=0.001, longest=0.05)
SECOND = "1970-01-01T00:00:{:02}.000000Z"


@pytest.fixture
def anyio_backend() -> str:
    """A gateway runs on trio."""
    return "trio"


@pytest.fixture
def hook() -> Iterator[HttpReceiver]:
    """Who is told by Alertmanager."""
    with http() as server:
        yield server


def begins(n: int, at: int, room: str = "north") -> ChangeRecord:
    return ChangeRecord("hot", (n, room), at, POS)


def ended(n: int, at: int, to: int, room: str = "north") -> ChangeRecord:
    return ChangeRecord("hot", (n, room), at, to)


def writer(labels: dict[str, str] | None = None, outputs: Sequence[str] = ("hot", "severe", "gone")) -> AlertWriter:
    return AlertWriter(
        PLAN.schema,
        "plant",
        outputs=outputs,
        labels=labels or {},
        annotations={"summary": "{text}", "description": "{when}"},
        iso=True,
        about=About(ALARMS, page="https://plant.example/"),
    )


def sink(url: str, folder: Path | None = None, *, every: float = 60.0, run: str = "", **options: Any) -> AlertmanagerSink:
    made = AlertmanagerSink(
        "alerts",
        Endpoint(f"{url}/api/v2/alerts", retries=PROMPT),
        PLAN.schema,
        options.pop("writer", None) or writer(),
        repeating=Repeating(every, None if folder is None else str(folder)),
        **options,
    )
    made.going_on(run)
    return made


def told(hook: HttpReceiver) -> list[dict[str, Any]]:
    """The alerts that Alertmanager has told of."""
    return [alert for request in hook.requests for alert in request.json["alerts"]]


def statuses(hook: HttpReceiver) -> list[tuple[str, str]]:
    return [(alert["labels"]["n"], alert["status"]) for alert in told(hook)]


async def test_an_alert_has_its_times_its_labels_and_its_words(tmp_path: Path, hook: HttpReceiver) -> None:
    """It fires from its begin on, and resolves with the end that it really had."""
    with alertmanager(tmp_path / "am", hook.url) as running:
        async with sink(running.url) as alerts:
            await alerts.send([begins(7, 10)])
            await until(lambda: statuses(hook) == [("7", "firing")])
            fired = running.alerts()["7"]
            await alerts.send([ended(7, 10, 25)])
            await until(lambda: statuses(hook)[-1] == ("7", "resolved"))
            assert running.alerts() == {} and alerts.holding == 0
    assert fired["labels"] == {"alertname": "hot", "gateway": "plant", "severity": "high", "n": "7", "room": "north"}
    assert fired["annotations"] == {"summary": "Room north is hot", "description": "since 1970-01-01T00:00:10Z"}
    assert fired["startsAt"] == SECOND.format(10).replace("000000", "000")
    assert fired["generatorURL"] == "https://plant.example/#q=Room%20north%20is%20hot"
    last = told(hook)[-1]
    assert (last["startsAt"], last["endsAt"]) == ("1970-01-01T00:00:10Z", "1970-01-01T00:00:25Z")


async def test_what_holds_is_told_again_to_one_that_has_forgotten(tmp_path: Path) -> None:
    """Alertmanager keeps no alerts over a restart: after the next repeat it knows what holds, and nothing else."""
    with alertmanager(tmp_path / "am") as running:
        async with sink(running.url, every=0.05) as alerts:
            await alerts.send([begins(1, 10), begins(2, 10), ended(1, 10, 20)])
            await until(lambda: set(running.alerts()) == {"2"})
            running.kill()
            running.start()
            await until(lambda: set(running.alerts()) == {"2"})
            await alerts.send([ended(2, 10, 30)])
            assert running.alerts() == {}


async def test_the_next_run_repeats_what_holds_and_tells_its_end(tmp_path: Path) -> None:
    """Of the same run; what another one told, and what is labelled otherwise now, is resolved."""
    folder = tmp_path / "holding"
    with alertmanager(tmp_path / "am") as running:
        async with sink(running.url, folder, run="a") as alerts:
            await alerts.send([begins(1, 10), begins(2, 10), begins(3, 10), ended(3, 10, 20)])
        running.kill()
        running.start()
        async with sink(running.url, folder, run="a") as alerts:
            await until(lambda: set(running.alerts()) == {"1", "2"})
            await alerts.send([ended(1, 10, 30)])
            await until(lambda: set(running.alerts()) == {"2"})
        labelled = writer({"n": "x{n}"})
        async with sink(running.url, folder, run="a", writer=labelled) as alerts:
            await until(lambda: set(running.alerts()) == {"x2"})
        async with sink(running.url, folder, run="a", writer=writer(outputs=["severe"])) as alerts:
            await until(lambda: running.alerts() == {})
            assert alerts.holding == 0
        async with sink(running.url, folder, run="a") as alerts:
            await alerts.send([begins(4, 10)])
        async with sink(running.url, folder, run="b") as alerts:
            await until(lambda: running.alerts() == {})


async def test_a_list_that_is_refused_costs_the_alerts_that_are_wrong(tmp_path: Path) -> None:
    """Alertmanager refuses the list of an alert that ends before it begins; the others are not held up, nor repeated."""
    letters: list[Rejected] = []

    async def take(found: Sequence[Rejected]) -> None:
        letters.extend(found)

    wrong = [ended(n, 50, 20) for n in (103, 108)]
    answers = [begins(n, 10) for n in range(100, 110) if n not in (103, 108)]
    with alertmanager(tmp_path / "am") as running:
        async with sink(running.url) as alerts:
            alerts.give_up_to(take)
            await alerts.send([*answers[:3], wrong[0], *answers[3:7], wrong[1], *answers[7:]])
            assert len(running.alerts()) == len(answers) == alerts.holding
    assert [letter.record for letter in letters] == wrong
    assert all("start time must be before end time" in letter.reason for letter in letters)


async def test_an_alert_of_the_future_fires(tmp_path: Path) -> None:
    """A begin that lies ahead of the machine's clock had an end before it, which Alertmanager refuses."""
    with alertmanager(tmp_path / "am") as running:
        async with sink(running.url) as alerts:
            await alerts.send([begins(1, 32_503_680_000), begins(2, NEG)])
            assert {n: one["startsAt"][:4] for n, one in running.alerts().items()} == {"1": "3000", "2": "1970"}


class Posts:
    """What was posted, as Alertmanager would have it."""

    def __init__(self, refuse: Callable[[Any], bool] = lambda alert: False) -> None:
        self.lists: list[list[dict[str, Any]]] = []
        self._refuse = refuse

    def __call__(self, request: httpx.Request) -> httpx.Response:
        found = json.loads(request.content)
        self.lists.append(found)
        return httpx.Response(400 if any(map(self._refuse, found)) else 200)


async def test_what_was_taken_back_is_resolved() -> None:
    """A begin that is taken back never was; an end that is taken back lets it hold on."""
    posts = Posts()
    async with sink("http://am.example", transport=httpx.MockTransport(posts)) as alerts:
        await alerts.send([begins(1, 10), RetractedChange("hot", (1, "north"), 10, POS)])
        assert alerts.holding == 0 and posts.lists[-1][-1]["endsAt"] == SECOND.format(10)
        await alerts.send([begins(2, 10), ended(2, 10, 20), RetractedChange("hot", (2, "north"), 10, 20)])
        assert alerts.holding == 1 and posts.lists[-1][-1]["endsAt"] > "2000"


@pytest.mark.parametrize(("status", "bad"), [(200, "\ud800"), (413, "x" * 10_000), (422, "poison")])
async def test_one_alert_that_cannot_be_sent_is_a_dead_letter(status: int, bad: str) -> None:
    """Not encodable, too long, or refused: the others of its list are posted."""
    letters: list[Rejected] = []

    async def take(found: Sequence[Rejected]) -> None:
        letters.extend(found)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status if bad.encode(errors="replace") in request.content else 200)

    async with sink("http://am.example", transport=httpx.MockTransport(answer)) as alerts:
        alerts.give_up_to(take)
        await alerts.send([begins(1, 10), begins(2, 10, bad), begins(3, 10)])
        assert alerts.holding == 2
    assert [letter.record for letter in letters] == [begins(2, 10, bad)]


async def test_one_that_is_refused_only_when_repeated_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning, and the others are repeated without it."""
    bad: list[str] = []
    posts = Posts(lambda alert: alert["labels"]["n"] in bad)
    async with sink("http://am.example", every=0.01, transport=httpx.MockTransport(posts)) as alerts:
        await alerts.send([begins(n, 10) for n in range(5)])
        bad.append("3")
        await until(lambda: alerts.holding == 4)
        before = len(posts.lists)
        await until(lambda: len(posts.lists) > before + 3)
        assert [alert["labels"]["n"] for alert in posts.lists[-1]] == ["0", "1", "2", "4"]
    assert "an alert that was taken before is refused now: status 400" in caplog.text


async def test_labels_are_those_of_prometheus() -> None:
    """An argument whose name is taken has another; what has no arguments, and no text, is an alert as well."""
    named = {"alertname": "severe", "gateway": "plant", "arg_severity": "much"}
    assert writer().labels(("severe", ("much",), 1, 1)) == named
    assert writer({"site": "{room}"}).labels(("gone", (), 1, 1)) == {"alertname": "gone", "gateway": "plant"}
    with pytest.raises(SpecError, match="`labels`: `a-b` is no name of a label"):
        writer({"a-b": "x"})
    with pytest.raises(SpecError, match=r"`labels`: no answer has a `.roam.`; did you mean `room`"):
        writer({"site": "{roam}"})


@pytest.mark.parametrize("status", [302, 401, 404, 429, 503])
async def test_while_it_takes_nothing_alerts_wait(status: int) -> None:
    """An address that is wrong for a while, and a server that is busy, cost no alert."""
    left = [3]

    def answer(request: httpx.Request) -> httpx.Response:
        left[0] -= 1
        return httpx.Response(status if left[0] >= 0 else 200)

    async with sink("http://am.example", transport=httpx.MockTransport(answer)) as alerts:
        with anyio.fail_after(60):
            await alerts.send([begins(1, 10)])
        assert alerts.is_connected and alerts.holding == 1

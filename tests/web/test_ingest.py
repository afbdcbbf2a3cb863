"""`POST /ingest`: three formats, counts, what is told of bad lines, limits, and back-pressure."""

from __future__ import annotations

from functools import partial

import anyio
import httpx
import pytest

from tidelog.connectors.http import HttpSettings
from tidelog.connectors.http.watching.ingest import Ingest, Posted, Ticket
from tidelog.connectors.sources.memory import PushSource
from web.serving import fact, serving, until

pytestmark = pytest.mark.anyio


async def test_lines_an_array_and_csv_are_the_same_facts() -> None:
    """What is posted as JSON lines, as a JSON array or as CSV is counted, and derives what the rules say."""
    async with serving() as run:
        lines = await run.post(fact("a", 90, 1) + fact("a", 20, 2))
        array = await run.post(f"[{fact('b', 90, 3)}, {fact('b', 95, 4)}]", kind="application/json")
        table = await run.post("machine,celsius,time\nc,99,5\nc,1,6\n", kind="text/csv", predicate="temp")
        assert [answer.status_code for answer in (lines, array, table)] == [202] * 3
        assert lines.json() == array.json() == table.json() == {"accepted": 2, "rejected": 0, "reached": "taken"}
        await until(lambda: len(run.sink.answers) >= 4)
    assert run.sink.answers == [("hot", ("a",), 1, 1), ("hot", ("b",), 3, 3), ("hot", ("b",), 4, 4), ("hot", ("c",), 5, 5)]


async def test_a_bad_line_is_told_with_its_number_and_costs_no_other() -> None:
    """Of a body with a wrong line the others count; the answer is 400 with the line, the reason and what it said."""
    async with serving() as run:
        answer = await run.post(fact("a", 90, 1) + '{"temp":{"machine":"a"},"time":2}\n\nnonsense\n' + fact("a", 91, 3))
        told = answer.json()
        assert (answer.status_code, told["accepted"], told["rejected"]) == (400, 2, 2)
        assert [(error["line"], error["raw"]) for error in told["errors"]] == [
            (2, '{"temp":{"machine":"a"},"time":2}'),
            (4, "nonsense"),
        ]
        assert told["errors"][0]["reason"] == "`temp` lacks its field `celsius`"
        assert run.engine.statistics().intake.accepted == 2
        assert run.engine.rejected == 2


async def test_an_element_of_an_array_is_told_by_its_number() -> None:
    """A wrong element is the third, wherever its lines stand."""
    async with serving() as run:
        answer = await run.post(f'[{fact("a", 9, 1)},\n\n{fact("a", 9, 2)}, {{"temp":\n3}}]', kind="application/json")
        assert answer.status_code == 400
        assert [error["line"] for error in answer.json()["errors"]] == [3]


async def test_late_facts_are_told_to_who_waits() -> None:
    """A fact behind the watermark is refused: who waits hears it, with the reason; that is no mistake of the request's."""
    async with serving() as run:
        await run.post(fact("a", 90, 100))
        answer = await run.post(fact("a", 90, 50) + fact("a", 90, 101))
        told = answer.json()
        assert (answer.status_code, told["accepted"], told["rejected"]) == (202, 1, 1)
        assert told["errors"][0]["reason"].startswith("late: ")


@pytest.mark.parametrize(
    ("body", "kind", "query", "status", "reason"),
    [
        ("machine,celsius,time\na,1,1\n", "text/csv", {}, 400, "append `?predicate=NAME`"),
        ("machine,heat,time\na,1,1\n", "text/csv", {"predicate": "temp"}, 400, '"accepted":0,"rejected":2'),
        ("[1,", "application/json", {}, 400, "not a JSON array"),
        ("[" * 100_000, "application/json", {}, 400, "nested too deeply"),
        ("<temp/>", "application/xml", {}, 415, "expected application/json"),
        ("{}", "application/json", {"wait": "forever"}, 400, "`wait` is `taken` or `commit`"),
        ("{}", "application/json", {"wait": "commit"}, 400, "stores nothing"),
        ("{}", "application/json", {"program": "other"}, 404, "no such program"),
    ],
)
async def test_what_cannot_be_understood_is_said(
    body: str, kind: str, query: dict[str, str], status: int, reason: str
) -> None:
    """Each mistake of a request has its status and a reason that names it."""
    async with serving() as run:
        answer = await run.post(body, kind=kind, **query)
        assert answer.status_code == status
        assert reason in answer.text
        assert run.engine.statistics().intake.accepted == 0


async def test_a_body_beyond_the_bound_is_refused_as_soon_as_that_is_known() -> None:
    """413, whether the length is told beforehand or not; nothing of it is taken."""
    async with serving(settings=partial(HttpSettings, max_body=1000)) as run:
        told = await run.post(fact("a", 90, 1) * 100)
        assert told.status_code == 413
        assert "413" in await run.post_slowly(fact("a", 90, 1).encode(), 100, 0.001)
        assert (await run.post(fact("a", 90, 1))).status_code == 202
        assert run.engine.statistics().intake.accepted == 1


async def test_a_body_that_does_not_come_is_given_up() -> None:
    """408 once a body has taken too long, however steadily its bytes drip."""
    async with serving(settings=partial(HttpSettings, body_seconds=0.2)) as run:
        assert "408" in await run.post_slowly(b" ", 100_000, 0.01)


async def test_who_posts_more_than_is_taken_is_told_to_come_again() -> None:
    """429 with Retry-After while the engine does not take what waits; nothing of that request is taken."""
    async with serving(settings=partial(HttpSettings, waiting_seconds=0.01)) as run:
        run.watch.ingest._capacity = 0
        answer = await run.post(fact("a", 90, 1))
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        run.watch.ingest._capacity = 1
        assert (await run.post(fact("a", 90, 1))).status_code == 202
        assert run.engine.statistics().intake.accepted == 1


async def test_only_so_many_bodies_are_read_at_once() -> None:
    """While `max_posts` bodies are on their way, a further one is told to come again."""
    async with serving(settings=partial(HttpSettings, max_posts=1)) as run, anyio.create_task_group() as tasks:
        tasks.start_soon(run.post_slowly, b" ", 100_000, 0.01)
        await until(lambda: run.server.metrics.posts == 1)
        assert (await run.post(fact("a", 90, 1))).status_code == 429
        tasks.cancel_scope.cancel()


async def test_a_post_that_asks_for_it_is_answered_after_the_commit() -> None:
    """With an engine that stores, `wait=commit` is answered once what was taken is stored, and not before."""
    async with serving(is_durable=True) as run, anyio.create_task_group() as tasks:
        answers: list[str] = []

        async def post() -> None:
            answers.append((await run.post(fact("a", 90, 1), wait="commit")).json()["reached"])

        tasks.start_soon(post)
        await until(lambda: run.engine.statistics().intake.accepted == 1)
        assert answers == []
        run.watch.committing(0)
        run.watch.committed(0.01)
        await until(lambda: answers == ["commit"])


async def test_what_is_posted_while_a_commit_is_written_waits_for_the_next() -> None:
    """That commit does not have it: were the process killed behind it, the facts would be lost."""
    async with serving(is_durable=True) as run, anyio.create_task_group() as tasks:
        answers: list[str] = []

        async def post() -> None:
            answers.append((await run.post(fact("a", 90, 1), wait="commit")).json()["reached"])

        run.watch.committing(0)
        tasks.start_soon(post)
        await until(lambda: len(run.watch._tickets) == 1)
        run.watch.committed(0.01)
        assert len(run.watch._tickets) == 1
        assert not run.watch._tickets[0].stored.is_set()
        run.watch.committing(0)
        run.watch.committed(0.01)
        await until(lambda: answers == ["commit"])


async def test_what_an_engine_had_not_stored_when_it_failed_has_no_receipt() -> None:
    """Also where another engine goes on in its place, and stores something: that is not what was posted before."""
    async with serving(is_durable=True) as run, anyio.create_task_group() as tasks:
        answers: list[httpx.Response] = []

        async def post() -> None:
            answers.append(await run.post(fact("a", 90, 1), wait="commit"))

        tasks.start_soon(post)
        await until(lambda: len(run.watch._tickets) == 1)
        tasks.start_soon(post)
        await until(lambda: len(run.watch._tickets) == 2)
        run.watch.committing(0)  # which fails
        run.watch.failed()
        run.watch.committing(0)
        run.watch.committed(0.01)
        await until(lambda: len(answers) == 2)
        assert [answer.status_code for answer in answers] == [503, 503]
        assert "send it again" in answers[0].json()["error"]


async def test_what_was_lost_is_not_taken_later() -> None:
    """A request that was told so comes again: what waited of it is left out."""
    ingest = Ingest()
    lost, other = (Posted([], ticket=Ticket(), count=1) for _ in range(2))
    async with ingest:
        assert await ingest.offer(lost, 0.0)
        assert await ingest.offer(other, 0.0)
        assert lost.ticket is not None
        lost.ticket.lose()
        assert await ingest.next() is other


async def test_nothing_is_taken_where_no_engine_runs() -> None:
    """Where the engine has left, a request is told so, and what waits is not lost unseen: nothing waits."""
    ingest = Ingest(capacity=1)
    assert not await ingest.offer(Posted(), 0.01)
    async with ingest:
        assert await ingest.offer(Posted(), 0.01)
        assert not await ingest.offer(Posted(), 0.01)
    assert not await ingest.offer(Posted(), 0.01)


async def test_what_is_posted_holds_back_nobody_before_it_is() -> None:
    """Another source's facts are decided while nothing has been posted."""
    other = PushSource()
    async with serving(sources=[other], emit="final") as run:
        await other.send([run.watch.plan.record("temp", ["a", 90], 1), run.watch.plan.record("temp", ["a", 20], 9)])
        await until(lambda: run.sink.answers == [("hot", ("a",), 1, 1)])

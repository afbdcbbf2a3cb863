"""News of alarms over HTTP: what has changed is told by a tag, and the reason of an alarm has the values behind it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import tidelog
from children import WAIT
from tidelog.connectors.http.watching.reasons import MOST_POINTS, values
from tidelog.plans.tree.declared.alarms import ACTIONS
from waiting import eventually
from web.desk.desks import HOUR, DeskPlant, desk
from web.plant import NOW


@pytest.fixture(scope="module")
def running() -> Iterator[DeskPlant]:
    """A desk for all tests of this file, in their order."""
    with desk() as found:
        yield found


@pytest.fixture
def client(running: DeskPlant) -> Iterator[httpx.Client]:
    """Asks it."""
    with httpx.Client(base_url=running.url, timeout=WAIT, trust_env=False) as found:
        yield found


def alarms(client: httpx.Client) -> dict[str, Any]:
    """The open alarms by their text."""
    return {each["text"]: each for each in client.get("/alarms").json()["alarms"]}


def test_what_has_not_changed_is_not_sent_again(running: DeskPlant, client: httpx.Client) -> None:
    """304 for who has the tag; an action, a new alarm, and the end of a shelf are news, each with another tag."""
    tags = []

    def fresh() -> str:
        answer = client.get("/alarms", headers={"if-none-match": tags[-1]} if tags else {})
        return answer.headers["etag"] if answer.status_code == 200 else ""

    tags.append(fresh())
    assert client.get("/alarms", headers={"if-none-match": tags[0]}).status_code == 304
    assert client.get("/alarms", headers={"if-none-match": tags[0]}).content == b""
    assert client.get("/api/state").json()["alarms"] == tags[0].strip('"')
    north = alarms(client)["Room north is too warm"]["id"]
    told = client.post(f"/alarms/{north}/shelve", json={"who": "anna", "for": "5 min"})
    assert told.json()["alarm"]["state"] == "shelved"
    tags.append(fresh())
    running.send(("temp", ("cellar", -1), 30, HOUR))
    running.go_on(31)
    eventually(lambda: "Room cellar is drafty" in alarms(client))
    tags.append(fresh())
    running.go_on(400)
    eventually(lambda: alarms(client)["Room north is too warm"]["state"] == "unacknowledged")
    tags.append(fresh())
    assert len(set(tags)) == 4
    assert "" not in tags


def test_what_may_be_done_with_an_alarm_is_told(client: httpx.Client) -> None:
    """By alarm: its arguments, and how many seconds it may be shelved."""
    declared = client.get("/alarms").json()["declared"]
    assert {name: (each["fields"], each["longest"], each["latched"]) for name, each in declared.items()} == {
        "too_warm": (["room"], 28800.0, True),
        "pump_stands": (["pump"], 1800.0, False),
        "drafty": (["room"], None, False),
    }


def test_the_head_alone_is_told_to_who_asks_for_it(client: httpx.Client) -> None:
    """It is part of the whole state, and says nothing that grows with the plant."""
    whole, brief = client.get("/api/state").json(), client.get("/api/state", params={"brief": ""}).json()
    assert brief.keys() < whole.keys()
    assert not {"lanes", "steps", "sources", "holding"} & brief.keys()


def test_an_alarm_is_explained_by_its_id(client: httpx.Client) -> None:
    """The text, the numbers with their times, and when the alarm began; 404 where no such alarm is open."""
    north = alarms(client)["Room north is too warm"]["id"]
    told = client.get("/api/why", params={"alarm": north}).json()
    assert "by too_warm(R) :- boxminus[0,4] high(R)." in told["text"]
    points = [[float(NOW - 8 + step)] * 2 + [8 + 0.5 * step] for step in range(5)]
    assert told["values"] == {
        "begin": float(NOW - 4),
        "series": [{"name": "temp(north), celsius", "points": points}],
        "left_out": 0,
    }
    assert client.get("/api/why", params={"alarm": "none"}).status_code == 404


@pytest.mark.parametrize("seed", range(8))
def test_an_answer_has_what_was_done_however_the_list_was_made(running: DeskPlant, client: httpx.Client, seed: int) -> None:
    """What an action answers, and what the list says then, are the same where the list is kept and where it is made anew."""
    draw, now = random.Random(seed), [*alarms(client).values()]
    board = running.watch.desk.engine._session._outlet.board
    assert board is not None
    for _ in range(25):
        action, alarm = draw.choice(ACTIONS), draw.choice(now)
        body = {"who": draw.choice("ab"), "comment": "said", **({"for": "5 min"} if action == "shelve" else {})}
        told = client.post(f"/alarms/{alarm['id']}/{action}", json=body)
        if told.status_code == 400:  # it cannot be shelved
            continue
        kept = alarms(client)
        board.forget()
        assert kept == alarms(client)
        assert told.json()["alarm"] == kept.get(alarm["text"]), action
        if draw.random() < 0.5:
            board.forget()


def test_of_many_values_the_latest_are_told() -> None:
    """Each number of a fact is a series of its own; facts without numbers are none."""
    plan = tidelog.compile("timeline integer. input p(a: text, x, y: integer). q(A) :- p(A, X, Y). output q.")
    facts = [("p", ("a", time, 7), time, time) for time in range(MOST_POINTS + 5)] + [("r", ("b",), 1, 1)]
    told = values(facts, plan.schema, 3)
    assert told["left_out"] == 5
    assert [(each["name"], len(each["points"]), each["points"][0]) for each in told["series"]] == [
        ("p(a), x", MOST_POINTS, [5.0, 5.0, 5.0]),
        ("p(a), y", MOST_POINTS, [5.0, 5.0, 7.0]),
    ]


def test_all_that_the_page_loads_is_served(client: httpx.Client) -> None:
    """Each module that another one imports; nothing but styles and modules."""
    waiting, seen = ["page.js", "texts.js"], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        waiting += [line.split('"./')[1].split('"')[0] for line in answer.text.splitlines() if 'from "./' in line]
    assert seen >= {"desk.js", "acting.js", "texts.js", "rows.js"}
    for name in ("index.html", "favicon.svg", "nothing.js"):
        assert client.get(f"/static/{name}").status_code == 404

"""What holds now, over HTTP and on the page: all of it, page by page, also right after a restart."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from playwright.sync_api import Browser, expect

from children import WAIT, child
from waiting import eventually
from web.serving import serving
from web.test_page import open_page

PROGRAM = """timeline integer.
input start(machine: text).
input stop(machine: text).
output on(machine).
on(M) :- not stop(M) since start(M).
"""
COUNT = 1203
"""Machines that are on: more than the history has lanes."""


def facts(count: int) -> str:
    """All machines start, one after the other; the first two stop, in the end."""
    lines = [f'{{"start":{{"machine":"m{n:04}"}},"time":{n}}}\n' for n in range(count)]
    stops = [f'{{"stop":{{"machine":"m{n:04}"}},"time":{count + 1}}}\n' for n in range(2)]
    return "".join([*lines, *stops, f'{{"stop":{{"machine":"none"}},"time":{count + 9}}}\n'])


@contextmanager
def run_in(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A run with a state, and the address of its page, once the state is restored."""
    (folder / "plant.tide").write_text(PROGRAM)
    command = [sys.executable, "-m", "tidelog", "run", str(folder / "plant.tide"), "--http", "127.0.0.1:0"]
    command += ["--state", str(folder / "state"), "--emit", "changes", "--out", str(folder / "alarms.jsonl")]
    with child(command, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        said = run.stderr.readline()
        while "note: http://" not in said:
            assert said
            said = run.stderr.readline()
        url = said.partition("note: ")[2].strip()
        with httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
            eventually(lambda: client.get("/ready").status_code == 200, process=run)
        yield url, run


@pytest.mark.long
@pytest.mark.slow
def test_all_that_holds_is_told_in_pages_after_a_restart(tmp_path: Path) -> None:
    """1201 machines are on; killed and started again, the first state that is asked for says so, to the last page."""
    with run_in(tmp_path) as (url, run), httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
        told = client.post("/ingest", params={"wait": "commit"}, content=facts(COUNT))
        assert told.status_code == 202, told.text
        before = client.get("/api/state").json()["holding"]
        run.kill()
    assert before["count"] == COUNT - 2
    with run_in(tmp_path) as (url, run), httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
        assert client.get("/api/state").json()["holding"] == before
        seen: list[str] = []
        for first in range(0, COUNT, 100):
            holding = client.get("/api/state", params={"first": first}).json()["holding"]
            assert (holding["first"], holding["count"]) == (first, COUNT - 2)
            seen += [row["row"][0] for row in holding["rows"]]
        assert seen == [f"m{n:04}" for n in reversed(range(2, COUNT))]
        beyond = client.get("/api/state", params={"first": 10**6}).json()["holding"]
        assert (beyond["first"], [row["text"] for row in beyond["rows"]]) == (1200, ["on(m0002)"])
        assert beyond["rows"][0]["fields"] == ["machine"]
        run.send_signal(signal.SIGTERM)


@pytest.mark.long
def test_the_page_turns_pages(browser: Browser, tmp_path: Path) -> None:
    """The count is that of all that holds, also in the title; buttons lead to the oldest alarm, after a restart, too."""
    with run_in(tmp_path) as (url, run):
        with httpx.Client(base_url=url, timeout=WAIT, trust_env=False) as client:
            assert client.post("/ingest", params={"wait": "commit"}, content=facts(COUNT)).status_code == 202
        page = open_page(browser, url)
        expect(page.locator("#now .count")).to_have_text("1,201")
        expect(page.locator("#history .count")).to_contain_text("older ones dropped")
        assert page.title() == "(1201) plant"
        run.kill()
    with run_in(tmp_path) as (url, run):
        page = open_page(browser, url, shows="#now li")
        expect(page.locator("#now .count")).to_have_text("1,201")
        expect(page.locator("#now .range")).to_have_text("1–100")
        assert page.locator("#earlier").is_disabled()
        for _ in range(12):
            before = page.locator("#now .range").inner_text()
            page.locator("#later").click()
            expect(page.locator("#now .range")).not_to_have_text(before)
        expect(page.locator("#now li")).to_have_count(1)
        expect(page.locator("#now li")).to_contain_text("machine m0002")  # with the name that the output gives it
        assert page.locator("#later").is_disabled()
        page.locator("#earlier").click()
        expect(page.locator("#now .range")).to_have_text("1,101–1,200")
        assert page.complaints == []  # type: ignore[attr-defined]
        run.send_signal(signal.SIGTERM)


@pytest.mark.anyio
async def test_what_has_ended_is_not_among_it() -> None:
    """One page is one page: no more is told, and none is empty."""
    async with serving(PROGRAM, emit="changes") as run:
        empty = (await run.client.get("/api/state")).json()["holding"]
        assert empty == {"count": 0, "first": 0, "size": 100, "rows": []}
        await run.post(facts(100))
        with anyio.fail_after(WAIT):
            holding = (await run.client.get("/api/state", params={"first": "100"})).json()["holding"]
        assert (holding["count"], holding["first"], len(holding["rows"])) == (98, 0, 98)
        assert holding["rows"][0]["bar"][1] is None


@pytest.mark.long
@pytest.mark.anyio
async def test_what_has_ended_by_the_clock_does_not_hold() -> None:
    """Where a clock tells the time, what ends though nothing new comes goes, and so does what the last fact has ended."""
    text = (
        "timeline integer, unit 1 ms, round down. input on(x: text). input off(x: text). output burst, alarm.\n"
        "burst(X) :- diamondminus[0,400] on(X).\n"
        "alarm(X) :- not off(X) since on(X).\n"
    )
    async with serving(text, emit="changes", clock=500) as run:

        async def count() -> int:
            found = (await run.client.get("/api/state")).json()["holding"]["count"]
            assert isinstance(found, int)
            return found

        async def tell(name: str, machine: str) -> None:
            moment = int(time.time() * 1000)
            response = await run.post(f'{{"{name}":{{"x":"{machine}"}},"time":{moment}}}\n')
            assert response.status_code == 202, response.text

        async def wait_for(expected: int) -> None:
            with anyio.fail_after(WAIT):
                while await count() != expected:  # noqa: ASYNC110 - it is asked over HTTP
                    await anyio.sleep(0.01)

        await tell("on", "m")
        await tell("on", "n")
        await wait_for(2)
        await tell("off", "m")
        await wait_for(1)

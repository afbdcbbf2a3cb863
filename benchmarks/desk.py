"""The page with many open alarms in Chromium: what its scripts take of a second. Needs Chromium (`.ci/chromium`).

    python -m benchmarks.desk [--count 1000] [--seconds 10]

A server runs in this process; alarms begin before the page is there. Then the page is left alone (idle), sees alarms come
and go (live: ten a second), and is scrolled. What scripts take is what the profiler of V8 finds in them, and the collection
of garbage beside it; styles, layouts, and all tasks together are counted by the browser (`Performance.getMetrics`).
"""

from __future__ import annotations

import argparse
import shutil
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import trio
from playwright.sync_api import CDPSession, Page, sync_playwright

import tidelog
from tidelog.connectors.http import HttpServer, HttpSettings, Watch
from tidelog.connectors.sources.memory import PushSource
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.plans.data.facts import Record

PROGRAM = """
timeline integer, unit 1 s.
input warm(room: text).
hot(R) :- warm(R).
alarm hot(room: text), priority high, text "Room {room} is hot", acknowledge, shelve at most 8 h.
"""
LONG = 100_000
COUNTED = {"RecalcStyleDuration": "style", "LayoutDuration": "layout", "TaskDuration": "all tasks"}


class Served:
    """A desk, served on a thread of its own."""

    def __init__(self) -> None:
        self.url = ""
        self._is_there = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._run,), daemon=True)
        self._thread.start()
        self._is_there.wait(60)

    async def _run(self) -> None:
        plan = tidelog.compile(PROGRAM, name="plant", desk=True)
        watch, self._source = Watch(plan), PushSource(capacity=100)
        engine = tidelog.Engine(plan, [self._source, watch.desk.actions], [], emit="changes", observer=watch, remember=1000)
        watch.attach(engine)
        async with (
            HttpServer([watch], HttpSettings(TcpAddress("127.0.0.1", 0))) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(engine.run)
            self._token = trio.lowlevel.current_trio_token()
            self.url, watch.is_ready = server.url, True
            self._is_there.set()

    def send(self, *facts: Record) -> None:
        """Facts of the plant."""
        trio.from_thread.run(self._source.send, list(facts), trio_token=self._token)


def measure(session: CDPSession, page: Page, seconds: float, meanwhile: Callable[[int], None]) -> dict[str, float]:
    """Milliseconds a second of each that is counted, while something is done ten times a second."""
    before = _metrics(session)
    session.send("Profiler.start")
    begun = time.monotonic()
    step = 0
    while (passed := time.monotonic() - begun) < seconds:
        meanwhile(step)
        step += 1
        page.wait_for_timeout(max(1, 100 * step - 1000 * passed))
    after, taken = _metrics(session), time.monotonic() - begun
    profile = session.send("Profiler.stop")["profile"]
    counted = {name: 1000 * (after[key] - before[key]) / taken for key, name in COUNTED.items()}
    return {**{name: value / taken for name, value in _scripts(profile).items()}, **counted}


def acknowledge_all(page: Page) -> float:
    """How many seconds it takes to acknowledge all alarms: an action each."""
    page.evaluate("localStorage.setItem('tidelog.who', 'anna')")
    page.locator("#all").check()
    begun = time.monotonic()
    page.locator("#chosen [data-action=acknowledge]").click()
    page.wait_for_selector("#said:not(:empty)", timeout=600_000)
    return time.monotonic() - begun


def _scripts(profile: dict[str, Any]) -> dict[str, float]:
    """Milliseconds in functions, and in the collection of garbage; what is left is no script."""
    names = {node["id"]: node["callFrame"]["functionName"] for node in profile["nodes"]}
    found = {"script": 0.0, "garbage": 0.0}
    for node, micros in zip(profile["samples"], profile["timeDeltas"], strict=True):
        if names[node] == "(garbage collector)":
            found["garbage"] += micros / 1000
        elif names[node] not in ("(idle)", "(program)", "(root)"):
            found["script"] += micros / 1000
    return found


def _metrics(session: CDPSession) -> dict[str, float]:
    return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}


def main() -> None:
    """Print the figures of each phase."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desk", description="Measure the page with many open alarms.")
    parser.add_argument("--count", type=int, default=1000, help="how many alarms are open")
    parser.add_argument("--seconds", type=float, default=10, help="how long each phase lasts")
    options = parser.parse_args()
    served, now = Served(), int(time.time())
    served.send(*[("warm", (f"room-{n:05}",), now, now + LONG) for n in range(options.count)])
    served.send(("warm", ("last",), now + 1, now + LONG))

    def live(step: int) -> None:
        served.send(("warm", (f"new-{step}",), now + 2 + step, now + 4 + step))

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        session.send("Profiler.enable")
        begun = time.monotonic()
        page.goto(served.url)
        page.wait_for_selector("#rows .alarm")
        print(f"{options.count} open alarms, on the page after {1000 * (time.monotonic() - begun):.0f} ms")
        page.wait_for_timeout(3000)
        phases: dict[str, Callable[[int], None]] = {
            "idle": lambda _: None,
            "live": live,
            "scrolled": lambda step: page.mouse.wheel(0, 600 if step % 80 < 40 else -600),
        }
        for phase, meanwhile in phases.items():
            found = measure(session, page, options.seconds, meanwhile)
            print(f"{phase:9}", *[f"{name} {value:6.1f} ms/s" for name, value in found.items()], sep="  ")
        print(f"elements in the list: {page.locator('#rows *').count()}")
        print(f"all were acknowledged after {acknowledge_all(page):.1f} s")
        browser.close()


if __name__ == "__main__":
    main()

"""A desk for tests: a plant with alarms, whose time goes on when a test says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page

import tidelog
from tidelog.connectors.http import Watch
from tidelog.connectors.http.settings import UserSettings
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import Batch
from web.plant import NOW, Plant, served

PROGRAM = """
timeline integer, unit 1 s.
input tick().
input temp(room: text, celsius: number).
input stands(pump: text).
input maintenance(room: text).
high(R) :- temp(R, C), C >= 8.
too_warm(R) :- boxminus[0,4] high(R).
alarm too_warm(room: text), priority high, text "Room {room} is too warm", acknowledge, shelve at most 8 h,
  inhibited by maintenance(room).
pump_stands(P) :- stands(P).
alarm pump_stands(pump: text), priority critical, text "Pump {pump} stands still", shelve at most 30 min.
drafty(R) :- temp(R, C), C < 0.
alarm drafty(room: text), priority low, text "Room {room} is drafty".
"""
HOUR = 3600
SIZES = {"wide": (1400, 1000), "phone": (390, 844)}
MILLISECONDS = 60_000
"""How long the browser may take for what takes moments on an idle machine."""


class DeskPlant:
    """Two rooms that are too warm, a pump that stands still, and a room with a draft, over the next hour."""

    def __init__(self, running: Plant, now: list[float]) -> None:
        self.url, self._running, self._now = running.url, running, now
        self.watch = running.watch

    def send(self, *facts: Record) -> None:
        """Facts, their times in seconds behind the begin."""
        self._running.send_batch(Batch([(name, row, NOW + lo, NOW + hi) for name, row, lo, hi in facts]))

    def go_on(self, time: int) -> None:
        """So many seconds behind the begin it is now, and nothing has happened until then."""
        self._now[0] = NOW + time
        self.send(("tick", (), time, time))


def history() -> Batch:
    """What has come by the begin."""
    rooms = ("north", "south")
    facts: list[Record] = [
        ("temp", (room, 7.5 + 0.5 * step), NOW - 9 + step, NOW - 9 + step) for step in range(9) for room in rooms
    ]
    facts += [("temp", (room, 9.5), NOW, NOW + HOUR) for room in rooms]
    facts += [("stands", ("P1",), NOW - 2, NOW + HOUR), ("temp", ("attic", -4), NOW - 1, NOW + HOUR), ("tick", (), NOW, NOW)]
    return Batch(sorted(facts, key=lambda fact: fact[2]))


@contextmanager
def desk(*, users: Sequence[UserSettings] = (), token: str | None = None) -> Iterator[DeskPlant]:
    """Serve the desk as long as the block lasts."""
    now = [float(NOW)]
    plan = tidelog.compile(PROGRAM, name="plant", desk=True)
    watch = Watch(plan, now=lambda: now[0])
    with served(watch, history(), users=users, token=token) as running:
        yield DeskPlant(running, now)


def open_desk(
    browser: Browser, url: str, *, size: str = "wide", locale: str = "en-GB", who: str | None = None, **options: Any
) -> Page:
    """The page once it shows the alarms; `who` is the name that this browser has been told before.

    Whatever the browser complains about is kept as `complaints`: what the policy of the page forbids is among it.
    """
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=size == "phone", locale=locale, timezone_id="UTC", **options
    )
    context.set_default_timeout(MILLISECONDS)
    if who is not None:
        context.add_init_script(f"localStorage.setItem('tidelog.who', '{who}')")
    page = context.new_page()
    page.complaints = []  # type: ignore[attr-defined] # kept with the page that they are about
    page.on("console", lambda said: page.complaints.append(said.text))  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.complaints.append(str(error)))  # type: ignore[attr-defined]
    page.goto(url)
    page.wait_for_selector("#status.good")
    return page

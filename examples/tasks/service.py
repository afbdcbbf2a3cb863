"""The rules of service.tide within an asyncio service: handlers push what happens, one task tells what follows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import tidelog

PLAN = tidelog.compile_path(Path(__file__).with_name("service.tide"))


class Watch:
    """A session, and what it tells: each alarm when it begins."""

    def __init__(self) -> None:
        self.session = tidelog.Session(PLAN, emit="changes")

    def push(self, event: str, *row: str | int, at: int) -> None:
        """Something happened."""
        self.session.push(event, row, time=at)

    def begun(self, now: int) -> list[str]:
        """The alarms that have begun, now that everything before is known."""
        self.session.advance(now)
        return [str(change).partition("@")[0] for change in self.session.pull() if not change.has_ended]


async def tell(watch: Watch, alarm: Callable[[str], None]) -> None:
    """Look once a second; the handlers of the service push meanwhile."""
    while True:
        for text in watch.begun(int(time.time()) - 1):
            alarm(text)
        await asyncio.sleep(1)

"""What a service tells systemd: that it is ready, that it lives, that it stops (sd_notify(3)), as datagrams; no library."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

import anyio


class Notifier:
    """Talks to the socket that `NOTIFY_SOCKET` names; without it, to nobody."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.interval = _interval(environment)

    @property
    def is_heard(self) -> bool:
        """Whether systemd started this process, and listens."""
        return bool(self._address)

    def tell(self, **state: str | int) -> None:
        """Send one datagram, `READY=1` and the like. What cannot be sent is no reason to stop."""
        if not self._address:
            return
        text = "\n".join(f"{name}={value}" for name, value in state.items())
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.setblocking(False)
            to.sendto(text.encode(), self._address)

    def ready(self, status: str) -> None:
        self.tell(READY=1, STATUS=status)

    def reloading(self) -> None:
        self.tell(RELOADING=1, MONOTONIC_USEC=time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)

    def stopping(self) -> None:
        self.tell(STOPPING=1)

    async def keep_alive(self) -> None:
        """Tell the watchdog that the event loop turns, twice as often as it wants to hear it; for ever."""
        while self.interval is not None:
            self.tell(WATCHDOG=1)
            await anyio.sleep(self.interval)


def _interval(environment: Mapping[str, str]) -> float | None:
    """How often the watchdog is told, in seconds; None where there is none for this process."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    text = environment.get("WATCHDOG_USEC", "")
    return int(text) / 2_000_000 if text.isdigit() and int(text) > 0 else None

"""SIGINT and SIGTERM: the first ends a command soon, wherever it is, and the second at once.

The handlers are Python's own, which run between two bytecodes of the main thread. So they run while an operator computes,
too, where no event loop would hear of a signal. What a first signal leads to depends on what goes on:

* nothing that has to be brought to an end (`stopped_by_signals`): `Stopped` is raised right there;
* an event loop runs (`gently_stopped`): it is told, through a socket, and stops by itself; if it is still busy when that
  should have been done, `Stopped` is raised in what keeps it busy, and unwinds as the failure of a task does;
* Spark runs (`noted_signals`): it is noted, and what is being done is finished.

`Stopped` is only ever raised in code of ours, never within trio, asyncio or anyio: these would be left in a state that they
know nothing of. Where that leads nowhere, the process ends as it does on a second signal. Windows has no timer that would
find that out: there the first signal interrupts what computes, or else the second ends the process.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tidelog.plans.diagnostics.stopping import Stopped

GRACE = 1.0
"""How many seconds an event loop has to bring to an end what is in flight."""
_INTERRUPT, _END = (1.2, 5.0), (1.7, 10.0)
"""After how many seconds what is busy is interrupted, and after how many the process ends, whatever it does.

The first of each pair is the time since the signal if half of it was spent computing. Otherwise nothing is busy, or the
machine is, with something else: then a stop that only waits for its turn has the second of the pair.
"""
_LOOKS = 0.05
"""How many seconds lie between two looks at what goes on."""
_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_ALARM: int | None = getattr(signal, "SIGALRM", None)
_LOOPS = frozenset({"trio", "asyncio", "anyio"})
_Handler = Callable[[int, FrameType | None], None]


class Stopping:
    """A command that a signal may stop. `number` is the first signal, once there was one.

    While `is_storing()`, nothing is interrupted but by a second signal: what is being stored is stored as a whole.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.is_storing: Callable[[], bool] = lambda: False
        self._is_interrupted = False
        self._began = self._computed = 0.0

    def take(self, number: int, frame: FrameType | None) -> None:
        """The handler of both signals."""
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        self._began, self._computed = time.monotonic(), time.process_time()
        if _ALARM is not None:
            signal.signal(_ALARM, self._look)
            signal.setitimer(signal.ITIMER_REAL, _LOOKS, _LOOKS)
        self._begin(number, frame)

    def _begin(self, number: int, frame: FrameType | None) -> None:
        """Nothing has to be brought to an end."""
        self._interrupt(number, frame)

    def _look(self, _: int, frame: FrameType | None) -> None:
        """The handler of the alarm that goes off from the first signal on."""
        if self.number is None or self.is_storing():
            return
        if self._has_taken(_END):
            _say_at_once(f"tidelog: ended by {signal.Signals(self.number).name} before all answers were given\n")
            os._exit(128 + self.number)
        if not self._is_interrupted and self._is_due():
            self._interrupt(self.number, frame)

    def _is_due(self) -> bool:
        return True

    def _has_taken(self, limits: tuple[float, float]) -> bool:
        soon, late = limits
        passed, computed = time.monotonic() - self._began, time.process_time() - self._computed
        return passed >= late or (passed >= soon and computed >= soon / 2)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if _is_ours(frame):
            self._is_interrupted = True
            raise Stopped(number)


class GentleStopping(Stopping):
    """The same, where an event loop runs: somebody there has to `wait` for the signal, and to stop what goes on."""

    def __init__(self) -> None:
        super().__init__()
        self._told, self._tell = socket.socketpair()  # Windows can wait for no pipe

    async def wait(self) -> None:
        """Until the first signal comes."""
        import anyio  # noqa: PLC0415 - where an event loop runs it is loaded; other commands need none

        await anyio.wait_readable(self._told)

    def _begin(self, number: int, frame: FrameType | None) -> None:
        self._tell.send(b"!")

    def _is_due(self) -> bool:
        return self._has_taken(_INTERRUPT)

    def close(self) -> None:
        self._told.close()
        self._tell.close()


@contextmanager
def stopped_by_signals() -> Iterator[Stopping]:
    """Within it the first signal raises `Stopped`, and the second ends the process."""
    stopping = Stopping()
    with _handled_by(stopping.take):
        yield stopping


@contextmanager
def gently_stopped() -> Iterator[GentleStopping]:
    """Within it an event loop that waits for the first signal has `GRACE` seconds to stop; the second ends the process."""
    stopping = GentleStopping()
    try:
        with _handled_by(stopping.take):
            yield stopping
    finally:
        stopping.close()


@contextmanager
def noted_signals() -> Iterator[list[int]]:
    """The signals to stop that arrive meanwhile: what is being done is finished first, unless there is a second one.

    From then on nothing is said: where the signal goes to all processes, Spark's end before this one, and PySpark complains.
    """
    arrived: list[int] = []
    said = sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:

        def note(number: int, _: FrameType | None) -> None:
            if arrived:
                os._exit(128 + number)
            arrived.append(number)
            sys.stderr = nowhere

        try:
            with _handled_by(note):
                yield arrived
        finally:
            sys.stderr = said


@contextmanager
def _handled_by(handler: _Handler) -> Iterator[None]:
    """Within it both signals are handled so; one that the process was started to ignore (`nohup`, `&`) stays ignored.

    Beside the main thread, where no handler may be set, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    alarms = () if _ALARM is None else (_ALARM,)
    before = {number: signal.getsignal(number) for number in (*_NUMBERS, *alarms)}
    for number in _NUMBERS:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        if any(signal.getsignal(number) != before[number] for number in alarms):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, was in before.items():
            if was is not None:  # not set from Python: then it cannot be set back
                signal.signal(number, was)


def _is_ours(frame: FrameType | None) -> bool:
    """Whether code of ours is at work, or what it calls, and not an event loop, or what that calls."""
    is_found = False
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if _loses_exceptions(frame, package) or (package in _LOOPS and not is_found):
            return False
        is_found = is_found or package == "tidelog"
        frame = frame.f_back
    return True


def _loses_exceptions(frame: FrameType, package: str) -> bool:
    """Whether Python calls it where an object goes: it would print an exception from there, and go on."""
    name = frame.f_code.co_name
    return name == "__del__" or package == "weakref" or (package == "importlib" and name == "cb")


def _say_at_once(text: str) -> None:
    """A line on standard error, unless that would have to be waited for."""
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    if any(event & select.POLLOUT for _, event in poll.poll(0)):
        os.write(2, text.encode())

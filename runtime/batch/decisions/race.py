"""Several ways to one answer side by side, each in a process of its own: the first to answer ends the others.

A worker is forked, so it has all that is known without a copy; back comes one line of JSON. It ends with its parent, however
that ends: it watches a pipe, the *lifeline*, whose other end the parent alone holds. Only where no other thread
runs may a process be forked: what another one holds locked would stay locked for ever.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NoReturn

from tidelog.plans.diagnostics.errors import TidelogError

Work = Callable[[], str]
"""A way to the answer, which it returns; a `TidelogError`, or no memory left, leaves the answer to the others."""

POLL_SECONDS = 0.25
"""How often `on_wait` is called."""
_MOST_TOLD = 1 << 20
_HELD = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Finish:
    """How a race ended: who won with what answer, or None; and why those failed that did before."""

    winner: str | None
    answer: str
    failures: Mapping[str, str]


@dataclass(slots=True)
class _Worker:
    """A child process, and the end of the pipe on which it tells its answer."""

    name: str
    process: int
    answers: int
    told: bytearray = field(default_factory=bytearray)

    def read(self) -> bool:
        """Take in what there is to read; whether that was all."""
        data = os.read(self.answers, 1 << 16)
        self.told += data
        return not data or len(self.told) > _MOST_TOLD

    def end(self) -> None:
        """End the process, if it has not ended yet, and leave nothing of it."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.process, 0)
        os.close(self.answers)


def can_race() -> bool:
    """Whether this process may be forked."""
    is_alone = threading.active_count() == 1 and threading.current_thread() is threading.main_thread()
    return is_alone and hasattr(os, "fork")


def race(ways: Mapping[str, Work], on_wait: Callable[[], None] = lambda: None) -> Finish:
    """Go all `ways` at once until one of them answers, or all have failed. `on_wait` is called a few times a second.

    No process is left behind, whatever is raised meanwhile.
    """
    failures: dict[str, str] = {}
    workers: list[_Worker] = []
    lifeline, hold = os.pipe()
    try:
        for name, work in ways.items():
            try:
                with _signals_held():
                    workers.append(_start(name, work, lifeline, hold))
            except OSError as error:
                failures[name] = f"no process could be started: {os.strerror(error.errno or 0)}"
        return _first(workers, failures, on_wait)
    finally:
        for worker in workers:
            worker.end()
        os.close(hold)
        os.close(lifeline)


def _first(workers: list[_Worker], failures: dict[str, str], on_wait: Callable[[], None]) -> Finish:
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.answers, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select(POLL_SECONDS):
                worker = key.data
                if not worker.read():
                    continue
                selector.unregister(key.fileobj)
                answer, failure = _understand(bytes(worker.told))
                if answer is not None:
                    return Finish(worker.name, answer, failures)
                failures[worker.name] = failure
            on_wait()
    return Finish(None, "", failures)


def _understand(told: bytes) -> tuple[str | None, str]:
    """The answer that a worker has told, or why there is none."""
    try:
        message = json.loads(told)
    except ValueError:
        return None, "its process was ended from outside, perhaps for want of memory"
    return message.get("answer"), message.get("failure", "")


# --- a worker -----------------------------------------------------------------------------------------------------------


@contextmanager
def _signals_held() -> Iterator[None]:
    """Within it signals wait, so that none finds a child that does not know yet that it is one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(name: str, work: Work, lifeline: int, hold: int) -> _Worker:
    answers, tell = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(answers)
        os.close(tell)
        raise
    if process == 0:
        _live(work, tell, lifeline, (hold, answers))
    os.close(tell)  # before the next fork: what no one else holds ends with its worker
    return _Worker(name, process, answers)


def _live(work: Work, tell: int, lifeline: int, others: tuple[int, ...]) -> NoReturn:
    """All that a worker does. It never returns into what it was forked from, nor writes out what was buffered there."""
    try:
        for descriptor in others:
            os.close(descriptor)
        _take_signals_as_usual()
        threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
        gc.freeze()  # what is inherited stays shared: no collection touches it
        data = memoryview(json.dumps(_outcome(work)).encode())
        while data:
            data = data[os.write(tell, data) :]
    finally:
        os._exit(0)


def _outcome(work: Work) -> dict[str, str]:
    try:
        return {"answer": work()}
    except TidelogError as error:
        return {"failure": str(error)}
    except MemoryError:
        return {"failure": "there was not enough memory"}
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}


def _take_signals_as_usual() -> None:
    """A signal ends the worker silently, unless the parent was started to ignore it; its handlers are the parent's alone."""
    for number in _HELD:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


def _end_with_parent(lifeline: int) -> NoReturn:
    """Wait for the end of file that comes when the parent is gone."""
    try:
        os.read(lifeline, 1)
    finally:
        os._exit(1)

"""The nursery: a process that has all loaded which a worker needs, and makes workers of itself in no time.

It has one thread and no event loop, so that it can be forked. The engine, which has both, is never forked: it starts the
nursery as a program of its own, tells it what the workers are to run, and sends it one end of a pair of sockets for each
worker that it wants. A worker lives as long as the other end does.

Signals for the engine would reach its workers, too, where they come from a terminal or a service manager. So they are a
group of processes of their own, which do not heed such signals, and end when the engine does.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.plans.plan.stored import pack_plan, unpack_plan
from tidelog.runtime.islands.framing import address_of, pair
from tidelog.runtime.islands.lines import Opened, WorkerLine, WorkerLink
from tidelog.runtime.islands.part import Part, Work
from tidelog.runtime.islands.serving import serve
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports.collecting import collect_steadily
from tidelog.runtime.ports.interfaces import EmitMode

_HEAD = 4
_MODULE = "tidelog.runtime.islands.nursery"
_FORK = b"f"


class PackedWork(msgspec.Struct, array_like=True, frozen=True):
    """A `Work` as data."""

    plan: bytes
    emit: EmitMode
    exports: tuple[str, ...]
    prospects: bool
    most: int | None
    shared: frozenset[int]
    ahead: int

    @classmethod
    def of(cls, work: Work) -> PackedWork:
        return cls(pack_plan(work.plan), work.emit, work.exports, work.prospects, work.most, work.shared, work.ahead)

    def unpacked(self) -> Work:
        return Work(
            unpack_plan(self.plan, "a worker"), self.emit, self.exports, self.prospects, self.most, self.shared, self.ahead
        )


class Nursery:
    """Makes workers, in the engine's process, each of which can run any of these works.

    A selector watches them all. Each may take as much memory, and as long for an answer, as the supervision says.
    """

    def __init__(self, works: Sequence[Work], selector: selectors.BaseSelector, supervision: Supervision) -> None:
        self._selector = selector
        self._memory, self._limit = supervision.memory, supervision.answers_within
        self._packed = msgspec.msgpack.encode([PackedWork.of(work) for work in works])
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def worker(self) -> WorkerLink:
        """A new worker. ConnectorError where none can be made."""
        for _ in range(2):
            if self._link is None:
                self._start()
            try:
                return self._fork()
            except OSError:  # the nursery itself was killed: another one takes its place
                self.close()
        raise ConnectorError("no worker could be started: the process that makes them ends at once")

    def close(self) -> None:
        """No more workers are wanted; those that there are go on."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            arguments = [sys.executable, "-m", _MODULE, str(theirs.fileno()), str(self._memory or 0)]
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                arguments, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL, process_group=0
            )
        self._link = ours
        with suppress(OSError):  # if it ends at once, asking it for a worker fails
            ours.sendall(len(self._packed).to_bytes(_HEAD, "big") + self._packed)

    def _fork(self) -> WorkerLink:
        if self._link is None:
            raise OSError("there is no nursery")
        ours, theirs = pair()
        control, its_control = socket.socketpair()
        try:
            with theirs, its_control:
                socket.send_fds(self._link, [_FORK], [theirs.fileno(), its_control.fileno()])
            answer = self._link.recv(_HEAD)
            if len(answer) < _HEAD:
                raise OSError("the nursery has ended")
        except BaseException:
            ours.close()
            control.close()
            raise
        return WorkerLink(ours, control, int.from_bytes(answer, "big"), self._selector, self._limit)


class Worker:
    """A worker that is replaced by another when it is gone: several parts may live in it, and learn of it one by one."""

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self._link: WorkerLink | None = None
        self._starts = 0

    def open(self, part: int, *, anew: bool = False) -> Opened:
        """A line to a part, which was told nothing yet, or, unless it has to begin `anew`, has come along in a spare."""
        if self._link is None or self._link.is_broken:
            spare = None if self._link is None else self._link.replaced()
            self._link = spare or self._nursery.worker()
        taken = self._link.taken.pop(part, None)
        if taken is not None and not anew:
            return Opened(WorkerLine(self._link, taken.address), self._link.process, taken.number)
        self._starts += 1
        return Opened(WorkerLine(self._link, address_of(part, self._starts)), self._link.process)

    @property
    def unanswered(self) -> float:
        """For how many seconds it has not answered though it was asked; 0 where it does not keep one waiting."""
        return 0.0 if self._link is None else self._link.unanswered

    @property
    def unsent(self) -> int:
        """How many bytes wait to be sent to it."""
        return 0 if self._link is None else self._link.unsent

    def check(self) -> None:
        """End the process, if it has not answered in time: then there is another."""
        if self._link is not None:
            self._link.check()

    def close(self) -> None:
        """It is not needed any more."""
        if self._link is not None:
            self._link.close()
            self._link = None


def main(descriptor: int, memory: int) -> None:
    """What the nursery does: make a worker for each socket that it gets, until the engine is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever waits for workers sees the ends of their sockets
    link = socket.socket(fileno=descriptor)
    size = int.from_bytes(_read(link, _HEAD), "big")
    packed = msgspec.msgpack.decode(_read(link, size), type=list[PackedWork])
    works = [item.unpacked() for item in packed]
    parts = [Part(work) for work in works]
    collect_steadily()  # what workers share with the nursery is not looked through again by each of them
    while True:
        message, sent, _, _ = socket.recv_fds(link, len(_FORK), 2)
        if not message:
            return
        child = os.fork()
        if child == 0:
            link.close()
            if memory:
                import resource  # noqa: PLC0415 - where a process can be forked, there is one

                limit = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
                resource.setrlimit(limit, (memory, memory))
            with suppress(OSError):
                one, other = sent
                serve(socket.socket(fileno=one), socket.socket(fileno=other), works, parts)
            os._exit(0)
        for end in sent:
            os.close(end)
        link.sendall(child.to_bytes(_HEAD, "big"))


def _read(link: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        data = link.recv(min(size - len(found), 1 << 20))
        if not data:
            sys.exit(0)
        found += data
    return bytes(found)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

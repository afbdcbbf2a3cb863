"""A wire between two ends that a test can break: it stands still, or is cut, and then carries new connections again."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

from brokers import free_port
from children import WAIT

PIECE = 65_536
_LOOK_SECONDS = 0.05


class Wire:
    """Carries connections to `target`, a port or a socket's path of this machine, in threads of its own; for the length of a
    `with` block."""

    def __init__(self, target: int | Path) -> None:
        self.port, self._target = free_port(), target
        self._flows, self._is_closed = threading.Event(), False
        self._answers = threading.Event()
        self._is_away = False
        self._last_heard = b""
        self._flows.set()
        self._answers.set()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.connections = 0

    def __enter__(self) -> Wire:
        self._start(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_closed = True
        self.flow()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(WAIT)

    def stall(self) -> None:
        """Nothing passes, in either direction, and no end learns of it."""
        self._flows.clear()

    def flow(self) -> None:
        """What was held up goes on."""
        self._flows.set()
        self._answers.set()

    def deafen(self, behind: bytes = b"") -> None:
        """What is sent to the target passes, and nothing that it answers: from now on, or once this has been sent."""
        self._last_heard = behind
        if not behind:
            self._answers.clear()

    def leave(self) -> None:
        """Reset all connections, and each that is made, until `come_back`."""
        self._is_away = True
        self.cut()

    def come_back(self) -> None:
        """Reset all connections: what was held up is lost. New ones can be made."""
        self._is_away, self._last_heard = False, b""
        self.cut()
        self.flow()

    def cut(self) -> None:
        """Reset all connections: what is on its way is lost. New ones can be made."""
        with self._lock:
            cut, self._sockets = self._sockets, set()
        for one in cut:
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _start(self, work: object, *given: object) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)  # type: ignore[arg-type] # each is called with what it takes
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._is_away:
                near.close()
                continue
            try:
                far = self._reached()
            except OSError:
                near.close()
                continue
            self.connections += 1
            for one in (near, far):
                if one.family != socket.AF_UNIX:
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the wire adds no pauses of its own
            with self._lock:
                self._sockets |= {near, far}
            self._start(self._carry, near, far, self._flows)
            self._start(self._carry, far, near, self._flows, self._answers)

    def _reached(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target), WAIT)
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(self._target))
        return far

    def _carry(self, source: socket.socket, target: socket.socket, *gates: threading.Event) -> None:
        with suppress(OSError):
            source.settimeout(None)
            while data := source.recv(PIECE):
                if self._last_heard and self._last_heard in data:
                    self._answers.clear()
                for gate in gates:
                    gate.wait()
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

"""A process that a test kills, and starts again."""

from __future__ import annotations

import signal
import subprocess
import sys

from children import WAIT


class Child:
    """A process, which can be killed and started again."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen([sys.executable, *self._command], stderr=sys.__stderr__)

    def __enter__(self) -> Child:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self.end(signal.SIGKILL)

    @property
    def process(self) -> int:
        """The process's id."""
        assert self._process is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, where it has ended by itself."""
        return None if self._process is None else self._process.poll()

    def restart(self) -> None:
        """Kill it, and start it anew."""
        self.end(signal.SIGKILL)
        self.start()

    def send(self, number: int) -> None:
        """Send it a signal that does not end it."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(WAIT)
        self._process = None
        return code

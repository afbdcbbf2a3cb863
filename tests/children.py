"""Processes that tests start, each of which ends with its test, however that ends; commands that are run within a test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any

from tidelog.cli import main

WAIT = 300
"""How many seconds a test waits for what takes moments on an idle machine."""


def hear_signals() -> None:
    """Let processes that are started from here hear SIGINT, which a shell makes its background jobs ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process for the length of a `with` block: behind it, it is waited for; if the block fails, it is killed."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
            process.wait(WAIT)
        finally:
            if process.poll() is None:
                process.kill()


def tidelog(
    *arguments: str,
    given: str = "",
    cwd: str | Path | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """What a command says that ends by itself. It runs here, on descriptors of its own: a process would cost much more.

    `stdin` is a descriptor to read from in place of what is given; `stdout` and `stderr` are descriptors to write to, such
    as a terminal's; nothing is read from them.
    """
    with ExitStack() as stack:
        standard_input = stack.enter_context(_pipe(given.encode())) if stdin is None else stdin
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        outputs = [file.fileno() if other is None else other for file, other in zip(files, (stdout, stderr), strict=True)]
        stack.enter_context(chdir(cwd or "."))
        for descriptor, instead in enumerate((standard_input, *outputs)):
            stack.enter_context(_in_place_of(descriptor, instead))
        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        said = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in files]
    return subprocess.CompletedProcess(list(arguments), code, *said)


@contextmanager
def _pipe(content: bytes) -> Iterator[int]:
    """A pipe that gives this, and ends. What it does not hold at once is not for it."""
    reading, writing = os.pipe()
    try:
        with open(writing, "wb", buffering=0) as file:
            os.set_blocking(writing, False)
            assert (file.write(content) or 0) == len(content), "too much for a pipe: start a process"
        yield reading
    finally:
        os.close(reading)


_NAMES = ("stdin", "stdout", "stderr")


@contextmanager
def _in_place_of(descriptor: int, instead: int) -> Iterator[None]:
    """Let a standard descriptor, and Python's stream of it, lead elsewhere."""
    name = _NAMES[descriptor]
    before, stream = os.dup(descriptor), getattr(sys, name)
    os.dup2(instead, descriptor)
    with open(descriptor, "w" if descriptor else "r", closefd=False) as new:
        setattr(sys, name, new)
        try:
            yield
        finally:
            setattr(sys, name, stream)
            os.dup2(before, descriptor)
            os.close(before)

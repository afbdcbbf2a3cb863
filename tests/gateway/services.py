"""A gateway as a service: it is killed and started anew, and tells systemd how it is."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from killed import Child

from children import WAIT

TIDELOG = [sys.executable, "-m", "tidelog"]
NUMBERS = """timeline integer, unit 1 s, round down.
input seen(n: integer).
output told(n).
told(N) :- seen(N).
"""
"""A program that tells what it is told."""


def gateway_of(file: Path) -> Child:
    """The gateway of a file, which runs within a `with` block."""
    return Child("-m", "tidelog", "gateway", str(file))


@contextmanager
def systemd(folder: Path) -> Iterator[SimpleQueue[str]]:
    """What a service tells systemd. It is read at once, as systemd does: the socket holds ten messages, others are lost."""
    heard: SimpleQueue[str] = SimpleQueue()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(folder / "notify"))
        reader = Thread(target=read_all, args=(listening, heard))
        reader.start()
        try:
            yield heard
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
                last.sendto(b"", str(folder / "notify"))
            reader.join()


def read_all(listening: socket.socket, heard: SimpleQueue[str]) -> None:
    """Pass on what is told, until nothing is."""
    while text := listening.recv(10_000).decode():
        heard.put(text)


def hear(heard: SimpleQueue[str], begin: str) -> str:
    """What is told next that begins so."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        text = heard.get(timeout=WAIT)
        if text.startswith(begin):
            return text
    raise TimeoutError(begin)

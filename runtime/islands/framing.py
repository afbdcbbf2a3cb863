"""How messages to workers are framed: each with its length, and the address of the part that it is for."""

from __future__ import annotations

import socket
from typing import NamedTuple

HEAD = 4
"""How many bytes tell the length of a message."""
PART = 2
"""How many bytes tell which part it is for, and as many behind them the how-manieth of that number."""
ADDRESS = 2 * PART
_MOST_STARTS = 1 << (8 * PART)
CHUNK = 1 << 18
BUFFER = 1 << 20
"""How many bytes a socket to a worker takes before whoever writes has to wait, as far as the system lets it."""
SPARE = b"\xff" * ADDRESS
"""In place of an address: make a spare of yourself."""


class Taken(NamedTuple):
    """How far a part is: its address, and the number of the message that it was sent last."""

    address: bytes
    number: int


def address_of(part: int, start: int) -> bytes:
    """The address of a part that was started for the how-manieth time."""
    return part.to_bytes(PART, "big") + (start % _MOST_STARTS).to_bytes(PART, "big")


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets that take much before whoever writes has to wait."""
    ends = socket.socketpair()
    for end in ends:
        for size in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, size, BUFFER)
    return ends

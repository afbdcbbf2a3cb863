"""What a worker does: let its parts answer, and make a spare of itself where it is told to."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence

from tidelog.runtime.islands.framing import ADDRESS, CHUNK, HEAD, PART, SPARE
from tidelog.runtime.islands.messages import pack, unpack_told
from tidelog.runtime.islands.part import Part, Work


def serve(link: socket.socket, control: socket.socket, works: Sequence[Work], fresh: Sequence[Part]) -> None:
    """Let parts answer all that comes over a connected socket, until that ends: what a worker does.

    The first message to an address makes its part, of those that were told nothing yet if it is one of the first. A spare
    goes on in here, with the parts as they are, over sockets of its own.
    """
    parts: dict[int, tuple[bytes, Part]] = {}
    ends: tuple[socket.socket, socket.socket] | None = link, control
    while ends is not None:
        ends = _serve_link(*ends, parts, works, fresh)


def _serve_link(
    link: socket.socket,
    control: socket.socket,
    parts: dict[int, tuple[bytes, Part]],
    works: Sequence[Work],
    fresh: Sequence[Part],
) -> tuple[socket.socket, socket.socket] | None:
    """The same over one socket. Returns, in a spare that has been made meanwhile, its own ones."""
    with link, control, link.makefile("rb", CHUNK) as incoming:
        while len(head := incoming.read(HEAD)) == HEAD:
            data = incoming.read(int.from_bytes(head, "big"))
            address, number = data[:ADDRESS], int.from_bytes(data[:PART], "big")
            if address == SPARE:
                _, received, _, _ = socket.recv_fds(control, len(SPARE), 2)
                began = time.perf_counter()
                process = os.fork()
                if not process:
                    one, other = received
                    return socket.socket(fileno=one), socket.socket(fileno=other)
                micros = min(int((time.perf_counter() - began) * 1e6), (1 << 8 * HEAD) - 1)
                for descriptor in received:
                    os.close(descriptor)
                reply = process.to_bytes(HEAD, "big") + micros.to_bytes(HEAD, "big")
            else:
                found = parts.get(number)
                if found is None or found[0] != address:
                    found = parts[number] = address, fresh[number] if found is None else Part(works[number])
                reply = pack(found[1].tell(unpack_told(memoryview(data)[ADDRESS:])))
            link.sendall((len(reply) + ADDRESS).to_bytes(HEAD, "big") + address + reply)
    return None

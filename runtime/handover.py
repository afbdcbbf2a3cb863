"""Handing a message over to another task without losing a turn of the event loop."""

from __future__ import annotations

from typing import TypeVar

import anyio
from anyio.streams.memory import MemoryObjectSendStream

T = TypeVar("T")


async def hand_over(sender: MemoryObjectSendStream[T], item: T) -> None:
    """Send as `sender.send` does; but where there is room, at once, without letting others run before.

    So whoever waits for the message has it in the next turn of the event loop, not in the one after that. What can be sent
    before others run, or a cancellation counts, is bounded by the channel.
    """
    try:
        sender.send_nowait(item)
    except anyio.WouldBlock:
        await sender.send(item)

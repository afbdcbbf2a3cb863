"""Handing a message over to another task without losing a turn of the event loop."""

from __future__ import annotations

from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectSendStream

T = TypeVar("T")


async def hand_over(sender: MemoryObjectSendStream[T], item: T) -> None:
    """Send as `sender.send` does; but where there is room, send first, and let others run then.

    So whoever waits for the message has it in the next turn of the event loop, not in the one after that. Cancelled, it has
    sent nothing.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()
    try:
        sender.send_nowait(item)
    except anyio.WouldBlock:
        await sender.send(item)
    else:
        await anyio.lowlevel.cancel_shielded_checkpoint()

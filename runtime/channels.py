"""Channels between actors: bounded anyio memory streams, so a slow receiver slows down its senders, up to the sources."""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

CHANNEL_BOUND = 16
"""How many messages wait in a channel before its senders have to."""

T = TypeVar("T")


class Channel(Generic[T]):
    """An inbox: its receiving end, and a sending end to be cloned by each sender."""

    __slots__ = ("_sender", "inbox")

    def __init__(self, bound: float = CHANNEL_BOUND) -> None:
        self._sender: MemoryObjectSendStream[T]
        self.inbox: MemoryObjectReceiveStream[T]
        self._sender, self.inbox = anyio.create_memory_object_stream[T](bound)

    def sender(self) -> MemoryObjectSendStream[T]:
        """A sending end of its own for one sender, which closes it."""
        return self._sender.clone()

    def seal(self) -> None:
        """All senders have theirs: from now on the channel ends with the last of them."""
        self._sender.close()


async def everything_waiting(inbox: MemoryObjectReceiveStream[T]) -> list[T]:
    """Wait for a message, and take the others that are there by then; EndOfStream when there will be none."""
    messages = [await inbox.receive()]
    for _ in range(CHANNEL_BOUND):
        try:
            messages.append(inbox.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            break
    return messages

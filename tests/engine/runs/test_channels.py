"""Channels between actors: bounded, in order, ended by their senders, closed by their receiver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from children import WAIT
from engine.running import BACKENDS
from tidelog.runtime.ports.channels import Channel, Sender


def run(backend: str, scene: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        with anyio.fail_after(WAIT):
            await scene()

    anyio.run(within, backend=backend)


def pair(bound: int) -> tuple[Channel[int], Sender[int]]:
    channel: Channel[int] = Channel(bound)
    sender = channel.sender()
    channel.seal()
    return channel, sender


@pytest.mark.parametrize("bound", [0, 1, 3, 100])
@pytest.mark.parametrize("backend", BACKENDS)
def test_all_that_is_sent_is_received_in_order(backend: str, bound: int) -> None:
    """By three senders of one channel, each in its order; then the channel has ended, and says so again."""

    async def scene() -> None:
        channel, first = pair(bound)
        received: list[int] = []

        async def send(sender: Sender[int], numbers: range) -> None:
            with sender:
                for number in numbers:
                    await sender.send(number)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, first.clone(), range(30))
            tasks.start_soon(send, first.clone(), range(100, 130))
            tasks.start_soon(send, first, range(200, 230))
            while True:
                try:
                    received += await channel.receive_all()
                except anyio.EndOfStream:
                    break
        for begin in (0, 100, 200):
            assert [number for number in received if begin <= number < begin + 100] == [*range(begin, begin + 30)]
        with pytest.raises(anyio.EndOfStream):
            await channel.receive()

    run(backend, scene)


@pytest.mark.parametrize("bound", [0, 2])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sender_waits_for_room(backend: str, bound: int) -> None:
    """No more than the bound lies ready; who waits for room is let in, in order."""

    async def scene() -> None:
        channel, sender = pair(bound)
        sent: list[int] = []

        async def send(number: int) -> None:
            await sender.send(number)
            sent.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(send, number)
                await anyio.wait_all_tasks_blocked()
            assert sent == [*range(bound)]
            with pytest.raises(anyio.WouldBlock):
                sender.send_nowait(9)
            assert channel.receive_nowait() == 0
            await anyio.wait_all_tasks_blocked()
            assert sent == [*range(bound + 1)]
            assert [channel.receive_nowait() for _ in range(4)] == [1, 2, 3, 4]
            with pytest.raises(anyio.WouldBlock):
                channel.receive_nowait()
        assert sorted(sent) == [0, 1, 2, 3, 4]

    run(backend, scene)


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_is_cancelled_takes_nothing_along(backend: str) -> None:
    """A sender that gives up has sent nothing, and a receiver that gives up has received nothing."""

    async def scene() -> None:
        channel, sender = pair(0)
        with anyio.move_on_after(0.001):
            await channel.receive()
        with pytest.raises(anyio.WouldBlock):
            sender.send_nowait(1)  # nobody waits any more
        with anyio.move_on_after(0.001):
            await sender.send(2)
        with pytest.raises(anyio.WouldBlock):
            channel.receive_nowait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sender.send, 3)
            assert await channel.receive() == 3

    run(backend, scene)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_receiver_that_is_there_lets_others_run(backend: str) -> None:
    """Where messages lie ready, each receiving is a moment at which others run, and a cancellation counts."""

    async def scene() -> None:
        channel, sender = pair(10)
        for number in range(3):
            sender.send_nowait(number)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await channel.receive()
        assert scope.cancelled_caught
        assert await channel.receive_all() == [0, 1, 2]

    run(backend, scene)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_closed_is_told(backend: str) -> None:
    """Senders learn that the receiver has gone, also while they wait; an end that is closed takes nothing."""

    async def scene() -> None:
        channel, sender = pair(0)
        other = sender.clone()
        other.close()
        other.close()
        for use in (other.clone, lambda: other.send_nowait(1)):
            with pytest.raises(anyio.ClosedResourceError):
                use()

        async def send() -> None:
            with pytest.raises(anyio.BrokenResourceError):
                await sender.send(1)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            channel.close()
        with pytest.raises(anyio.BrokenResourceError):
            await sender.send(2)
        with pytest.raises(anyio.ClosedResourceError):
            await channel.receive()
        with pytest.raises(ValueError, match="0 or more"):
            Channel(-1)

    run(backend, scene)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_last_sender_wakes_the_receiver(backend: str) -> None:
    """A receiver that waits hears that the channel has ended, also where it ends without a sender."""

    async def scene() -> None:
        channel, sender = pair(1)
        async with anyio.create_task_group() as tasks:

            async def receive(waiting: Channel[int]) -> None:
                with pytest.raises(anyio.EndOfStream):
                    await waiting.receive()

            empty: Channel[int] = Channel()
            tasks.start_soon(receive, channel)
            tasks.start_soon(receive, empty)
            await anyio.wait_all_tasks_blocked()
            sender.close()
            empty.seal()

    run(backend, scene)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_message_is_taken_at_once_while_the_receiver_waits(backend: str) -> None:
    """In its sender's turn; what is left of it is received. Where nobody waits, it lies ready as it is."""

    async def scene() -> None:
        channel, sender = pair(1)
        taken: list[int] = []

        def take(number: int) -> int | None:
            taken.append(number)
            return None if number % 2 else 10 * number

        channel.at_once = take
        sender.send_nowait(7)
        assert not sender.has_room()
        assert await channel.receive() == 7
        assert taken == []
        received: list[int] = []

        async def receive() -> None:
            received.append(await channel.receive())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await anyio.wait_all_tasks_blocked()
            for number in (1, 3, 4):
                assert sender.has_room()
                sender.send_nowait(number)
            assert taken == [1, 3, 4]
        assert received == [40]

    run(backend, scene)

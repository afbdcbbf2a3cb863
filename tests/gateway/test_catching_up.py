"""When a source knows that nothing waits for it at its broker any more, whatever the broker's window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors.brokers.mqtt.catching_up import CatchingUp


class Queue:
    """A broker with a window, which sends what waits as places become free, and answers in order."""

    def __init__(self, window: int, waiting: int) -> None:
        self.window, self.waiting = window, waiting
        self.on_its_way = self.pings = 0
        self.behind = CatchingUp(self._ask)

    def _ask(self) -> int:
        self.pings += 1
        return self.pings

    def connect(self) -> None:
        self.behind.begin()
        self._send()

    def arrive(self, count: int) -> None:
        """Devices send something now."""
        self.waiting += count
        self._send()

    def _send(self) -> None:
        sent = min(self.waiting, self.window - self.on_its_way)
        self.waiting -= sent
        self.on_its_way += sent
        for _ in range(sent):
            self.behind.came(counts=True)

    def answer(self) -> None:
        self.behind.answered(self.pings)

    def take(self, count: int, live: int = 0) -> None:
        """The engine takes and acknowledges so many, while so many more are sent before the broker's answer comes."""
        self.behind.hand_over(count)
        self.on_its_way -= count
        self.behind.acknowledged(count)
        self._send()
        self.arrive(live)
        self.answer()


@pytest.mark.parametrize("window", [1, 20, 65_535])
@pytest.mark.parametrize("live", [0, 3])
def test_it_is_behind_until_all_has_come(window: int, live: int) -> None:
    """Nothing is taken for all while something waits; with devices that send meanwhile it is found out in a few rounds."""
    queue = Queue(window, 100)
    queue.connect()
    queue.answer()
    rounds = 0
    while queue.behind.is_behind:
        rounds += 1
        assert rounds < 300
        queue.take(min(window, queue.on_its_way), live if window > live else 0)
        assert queue.behind.is_behind or not queue.waiting
    assert queue.pings < 300


def test_nothing_waited() -> None:
    """The first answer tells so; a connection that is lost, or a process that was stopped, asks anew."""
    queue = Queue(20, 0)
    assert queue.behind.is_behind
    queue.connect()
    assert queue.behind.is_behind
    queue.answer()
    assert not queue.behind.is_behind
    queue.behind.look_again()
    assert queue.behind.is_behind and queue.pings == 2
    queue.answer()
    assert not queue.behind.is_behind


def test_what_has_come_is_behind_until_it_is_handed_over() -> None:
    """All has come, but the engine has not asked for it."""
    queue = Queue(20, 0)
    queue.connect()
    queue.answer()
    queue.arrive(3)
    queue.behind.look_again()
    queue.answer()
    queue.take(2)
    assert queue.behind.is_behind
    queue.take(1)
    assert not queue.behind.is_behind


def test_messages_that_need_no_receipt_come_before_the_answer() -> None:
    """Of QoS 0 nothing waits for a place: one answer is enough, and what is passed over is not waited for."""
    queue = Queue(20, 0)
    queue.connect()
    for _ in range(50):
        queue.behind.came(counts=False)
    queue.answer()
    assert queue.behind.is_behind
    queue.behind.passed_over()
    queue.behind.hand_over(49)
    assert not queue.behind.is_behind


@given(window=st.integers(1, 5), events=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_a_broker_that_waits_for_receipts_is_not_made_to_wait(window: int, events: list[tuple[int, int]]) -> None:
    """Whenever its window is full, whatever has come and gone before, it counts as full; and never while nothing is open."""
    queue = Queue(window, 0)
    queue.connect()
    for arriving, taken in events:
        queue.arrive(arriving)
        assert queue.behind.is_full or queue.on_its_way < window
        queue.take(min(taken, queue.on_its_way))
        assert queue.behind.is_full or queue.on_its_way < window
        assert queue.on_its_way or not queue.behind.is_full

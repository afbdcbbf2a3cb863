"""Receipts: a source whose protocol has them is told when what it brought counts."""

from __future__ import annotations

from typing import Any

import pytest

from engine.running import BACKENDS, plan_of, records, run
from tidelog import Engine, MemorySink, MemorySource
from tidelog.runtime.ports.interfaces import Batch


class ReceiptSource(MemorySource):
    """Notes its receipts, and how many answers there were by then; at the first, its connection may be lost."""

    def __init__(self, facts: list[Batch], sink: MemorySink, *, fails: bool = False) -> None:
        super().__init__(facts)
        self.receipts: list[tuple[int, int]] = []
        self._sink, self._fails = sink, fails

    def acknowledge(self, position: dict[str, Any]) -> None:
        self.receipts.append((position["packet"], len(self._sink.answers)))
        if self._fails:
            self._fails = False
            raise ConnectionResetError("connection lost")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fails", [False, True])
def test_a_source_gets_its_receipts_in_order(backend: str, fails: bool) -> None:
    """The last receipt is for the last batch; a receipt that cannot be given stops nothing."""
    plan = plan_of("timeline integer. seen(X) :- p(X).")
    sink = MemorySink()
    facts = [Batch(records(plan, [f"p(a)@{time}"]), position={"packet": time}) for time in range(50)]
    source = ReceiptSource([*facts, Batch(records(plan, ["p(a)@60"]))], sink, fails=fails)
    run(backend, Engine(plan, [source], [sink]).run)
    packets = [packet for packet, _ in source.receipts]
    assert packets == sorted(set(packets))
    assert packets[-1] == 49
    assert len(sink.answers) == 51


def test_a_receipt_that_wants_to_be_awaited_is_refused() -> None:
    """It would never be given, and nobody would hear of that."""

    class Waiting(MemorySource):
        async def acknowledge(self, position: dict[str, Any]) -> None:
            """Wait for the other side."""

    with pytest.raises(TypeError, match="`acknowledge` is a plain method"):
        Engine(plan_of("timeline integer. seen(X) :- p(X)."), [Waiting([])], [MemorySink()])

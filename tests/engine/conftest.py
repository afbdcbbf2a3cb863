"""What the engine's tests share: nothing is left open, and recursion without end is given up early."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tidelog.runtime.network import loop_control


@pytest.fixture(autouse=True, scope="module")
def short_ends() -> Iterator[None]:
    """Follow recursion behind the stream's end for 300 steps, which is far for streams of a dozen time units."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_control, "END_ROUNDS", 300)
        yield


@pytest.fixture(autouse=True, scope="module")
def settled_heap() -> None:
    """Let the collector pass over what was there before, so that collecting after each test is cheap.

    That stays so: were it looked through again, each module would pay for all that was ever imported.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left_open(settled_heap: None) -> Iterator[None]:
    """Collect garbage after each test: a stream left open warns then, and warnings are errors."""
    yield
    gc.collect()

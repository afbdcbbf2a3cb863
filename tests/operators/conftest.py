"""Operators under test forget at once: what is forgotten in rounds of hundreds would otherwise never be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidelog.operators import coverage, since, time_index


@pytest.fixture(scope="module", autouse=True)
def forgetful() -> Iterator[None]:
    """Let every store look at its rows as soon as anything has come in."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (coverage, since, time_index):
            patch.setattr(module, "_SMALLEST_ROUND", 0)
        yield

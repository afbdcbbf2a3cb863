"""Operators under test forget at once: what is forgotten in rounds of hundreds would otherwise never be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from limits import limits


@pytest.fixture(scope="module", autouse=True)
def forgetful() -> Iterator[None]:
    """Let every store look at its rows as soon as anything has come in."""
    with limits(round=0):
        yield

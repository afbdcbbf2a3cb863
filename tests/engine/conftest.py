"""What is left open by a test is found while it is still known which test it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """Collect garbage after each test: a stream left open warns then, and warnings are errors."""
    yield
    gc.collect()

"""The server runs on trio alone."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "trio"

"""The tests of Kafka use the cluster in `tests/gateway/kafkas.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "gateway"))


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests; the kit tries both."""
    return "trio"

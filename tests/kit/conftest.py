"""The kit's tests use brokers and wires of the gateway's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "gateway"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What sends thousands of messages by a real wire takes long."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "nothing_piles_up" in item.name and "itself" not in item.path.name:
            item.add_marker("long")

"""What the tests of tables share: outboxes that are filled through a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tidelog.plans.data.facts import Record

from .filling import PROGRAM, Fill, fill_outbox
from .homes import Home


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Put facts into the outbox of a node, in one commit; returns its directory."""

    def fill(
        node: str, records: Sequence[Record], program: str = PROGRAM, frontier: int = 0, *, holds_changes: bool = False
    ) -> str:
        path = tmp_path / f"outbox-{node}"
        return fill_outbox(path, node, records, program, frontier, holds_changes=holds_changes)

    return fill


@pytest.fixture(params=["delta", "iceberg"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Where tables are, of each kind."""
    return Home(request.param, tmp_path / "homes", monkeypatch)


@pytest.fixture
def tables(home: Home) -> str:
    """What commands call the place where tables are, of each kind."""
    return home.tables

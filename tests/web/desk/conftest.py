"""A desk of its own for each test, and pages that end with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from web.desk.desks import MILLISECONDS, DeskPlant, desk

expect.set_options(timeout=MILLISECONDS)


@pytest.fixture
def closing(browser: Browser) -> Iterator[None]:
    """No page outlasts its test."""
    yield
    for context in browser.contexts:
        context.close()


@pytest.fixture
def running() -> Iterator[DeskPlant]:
    """A desk of its own for each test."""
    with desk() as found:
        yield found

"""The server runs on trio alone; the page is seen in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "trio"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, as `.ci/chromium` installs it; without one the tests fail."""
    path = shutil.which("chromium")
    assert path is not None, "chromium is missing: .ci/chromium installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--font-render-hinting=none"])
        yield browser
        browser.close()

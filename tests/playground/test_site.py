"""The site as MkDocs builds it, in Chromium: what is found, where old addresses lead, what it loads."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from children import WAIT
from pages.finding import MOVED
from pages.recipes import ROOT
from playground.served import served
from playground.test_finding import SOUGHT

pytestmark = [pytest.mark.slow, pytest.mark.long]

LONGEST = 1000 * WAIT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, without the playground."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--site-dir", str(folder)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=WAIT, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    path = shutil.which("chromium")
    assert path, "run `make chromium` first"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own for each test; `asked` are the addresses that it asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(LONGEST)
    page = context.new_page()
    page.asked = []  # type: ignore[attr-defined] # kept with the page that they are about
    page.on("request", lambda request: page.asked.append(request.url))  # type: ignore[attr-defined]
    yield page
    context.close()


def html(name: str) -> str:
    """The address of a document within the site."""
    return name.removesuffix(".md") + ".html"


def test_the_search_has_the_words(site: Path) -> None:
    """Each with the page that it leads to."""
    entries = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    tagged = {(word, entry["location"]) for entry in entries for word in entry.get("tags", ())}
    assert tagged >= {(word, html(name)) for word, name in SOUGHT.items()}


@pytest.mark.parametrize(("word", "name"), SOUGHT.items())
def test_the_first_that_is_found_is_the_right_one(word: str, name: str, page: Page, address: str) -> None:
    """As who types it into the field sees it."""
    page.goto(f"{address}/index.html")
    page.locator(".md-search__input").first.click()
    page.keyboard.type(word)
    first = page.locator(".md-search-result__item > a").first
    expect(first).to_have_attribute(
        "href", re.compile(rf"^{re.escape(address)}/{re.escape(html(name))}\?h="), timeout=LONGEST
    )


def test_the_home_page_shows_the_film_and_asks_nobody_else(page: Page, address: str) -> None:
    """In the dark the dark one; a still picture for who wants nothing to move. All that it loads is of the site."""
    page.goto(f"{address}/index.html")
    shown = "document.querySelector('picture img').currentSrc"
    assert page.evaluate(shown).endswith("pictures/film-light.webp")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{shown}.endsWith('pictures/film-dark.webp')")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.wait_for_function(f"{shown}.endsWith('pictures/still-dark.webp')")
    page.wait_for_load_state("networkidle")
    asked = [url for url in page.asked if not url.startswith(("data:", "blob:"))]  # type: ignore[attr-defined]
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith(address)] == []
    assert page.locator("header a.md-source").get_attribute("href") == "https://github.com/tidelog/tidelog"


@pytest.mark.parametrize("name", MOVED)
def test_an_old_address_leads_to_the_page(name: str, page: Page, address: str) -> None:
    """With the place on the page that was asked for."""
    page.goto(f"{address}/{html(name)}#here")
    page.wait_for_url(f"{address}/{html(MOVED[name])}#here")
    assert page.locator("h1").is_visible()


def test_machines_find_a_list_of_all_pages(site: Path) -> None:
    """Each with its title and what it says first."""
    text = (site / "llms.txt").read_text("utf-8")
    found = re.findall(r"^- \[([^]]+)\]\(([^)]+)\): \S.*$", text, re.MULTILINE)
    documents = {html(str(path.relative_to(ROOT / "docs"))) for path in (ROOT / "docs").rglob("*.md")}
    assert {place for _, place in found} == documents
    assert ("Two thresholds (hysteresis)", "howto/recipes/hysteresis.html") in found
    assert text.startswith("# tidelog\n\n> tidelog watches")


def test_there_is_one_mark(site: Path) -> None:
    """The site has that of the gateway's page."""
    mark = (site / "pictures" / "logo.svg").read_bytes()
    assert mark == (ROOT / "connectors" / "http" / "page" / "favicon.svg").read_bytes()
    assert b'href="pictures/logo.svg"' in (site / "index.html").read_bytes()


@pytest.mark.parametrize("name", ["film-light", "film-dark"])
def test_the_film_is_light_enough_for_the_head_of_a_page(name: str) -> None:
    """At most 500 KB."""
    assert 0 < (ROOT / "docs" / "pictures" / f"{name}.webp").stat().st_size <= 500_000

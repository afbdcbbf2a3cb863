"""The page in a real browser: what it shows, by keyboard, on a phone, in the dark, and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, Route, expect

from web.comparing import MOST, assert_looks_like, difference
from web.plant import NOW, TOKEN, Plant, plant

pytestmark = pytest.mark.long

MILLISECONDS = 60_000
"""How long the browser may take for what takes moments on an idle machine."""
expect.set_options(timeout=MILLISECONDS)
SIZES = {"wide": (1400, 1000), "phone": (390, 844)}


@pytest.fixture(scope="module")
def running() -> Iterator[Plant]:
    """A plant for all tests of this file."""
    with plant() as found:
        yield found


def open_page(browser: Browser, url: str, size: str = "wide", scheme: Any = "light", shows: str = "#timeline svg") -> Page:
    """The page once it `shows` what there is. Whatever the browser complains about fails the test, as `complaints` says."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB", timezone_id="UTC"
    )
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.complaints = []  # type: ignore[attr-defined] # kept with the page that they are about
    page.on("console", lambda said: page.complaints.append(said.text))  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.complaints.append(str(error)))  # type: ignore[attr-defined]
    page.goto(url)
    page.wait_for_selector("#status.good")
    page.wait_for_selector(shows)
    page.wait_for_selector("#graph svg .tl-live:not(:empty)")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_page_looks_as_it_did(browser: Browser, running: Plant, tmp_path: Path, size: str, scheme: str) -> None:
    """In light and in the dark, on a screen and on a phone."""
    page = open_page(browser, running.url, size, scheme)
    assert_looks_like(page.screenshot(full_page=True), f"{size}-{scheme}", tmp_path)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.complaints == []  # type: ignore[attr-defined]


def test_it_shows_what_holds_what_may_follow_and_what_was_of_no_use(browser: Browser, running: Plant) -> None:
    """Each section tells what the run knows."""
    page = open_page(browser, running.url)
    held = page.locator("#now li").all_inner_texts()
    assert any("overheated" in text and "press-1" in text and "since 11:58:50" in text for text in held)
    assert page.title() == f"({len(held)}) plant"
    possible = page.locator("#possible summary").first.inner_text()
    assert "worn" in possible
    assert "left" in possible
    assert "mqtt plant/+/temp" in page.locator("#sources summary").first.inner_text()
    letters = page.locator("#letters li").all_inner_texts()
    assert any("plant/saw-4/temp:812" in text and "expected number" in text for text in letters)
    assert "131.5" in page.locator("#violations").inner_text()
    assert "rows" in (page.locator('#graph [data-box="step overheated"] .tl-live').text_content() or "")
    assert page.locator("#timeline rect.bar.on").count() >= 1


def test_the_head_is_not_green_while_an_end_is_away(browser: Browser, running: Plant) -> None:
    """It names the ends whose other side is not there, and is green again when they are."""
    page = open_page(browser, running.url)
    away = ["alarms"]

    def answer(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), "away": away})

    page.route("**/api/state*", answer)
    expect(page.locator("#status.bad")).to_have_text("away: alarms")
    away.clear()
    expect(page.locator("#status.good")).to_have_text("running")


def test_the_head_says_how_a_gateway_stands_beside_the_other_one(browser: Browser, running: Plant) -> None:
    """Who leads, with what is away and what was set aside; and who follows, which is ready for nothing else."""
    page = open_page(browser, running.url)
    shown = {"role": "leads", "epoch": 3, "since": NOW, "lag": 2, "lag_seconds": 1.5, "is_alone": False}
    more: dict[str, object] = {"away": ["alarms"], "aside": ["warm"]}

    def answer(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), **more, "standby": shown})

    page.route("**/api/state*", answer)
    told = "leads since 12:00:00 (epoch 3) · degraded: warm set aside · away: alarms"
    expect(page.locator("#status.bad")).to_have_text(told)
    more |= {"away": [], "aside": []}
    expect(page.locator("#status.good")).to_have_text("leads since 12:00:00 (epoch 3)")
    shown["is_alone"] = True
    expect(page.locator("#status.bad")).to_have_text("leads alone since 12:00:00 (epoch 3)")
    shown["role"], more["ready"] = "follows", False
    expect(page.locator("#status.bad")).to_have_text("stands by, lacks 2 commits for 1.5 s (epoch 3)")
    shown["is_alone"] = False
    expect(page.locator("#status.good")).to_have_text("stands by since 12:00:00 (epoch 3)")


ACTOR = {
    "name": "warm",
    "island": 0,
    "shard": 0,
    "process": 4711,
    "facts": 1234,
    "inbox": 3,
    "rows": 56,
    "seconds": 1.5,
    "restarts": 2,
    "poisons": 0,
    "frontier": NOW,
    "lag": 0.0,
    "waits_for": "facts",
    "aside": "",
}


def test_actors_are_shown_where_a_run_is_spread(browser: Browser, running: Plant) -> None:
    """In a table, with what each waits for; the head says which was set aside, and the table why."""
    page = open_page(browser, running.url)
    assert not page.locator("#actors").is_visible()
    shards = [ACTOR, {**ACTOR, "shard": 1}]
    late = {**ACTOR, "name": "late", "island": 1, "waits_for": "warm"}
    found: dict[str, Any] = {"actors": [*shards, late], "aside": []}
    page.route("**/api/state*", lambda route: route.fulfill(response=(was := route.fetch()), json={**was.json(), **found}))
    rows = page.locator("#actors tbody tr")
    expect(rows).to_have_count(3)
    assert rows.locator("th").all_inner_texts() == ["warm 1/2", "warm 2/2", "late"]
    expect(rows.last.locator("td").last).to_have_text("warm")
    assert page.locator("#actors thead th").count() == rows.first.locator("th, td").count()
    assert rows.first.locator("td").all_inner_texts()[:4] == ["4711", "1,234", "3", "56"]
    found |= {"actors": [*shards, {**late, "aside": "it failed 6 times"}], "aside": ["late"]}
    expect(rows.last.locator("td").last).to_have_text("set aside: it failed 6 times")
    expect(page.locator("#status.bad")).to_have_text("degraded: late set aside")
    assert page.complaints == []  # type: ignore[attr-defined]


def test_every_alarm_says_why(browser: Browser, running: Plant) -> None:
    """The rule, as it is written, and the readings that it rests on."""
    page = open_page(browser, running.url)
    page.get_by_label("Why overheated(press-1)").click()
    expect(page.locator("#why pre")).to_contain_text("(input)")
    told = page.locator("#why pre").inner_text()
    assert "by overheated(M) :- boxminus[0,30] high(M)." in told
    page.keyboard.press("Escape")
    assert not page.locator("#why").is_visible()
    page.locator("#timeline rect.bar").first.click()
    page.wait_for_selector("#why[open]")


def test_everything_is_reached_by_keyboard(browser: Browser, running: Plant) -> None:
    """Numbers lead to the sections; the timeline zooms and moves by keys, and says where it stands."""
    page = open_page(browser, running.url)
    page.keyboard.press("1")
    assert page.evaluate("document.activeElement.textContent") == "why"
    page.keyboard.press("Enter")
    page.wait_for_selector("#why[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    assert page.evaluate("document.activeElement.id") == "timeline"
    before = page.locator("#timeline svg").inner_html()
    page.keyboard.press("+")
    nearer = page.locator("#timeline svg").inner_html()
    assert nearer != before
    page.keyboard.press("ArrowLeft")
    assert page.locator("#timeline svg").inner_html() != nearer
    page.keyboard.press("0")
    assert page.locator("#timeline svg").inner_html() == before
    page.keyboard.press("5")
    assert page.evaluate("document.activeElement.id") == "letters"


def test_what_comes_is_shown_without_a_reload(browser: Browser, running: Plant) -> None:
    """A reading that comes is there within moments, and what was unfolded stays so."""
    page = open_page(browser, running.url)
    page.locator("#sources summary").first.click()
    running.send(("temp", ["press-2", 41.25], NOW + 1))
    expect(page.locator("#sources table").first).to_contain_text("temp(press-2,41.25)")
    assert page.locator("#sources details").first.evaluate("each => each.open")


def test_only_who_has_the_token_can_write(browser: Browser, running: Plant) -> None:
    """Read-only at first; who signs in hands in a fact, and hears what becomes of it."""
    page = open_page(browser, running.url)
    assert not page.locator("#write").is_visible()
    page.get_by_text("Sign in to write").click()
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("#write:not([hidden])")
    page.locator("#fact").fill(f'{{"temp":{{"machine":"new-9","celsius":12}},"time":{NOW + 100}}}')
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#write output")).to_have_text("1 taken")
    page.locator("#fact").fill("nonsense")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#write output")).to_contain_text("not valid JSON")


def test_it_needs_nothing_from_elsewhere(browser: Browser, running: Plant) -> None:
    """Every request goes to the server itself."""
    asked: list[str] = []
    context = browser.new_context()
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(running.url)
    page.wait_for_selector("#status.good")
    assert asked
    assert all(url.startswith((running.url, "data:")) for url in asked)


def test_a_lost_connection_is_told(browser: Browser, running: Plant) -> None:
    """While the server does not answer, the page says since when; then it goes on by itself."""
    page = open_page(browser, running.url)
    page.context.set_offline(True)
    page.wait_for_selector("#status.bad")
    assert page.locator("#status").inner_text().startswith("no connection since 12:00:00")
    page.context.set_offline(False)
    page.wait_for_selector("#status.good")


def test_pictures_that_differ_are_told_apart() -> None:
    """A shift by a pixel is none, a section that is missing is one."""
    page = Image.new("L", (800, 600), 250)
    draw = ImageDraw.Draw(page)
    for y in range(20, 580, 24):
        draw.rectangle((20, y, 700, y + 8), fill=40)
    moved, cut = Image.new("L", (800, 600), 250), page.copy()
    moved.paste(page, (1, 0))
    ImageDraw.Draw(cut).rectangle((0, 200, 800, 300), fill=250)
    assert difference(page, moved) <= MOST
    assert difference(page, cut) > MOST
    assert difference(page, page.resize((400, 600))) == 1.0

"""What people do with alarms on the page, in a real browser: on a screen, on a phone, by keyboard, two at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tidelog.connectors.http.settings import UserSettings
from web.desk.desks import DeskPlant, desk, does, fill, line, open_desk

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("closing")]

SIZES = ["wide", "phone"]


def states(page: Page) -> list[str]:
    """What is said of the alarms that are shown, in order."""
    return [" ".join(text.split()) for text in page.locator("#rows .alarm .state").all_inner_texts()]


@pytest.mark.parametrize("size", SIZES)
def test_who_acts_is_asked_once(browser: Browser, running: DeskPlant, size: str) -> None:
    """Acknowledging asks for a name the first time, and is done by that name from then on."""
    page = open_desk(browser, running.url, size=size)
    line(page, "Pump P1").get_by_role("button", name="Acknowledge").click()
    page.get_by_label("Your name").fill("Anna")
    fill(page)
    expect(line(page, "Pump P1")).to_contain_text("acknowledged by Anna")
    line(page, "Room north").get_by_role("button", name="Acknowledge").click()
    expect(line(page, "Room north")).to_contain_text("acknowledged by Anna")
    expect(page.locator("#views .count")).to_have_text("2")
    assert page.complaints == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES)
def test_each_action_is_done_and_told(browser: Browser, running: DeskPlant, size: str) -> None:
    """Comment, shelve, unshelve, out of service, restore, acknowledge: what becomes of the alarm, and who did what."""
    page = open_desk(browser, running.url, size=size, who="Anna")
    does(page, "Room north", "comment")
    fill(page, comment="door open")
    expect(page.locator("#alarm .known")).to_contain_text("door open")
    page.locator("#alarm [data-action=shelve]").click()
    fill(page, comment="until the repair", lasting="2 h")
    expect(page.locator("#alarm .known")).to_contain_text("until 14:00:0")
    expect(page.locator("#banner [data-state=shelved]")).to_have_text("1 shelved")
    page.locator("#alarm [data-action=unshelve]").click()
    expect(page.locator("#alarm .known")).to_contain_text("unacknowledged")
    page.locator("#alarm [data-action=remove]").click()
    fill(page)
    expect(page.locator("#banner [data-state=out_of_service]")).to_have_text("1 out of service")
    page.locator("#alarm [data-action=restore]").click()
    fill(page, comment="mended")
    expect(page.locator("#alarm [data-action=acknowledge]")).to_be_enabled()
    page.locator("#alarm [data-action=acknowledge]").click()
    expect(page.locator("#alarm .known")).to_contain_text("Anna")
    expect(page.locator("#alarm .entries .deed")).to_have_count(6)
    told = page.locator("#alarm .entries .deed .what").all_inner_texts()
    assert [text.split(" by Anna")[0].removeprefix("✎ ") for text in told] == [
        "acknowledged",
        "restored",
        "taken out of service",
        "unshelved",
        "shelved",
        "commented",
    ]
    page.get_by_role("button", name="Close").click()
    page.locator("#views [data-view=history]").click()
    expect(page.locator("#entries .deed")).to_have_count(6)
    expect(page.locator("#entries .began")).to_have_count(4)
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_shelf_lasts_as_long_as_the_alarm_allows(browser: Browser, running: DeskPlant) -> None:
    """What is offered ends with the longest that is allowed; what cannot be shelved has no such button."""
    page = open_desk(browser, running.url, who="Anna")
    does(page, "Pump P1", "shelve")
    assert page.locator("#ask .choice").all_inner_texts() == ["5 min", "15 min", "30 min"]
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    line(page, "Room attic").locator(".what").click()
    expect(page.locator("#alarm [data-action=comment]")).to_be_visible()
    assert page.locator("#alarm [data-action=shelve]").count() == 0


def test_a_shelf_ends_by_itself(browser: Browser, running: DeskPlant) -> None:
    """Once its time has come the alarm is back, without anybody doing anything."""
    page = open_desk(browser, running.url, who="Anna")
    does(page, "Room north", "shelve")
    fill(page, lasting="5 min")
    page.get_by_role("button", name="Close").click()
    expect(line(page, "Room north")).to_have_count(0)
    running.go_on(200)
    page.locator("#banner [data-state=shelved]").click()
    expect(line(page, "Room north")).to_contain_text("until 12:05:0")
    page.goto(page.url.partition("#")[0])
    running.go_on(400)
    expect(line(page, "Room north")).to_contain_text("unacknowledged")


@pytest.mark.parametrize("size", SIZES)
def test_all_that_are_selected_are_acted_on(browser: Browser, running: DeskPlant, size: str) -> None:
    """One action for several alarms; where some cannot be shelved, the page says so."""
    page = open_desk(browser, running.url, size=size, who="Anna")
    page.get_by_label("Select all").check()
    expect(page.locator("#chosen b")).to_have_text("4 selected")
    page.locator("#chosen [data-action=acknowledge]").click()
    expect(page.locator("#said")).to_have_text("4 acknowledged")
    assert states(page) == ["✓ acknowledged by Anna"] * 4
    expect(page.locator("#chosen")).to_be_hidden()
    page.get_by_label("Select all").check()
    page.locator("#chosen [data-action=shelve]").click()
    expect(page.locator("#ask .note")).to_have_text("1 of them cannot be shelved.")
    assert page.locator("#ask .choice").last.inner_text() == "30 min"
    fill(page, lasting="15 min")
    expect(page.locator("#banner [data-state=shelved]")).to_have_text("3 shelved")
    expect(page.locator("#rows .alarm")).to_have_count(1)


def test_an_action_is_shown_at_once_and_corrected_by_its_answer(browser: Browser, running: DeskPlant) -> None:
    """While it is on its way the line says so; where the server refuses it, the line says why, and is as it was."""
    page = open_desk(browser, running.url, who="Anna")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/alarms/*/acknowledge*", hold)
    line(page, "Room north").get_by_role("button", name="Acknowledge").click()
    expect(line(page, "Room north")).to_contain_text("acknowledged by Anna")
    expect(line(page, "Room north")).to_have_attribute("aria-busy", "true")
    held[0].fulfill(status=409, json={"error": "the disk is full"})
    expect(line(page, "Room north").locator(".error")).to_have_text("Acknowledge: the disk is full")
    expect(line(page, "Room north").locator(".state")).to_contain_text("unacknowledged")
    line(page, "Room south").get_by_role("button", name="Acknowledge").click()
    expect(line(page, "Room south")).to_have_attribute("aria-busy", "true")
    held[1].abort()
    expect(line(page, "Room south").locator(".error")).to_contain_text("no answer came")
    page.unroute("**/alarms/*/acknowledge*")
    line(page, "Room north").get_by_role("button", name="Acknowledge").click()
    expect(line(page, "Room north").locator(".error")).to_have_count(0)
    expect(line(page, "Room north")).to_contain_text("acknowledged by Anna")


def test_an_error_is_told_where_the_action_was(browser: Browser, running: DeskPlant) -> None:
    """In the sheet of the alarm, too."""
    page = open_desk(browser, running.url, who="Anna")
    page.route("**/alarms/*/comment*", lambda route: route.fulfill(status=503, json={"error": "the engine is busy"}))
    does(page, "Room north", "comment")
    fill(page, comment="door open")
    expect(page.locator("#alarm .error")).to_have_text("Comment: the engine is busy")
    expect(page.locator("#alarm .known")).not_to_contain_text("door open")


def test_two_operators_see_what_the_other_does(browser: Browser, running: DeskPlant) -> None:
    """Without a reload, within moments."""
    anna = open_desk(browser, running.url, who="Anna")
    bob = open_desk(browser, running.url, size="phone", who="Bob")
    line(anna, "Pump P1").get_by_role("button", name="Acknowledge").click()
    expect(line(bob, "Pump P1")).to_contain_text("acknowledged by Anna")
    does(bob, "Room south", "shelve")
    fill(bob, lasting="1 h")
    expect(line(anna, "Room south")).to_have_count(0)
    anna.locator("#banner [data-state=shelved]").click()
    expect(line(anna, "Room south")).to_contain_text("by Bob")
    does(anna, "Room south", "comment")
    fill(anna, comment="thank you")
    expect(bob.locator("#alarm .known")).to_contain_text("thank you")


def test_all_is_done_by_keyboard(browser: Browser, running: DeskPlant) -> None:
    """Move, select, act, search, and help."""
    page = open_desk(browser, running.url, who="Anna")
    expect(page.locator("#rows .alarm")).to_have_count(4)
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert "Room north" in (page.evaluate("document.activeElement.getAttribute('aria-label')") or "")
    page.keyboard.press("a")
    expect(line(page, "Room north")).to_contain_text("acknowledged by Anna")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator("#chosen b")).to_have_text("1 selected")
    page.keyboard.press("s")
    page.keyboard.press("Tab")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#banner [data-state=shelved]")).to_have_text("1 shelved")
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("attic")
    expect(page.locator("#rows .alarm")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#alarm")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.get_by_label("Search").input_value() == ""
    page.keyboard.press("?")
    expect(page.locator("#key-list")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    expect(page.locator("#alarm .told pre")).to_be_visible()
    assert page.complaints == []  # type: ignore[attr-defined]


def test_one_hand_is_enough_on_a_phone(browser: Browser, running: DeskPlant) -> None:
    """What is done with an alarm stands in a sheet at the bottom, with buttons as large as a thumb; so for many of them."""
    page = open_desk(browser, running.url, size="phone", who="Anna")
    line(page, "Room north").locator(".what").click()
    expect(page.locator("#alarm")).to_be_visible()
    page.wait_for_timeout(400)  # it has risen
    box = page.locator("#alarm").bounding_box()
    assert box is not None
    assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 390, 844)
    page.get_by_role("button", name="Close").click()
    page.get_by_label("Select all").check()
    for place in ("#alarm .acts button", "#chosen .acts button"):
        sizes = page.evaluate(
            f"[...document.querySelectorAll('{place}')].map(each => parseFloat(getComputedStyle(each).minHeight))"
        )
        assert sizes
        assert min(sizes) >= 44
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_token_with_a_name_acts_by_that_name_and_its_role(browser: Browser) -> None:
    """Who has not signed in may see; who operates may not take an alarm out of service; nobody is asked for a name."""
    token = "a-token-of-the-operator"  # noqa: S105 - of this test
    with desk(users=[UserSettings("anna", "operate", token)]) as running:
        page = open_desk(browser, running.url)
        expect(page.locator("#rows .alarm")).to_have_count(4)
        assert page.locator("#rows").get_by_role("button", name="Acknowledge").count() == 0
        page.get_by_text("Sign in to act").click()
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        line(page, "Pump P1").get_by_role("button", name="Acknowledge").click()
        expect(line(page, "Pump P1")).to_contain_text("acknowledged by anna")
        line(page, "Pump P1").locator(".what").click()
        expect(page.locator("#alarm [data-action=comment]")).to_be_visible()
        assert page.locator("#alarm [data-action=remove]").count() == 0

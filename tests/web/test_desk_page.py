"""The page as a desk, in a real browser: each action, on a screen and on a phone, by keyboard, for two operators at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tidelog.connectors.http.settings import UserSettings
from waiting import eventually
from web.desks import HOUR, MILLISECONDS, DeskPlant, desk, open_desk
from web.plant import Plant, plant

pytestmark = pytest.mark.long

expect.set_options(timeout=MILLISECONDS)
SIZES = ["wide", "phone"]


@pytest.fixture(autouse=True)
def _closed(browser: Browser) -> Iterator[None]:
    """No page outlasts its test."""
    yield
    for context in browser.contexts:
        context.close()


@pytest.fixture
def running() -> Iterator[DeskPlant]:
    """A desk of its own for each test."""
    with desk() as found:
        yield found


def line(page: Page, text: str) -> Locator:
    """The line of an alarm."""
    return page.locator("#rows .alarm", has_text=text)


def does(page: Page, text: str, action: str) -> None:
    """Open an alarm, and choose what is done with it."""
    line(page, text).locator(".what").click()
    page.locator(f"#alarm [data-action={action}]").click()


def fill(page: Page, *, comment: str | None = None, lasting: str | None = None) -> None:
    """Fill in what an action asks for, and have it done."""
    sheet = page.locator("#ask")
    if comment is not None:
        sheet.locator("textarea").fill(comment)
    if lasting is not None:
        sheet.get_by_label(lasting, exact=True).check()
    sheet.locator("[type=submit]").click()


def states(page: Page) -> list[str]:
    """What is said of the alarms that are shown, in order."""
    return [" ".join(text.split()) for text in page.locator("#rows .alarm .state").all_inner_texts()]


@pytest.mark.parametrize("size", SIZES)
def test_the_most_urgent_alarm_comes_first(browser: Browser, running: DeskPlant, size: str) -> None:
    """A line has a shape with a letter for its priority, a name for those who hear it, and nothing of it is green."""
    page = open_desk(browser, running.url, size=size)
    expect(page.locator("#rows .alarm")).to_have_count(4)
    told = page.locator("#rows .alarm .what b").all_inner_texts()
    assert told == ["Pump P1 stands still", "Room north is too warm", "Room south is too warm", "Room attic is drafty"]
    assert page.locator("#rows .badge text").all_text_contents() == ["C", "H", "H", "L"]
    assert page.locator("#rows .alarm").first.get_attribute("aria-label") == "critical: Pump P1 stands still, unacknowledged"
    assert page.title() == "(4) plant"
    colours = page.evaluate(
        "[...document.querySelectorAll('#rows .badge, #rows .mark')].map(each => getComputedStyle(each)).flatMap("
        "each => [each.color, each.fill])"
    )
    for colour in colours:
        red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
        assert green <= max(red, blue), colour
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.complaints == []  # type: ignore[attr-defined]


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


def test_filters_stay_in_the_address(browser: Browser, running: DeskPlant) -> None:
    """Search, states, priorities, group and order: who opens the address sees the same."""
    page = open_desk(browser, running.url, who="Anna")
    page.get_by_label("Search").fill("room")
    page.locator("#priorities [data-priority=high]").click()
    page.locator("#states [data-state=shelved]").click()
    page.get_by_label("Group by").select_option("place")
    page.get_by_label("Sort by").select_option("oldest")
    hash_ = page.url.partition("#")[2]
    assert hash_ == (
        "q=room&state=unacknowledged,returned_unacknowledged,acknowledged,shelved&priority=high&group=place&sort=oldest"
    )
    other = open_desk(browser, page.url)
    expect(other.locator("#rows .group")).to_have_count(2)
    expect(other.locator("#rows .alarm")).to_have_count(4)
    assert other.get_by_label("Search").input_value() == "room"
    other.get_by_label("Search").fill("nothing like this")
    expect(other.locator("#none")).to_contain_text("No alarm matches.")
    other.locator("#unfilter").click()
    expect(other.locator("#rows .alarm:not(.group)")).to_have_count(4)


def test_alarms_are_grouped_by_cause_place_or_rule(browser: Browser, running: DeskPlant) -> None:
    """What is folded into a cause stands below it, behind a count that unfolds; groups fold."""
    page = open_desk(browser, running.url, who="Anna")

    def fold(route: Route) -> None:
        found = route.fetch()
        if found.status != 200:  # it has this list already
            route.fulfill(response=found)
            return
        told = found.json()
        cause, *others = told["alarms"]
        for other in others[:2]:
            other["cause"] = cause["id"]
        cause["folded"] = 2
        route.fulfill(response=found, json=told)

    page.route("**/alarms?*", fold)
    page.reload()
    expect(page.locator("#rows .alarm")).to_have_count(2)
    pump = line(page, "Pump P1")
    pump.get_by_role("button", name="Unfold 2 of Pump P1 stands still").click()
    expect(page.locator("#rows .below-cause")).to_have_count(2)
    pump.get_by_role("button", name="Fold 2 of").click()
    pump.get_by_role("checkbox").check()
    expect(page.locator("#chosen b")).to_have_text("3 selected")
    page.keyboard.press("Escape")
    page.get_by_label("Group by").select_option("rule")
    expect(page.locator("#rows .group")).to_have_count(3)
    page.get_by_role("button", name="Fold 2 of too_warm").click()
    expect(line(page, "Room north")).to_have_count(0)


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


def test_why_shows_the_values_behind_an_alarm(browser: Browser, running: DeskPlant) -> None:
    """The rules as text, and a dot for each value that it rests on, none between them."""
    page = open_desk(browser, running.url)
    line(page, "Room north").locator(".what").click()
    page.get_by_role("button", name="Why does it hold?").click()
    expect(page.locator("#alarm .told pre")).to_contain_text("by too_warm(R) :- boxminus[0,4] high(R).")
    assert page.locator("#alarm figcaption").all_inner_texts() == ["temp(north), celsius"]
    label = page.locator("#alarm .chart").get_attribute("aria-label")
    assert label == "temp(north), celsius: 5 values from 8 to 10, the last 10"
    assert page.locator("#alarm .chart circle").count() == 5
    assert page.locator("#alarm .chart path, #alarm .chart polyline").count() == 0


def test_a_page_that_was_away_for_an_hour_is_up_to_date(browser: Browser, running: DeskPlant) -> None:
    """It says since when it shows what was; then what has come and gone, and rings once."""
    page = open_desk(browser, running.url, who="Anna")
    expect(page.locator("#rows .alarm")).to_have_count(4)
    page.clock.install()
    page.context.set_offline(True)
    page.clock.run_for(3000)
    expect(page.locator("#banner")).to_contain_text("No connection since")
    page.clock.fast_forward(3600_000)
    running.send(("stands", ("P2",), HOUR + 60, HOUR + 900))
    running.go_on(HOUR + 100)
    page.context.set_offline(False)
    page.clock.resume()
    expect(line(page, "Pump P1")).to_have_count(0)
    expect(line(page, "Pump P2")).to_have_count(1)
    expect(line(page, "Room north")).to_contain_text("returned, unacknowledged")
    expect(page.locator("#banner")).to_contain_text(re.compile("Back after 1 h|Back after 60 min|Back after 6. min"))
    expect(page.locator("#status.good")).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#banner")).not_to_contain_text("Back after")


def test_sound_and_notices_tell_of_new_alarms_alone(browser: Browser, running: DeskPlant) -> None:
    """Both are off until somebody wants them; what is open already, or acknowledged, is not told of."""
    page = open_desk(browser, running.url, permissions=["notifications"], who="Anna")
    page.context.add_init_script(
        """window.told = [];
        window.Notification = class { constructor(title) { window.told.push(title); }
          static requestPermission() { return Promise.resolve("granted"); } };
        const create = AudioContext.prototype.createOscillator;
        AudioContext.prototype.createOscillator = function () { window.told.push("tone"); return create.call(this); };"""
    )
    page.reload()
    expect(page.locator("#rows .alarm")).to_have_count(4)
    assert page.evaluate("told") == []
    page.get_by_role("button", name="Notices").click()
    expect(page.get_by_role("button", name="Notices")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Sound").click()
    expect(page.get_by_role("button", name="Sound")).to_have_attribute("aria-pressed", "true")
    eventually(lambda: page.evaluate("told.length > 0"))
    page.evaluate("told.length = 0")
    line(page, "Room north").get_by_role("button", name="Acknowledge").click()
    expect(line(page, "Room north")).to_contain_text("acknowledged by Anna")
    running.send(("temp", ("cellar", -1.5), 30, HOUR))
    running.go_on(31)
    expect(line(page, "Room cellar")).to_have_count(1)
    eventually(lambda: page.evaluate("told.length > 1"))
    assert sorted(page.evaluate("told")) == ["Room cellar is drafty", "tone"]


def test_the_desk_speaks_german(browser: Browser, running: DeskPlant) -> None:
    """By the browser's language, or by a button, which it remembers; each text of one language is there in the other."""
    page = open_desk(browser, running.url, locale="de-DE")
    expect(line(page, "Pump P1")).to_contain_text("unquittiert")
    line(page, "Pump P1").get_by_role("button", name="Quittieren").click()
    expect(page.get_by_label("Ihr Name")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.lang") == "de"
    page.locator("#views [data-view=run]").click()
    expect(page.locator("#now h2")).to_contain_text("Gilt jetzt")
    page.locator("#language").click()
    expect(page.locator("#now h2")).to_contain_text("Holding now")
    page.reload()
    expect(page.locator("#now h2")).to_contain_text("Holding now")
    lacking = page.evaluate(
        """async () => { const { TEXTS } = await import("/static/texts.js");
        const names = Object.keys(TEXTS.en);
        const places = (text) => JSON.stringify((text.match(/\\{\\w+\\}/g) ?? []).sort());
        return [...names.filter((name) => !(name in TEXTS.de) || places(TEXTS.en[name]) !== places(TEXTS.de[name])),
                ...Object.keys(TEXTS.de).filter((name) => !(name in TEXTS.en)),
                ...[...document.querySelectorAll("[data-text]:not([data-key])")].map((each) => each.dataset.text)
                     .filter((name) => !(name in TEXTS.en))]; }"""
    )
    assert lacking == []
    assert page.complaints == []  # type: ignore[attr-defined]


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


def test_an_alarm_that_is_suppressed_is_counted(browser: Browser, running: DeskPlant) -> None:
    """What is suppressed by design stands in the banner, and is shown where it is asked for."""
    page = open_desk(browser, running.url)
    running.send(("maintenance", ("north",), 20, HOUR))
    running.go_on(21)
    page.locator("#banner [data-state=suppressed]").click()
    expect(line(page, "Room north")).to_contain_text("suppressed")


def test_what_is_away_stands_in_the_banner(browser: Browser, running: DeskPlant) -> None:
    """By name."""
    page = open_desk(browser, running.url)

    def answer(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), "away": ["mqtt floor"]})

    page.route("**/api/state*", answer)
    expect(page.locator("#banner")).to_contain_text("Away: mqtt floor")


def test_nothing_is_asked_for_again_that_has_not_changed(browser: Browser, running: DeskPlant) -> None:
    """The list is asked for once, then when there is news; the stream of answers rings."""
    page = open_desk(browser, running.url)
    expect(page.locator("#rows .alarm")).to_have_count(4)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3500)
    assert not any("/alarms" in url for url in asked)
    running.send(("temp", ("cellar", -1.5), 30, HOUR))
    running.go_on(31)
    expect(line(page, "Room cellar")).to_have_count(1)
    assert any("/alarms?" in url for url in asked)


def test_a_thousand_alarms_have_few_elements(browser: Browser, running: DeskPlant) -> None:
    """Those in sight are there, and those that are scrolled to; all are counted."""
    page = open_desk(browser, running.url)
    running.send(*[("temp", (f"room-{n:04}", -1), 30, HOUR) for n in range(1000)])
    running.go_on(31)
    expect(page.locator("#views .count")).to_have_text("1,004")
    assert page.locator("#rows .alarm").count() < 80
    page.mouse.wheel(0, 1_000_000)
    expect(line(page, "room-0999")).to_have_count(1)
    assert page.locator("#rows .alarm").count() < 80
    page.get_by_label("Search").fill("room-0500")
    expect(page.locator("#rows .alarm")).to_have_count(1)
    assert page.complaints == []  # type: ignore[attr-defined]


def test_figures_are_shown_whichever_there_are(browser: Browser, running: DeskPlant) -> None:
    """Numbers by their names, times and lengths as people write them, lists as tables; one without a text by its name."""
    page = open_desk(browser, running.url, locale="de-DE")
    told = {
        "since": "2026-01-05T11:00:00Z",
        "per_10_minutes": {"average": 1.5, "flooded_share": 0.25},
        "most_frequent": [{"id": "a", "alarm": "hot", "args": ["x"], "text": "X ist heiß", "alarms": 1234, "share": 0.5}],
        "floods": [],
        "of_tomorrow": 7,
        "acknowledged": {"median_seconds": 90, "p90_seconds": None},
    }
    page.route("**/alarms/figures*", lambda route: route.fulfill(json=told))
    page.locator("#views [data-view=figures]").click()
    expect(page.locator("#alarm-figures > dl > dt")).to_have_text(
        ["von", "in 10 Minuten", "häufigste", "Fluten", "of tomorrow", "bis zur Quittierung"]
    )
    expect(page.locator("#alarm-figures table td")).to_have_text(["X ist heiß", "1.234", "50 %"])
    expect(page.locator("#alarm-figures")).to_contain_text("90 s")
    expect(page.locator("#alarm-figures")).to_contain_text("11:00:00")


def test_without_alarms_the_page_is_as_it_was(browser: Browser) -> None:
    """No desk, no views, and no request for alarms."""
    with plant() as without:
        asked = _requests(browser, without)
    assert asked
    assert not any(url.startswith((f"{without.url}alarms", f"{without.url}events")) for url in asked)


def _requests(browser: Browser, without: Plant) -> list[str]:
    asked: list[str] = []
    page = browser.new_context().new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(without.url)
    page.wait_for_selector("#timeline svg")
    assert not page.locator("#desk").is_visible()
    assert not page.locator("#views").is_visible()
    return asked

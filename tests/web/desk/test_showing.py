"""What the desk shows, in a real browser: filters, groups, reasons, figures, two languages, and a thousand alarms."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Route, expect

import tidelog
from waiting import eventually
from web.desk.desks import HOUR, DeskPlant, line, open_desk
from web.plant import Plant, plant

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("closing")]

SIZES = ["wide", "phone"]


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


def test_a_program_without_alarms_may_take_the_place(browser: Browser, running: DeskPlant) -> None:
    """After a reload the page is that of the new program."""
    page = open_desk(browser, running.url)
    expect(page.locator("#rows .alarm")).to_have_count(4)
    running.watch.replace(tidelog.compile("timeline integer, unit 1 s. input temp(room, celsius). hot(R) :- temp(R, _)."))
    expect(page.locator("#desk")).to_be_hidden()
    expect(page.locator("#views")).to_be_hidden()
    expect(page.locator("#now")).to_be_visible()
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

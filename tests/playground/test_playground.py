"""The playground in Chromium: offline, but for its own files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from children import WAIT
from pages.__main__ import BUILD
from pages.playground.building import build_playground
from pages.recipes import recipes
from playground.served import served

pytestmark = [pytest.mark.slow, pytest.mark.long]
LONGEST = 1000 * WAIT


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the playground is served."""
    folder = tmp_path_factory.mktemp("playground")
    pyodide, wheels = BUILD / "npm" / "node_modules" / "pyodide", BUILD / "wheels"
    assert pyodide.is_dir() and wheels.is_dir(), "run `make playground` first: it fetches Pyodide"
    build_playground(pyodide, wheels, folder)
    with served(folder) as address:
        yield f"{address}/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    path = shutil.which("chromium")
    assert path, "run `make chromium` first"
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def done(page: Any, text: str = "Done") -> None:
    """Wait until the page has run what it shows."""
    page.locator("#status", has_text=text).wait_for(timeout=LONGEST)


def test_playground_runs_in_the_browser(browser: Any, address: str) -> None:
    """A recipe runs, edited facts change the answers, the link brings both back, and nothing comes from elsewhere."""
    recipe = next(item for item in recipes() if item.name == "duration")
    page = browser.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}index.html#recipe=duration")
    done(page)
    assert page.text_content("#answers") == recipe.answers
    picture = page.frame_locator("#picture").locator("svg")
    assert "alarm(p1)" in picture.text_content()

    page.fill("#facts", recipe.facts.replace("p1", "p9"))
    page.click("#run")
    page.locator("#answers", has_text="p9").wait_for(timeout=LONGEST)
    assert page.text_content("#answers") == recipe.answers.replace("p1", "p9")
    page.click("#share")
    page.locator("#status", has_text="link").wait_for(timeout=LONGEST)
    link = page.url
    page.close()

    other = browser.new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(link)
    done(other)
    assert other.input_value("#facts") == recipe.facts.replace("p1", "p9")
    assert other.text_content("#answers") == recipe.answers.replace("p1", "p9")
    other.close()
    assert errors == []
    assert [url for url in asked if not url.startswith((address, "about:"))] == []


def test_playground_runs_each_recipe(browser: Any, address: str) -> None:
    """Each recipe that is chosen gives the answers of its page, with a timeline."""
    page = browser.new_page()
    page.goto(f"{address}index.html")
    done(page)
    for recipe in recipes():
        page.select_option("#recipe", recipe.name)
        done(page)
        told = page.text_content("#answers").splitlines()
        shown = [line for line in recipe.answers.splitlines() if not line.startswith(("tidelog:", f"{recipe.name}.txt:"))]
        assert (recipe.name, sorted(told)) == (recipe.name, sorted(shown))
        page.frame_locator("#picture").locator("svg").wait_for()  # more than one is an error
    page.close()


def test_playground_tells_mistakes_and_can_be_stopped(browser: Any, address: str) -> None:
    """A mistake is shown with its place; a run without end is stopped, and the next one works."""
    page = browser.new_page()
    page.goto(f"{address}index.html#recipe=rising-edge")
    done(page)
    page.fill("#program", "alarm(X, Y) :- hot(X).")
    page.click("#run")
    page.locator("#messages", has_text="unsafe-variable").wait_for(timeout=LONGEST)

    page.fill("#program", "timeline integer.\np(Z) :- q(X), q(Y), q(V), Z = X + 7 * Y + 11 * V.")
    page.fill("#facts", "\n".join(f"q({number})@0" for number in range(400)))
    page.click("#run")
    page.click("#stop")
    done(page, "Ready")
    page.select_option("#recipe", "hysteresis")
    page.locator("#answers", has_text="warning(b1)").wait_for(timeout=LONGEST)
    page.close()


def test_playground_marks_mistakes_where_they_are(browser: Any, address: str) -> None:
    """A mistake is underlined while it is typed and told beside the buttons, without scrolling; a click leads to it."""
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}index.html#recipe=rising-edge")
    done(page)
    assert page.locator("#problem").is_hidden()
    page.fill("#program", 'timeline integer. % \U0001f600\nalarm(X, Yes) :- hot(X), "<b>" != X.\n')
    problem = page.locator("#problem", has_text="Line 2: variable `Yes` in the head is bound by no positive body atom")
    problem.wait_for(timeout=LONGEST)
    assert problem.bounding_box()["y"] + problem.bounding_box()["height"] < 700
    assert page.locator("#colours .error").all_text_contents() == ["Yes"]
    assert page.text_content("#colours").strip() == page.input_value("#program").strip()
    problem.click()
    assert page.evaluate("[program.selectionStart, program.selectionEnd].map((at) => program.value.slice(0, at))") == [
        page.input_value("#program").partition("Yes")[0],
        page.input_value("#program").partition("Yes")[0] + "Yes",
    ]
    page.click("#run")
    page.locator("#messages", has_text="unsafe-variable").wait_for(timeout=LONGEST)
    assert page.locator("#colours .error").all_text_contents() == ["Yes"]
    page.fill("#program", "timeline integer.\nalarm(X) :- hot(X).\n")
    problem.wait_for(state="hidden", timeout=LONGEST)
    assert page.locator("#colours .error").count() == 0
    page.close()
    assert errors == []


def test_playground_shows_colours_and_what_words_mean(browser: Any, address: str) -> None:
    """Words in colours, in the places of what is typed; over one of them what the language server says of it."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto(f"{address}index.html#recipe=absence")
    done(page)
    kinds = {
        kind: set(page.locator(f"#colours .{kind}").all_text_contents()) for kind in ("keyword", "variable", "name", "value")
    }
    assert {"timeline", "integer", "input", "output", "within", "not"} <= kinds["keyword"]
    assert "S" in kinds["variable"]
    assert {"temp", "silent"} <= kinds["name"]
    assert {"1 min", "15 s"} <= kinds["value"]
    for word, said in (("within 1 min", "temp(S, _) has held at some time"), ("silent(S)", "derived by 1 rule")):
        at = page.evaluate(
            """(word) => {
              const texts = document.createTreeWalker(colours, NodeFilter.SHOW_TEXT);
              const begin = program.value.indexOf(word) + 1;
              for (let at = 0, node = texts.nextNode(); node; at += node.length, node = texts.nextNode()) {
                if (at + node.length <= begin) continue;
                const range = document.createRange();
                range.setStart(node, begin - at);
                range.setEnd(node, begin - at + 1);
                const box = range.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
              }
            }""",
            word,
        )
        page.mouse.move(*at)
        page.locator("#hover", has_text=said).wait_for(timeout=LONGEST)
    page.mouse.move(0, 0)
    page.locator("#hover").wait_for(state="hidden", timeout=LONGEST)
    page.close()

"""The scenes of the film, one after the other, in light and dark, and the files that they become."""

from __future__ import annotations

import base64
import io
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from pages.film.plant import PATIENCE, cold_store, token

SCHEMES = ("light", "dark")
WIDTH, HEIGHT, STRIP = 960, 560, 56
"""The page's size, and that of the strip with words above it, in pixels of a plain screen."""
SCALE = 1.5
"""How many pixels of the picture one of these is."""
MOST = 500_000
"""How many bytes a film may have: it stands at the head of README."""
_FRAME = """<!doctype html><style>
* {{ margin: 0; box-sizing: border-box }}
body {{ width: {width}px; font: 600 19px/{strip}px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif;
  background: {ground}; color: {ink} }}
p {{ height: {strip}px; padding: 0 20px; white-space: nowrap }}
img {{ display: block; width: {width}px; height: {height}px }}
svg {{ position: absolute; left: {x}px; top: {y}px }}
</style><p>{words}</p><img src="data:image/png;base64,{picture}">{pointer}"""
_COLOURS = {"light": ("#0f766e", "#ffffff"), "dark": ("#134e4a", "#e4e5e3")}
_POINTER = (
    '<svg width="26" height="30" viewBox="0 0 13 15">'
    '<path d="M1 1v11l3-3 2 5 2-1-2-5h4z" fill="#111" stroke="#fff" stroke-linejoin="round"/></svg>'
)


@dataclass
class Film:
    """Takes pictures of a page, each in light and dark, with words above it, and with a pointer where one is told."""

    page: Page
    table: Page
    """Another page, on which a picture, the words and the pointer are put together."""
    frames: dict[str, list[Image.Image]] = field(default_factory=lambda: {scheme: [] for scheme in SCHEMES})
    lasting: list[int] = field(default_factory=list)

    def shoot(self, words: str, seconds: float, pointed: Locator | None = None) -> None:
        """One picture, which is shown for so many seconds."""
        box = pointed.bounding_box() if pointed else None
        for scheme in SCHEMES:
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # `light` or `dark`
            picture = self.page.screenshot(animations="disabled", caret="hide")
            ground, ink = _COLOURS[scheme]
            self.table.set_content(
                _FRAME.format(
                    width=WIDTH,
                    height=HEIGHT,
                    strip=STRIP,
                    ground=ground,
                    ink=ink,
                    words=words,
                    picture=base64.b64encode(picture).decode(),
                    pointer=_POINTER if box else "",
                    x=box["x"] + box["width"] / 2 if box else 0,
                    y=STRIP + box["y"] + box["height"] / 2 if box else 0,
                )
            )
            whole = self.table.screenshot(animations="disabled")
            self.frames[scheme].append(Image.open(io.BytesIO(whole)).convert("RGB"))
        self.lasting.append(round(seconds * 1000))

    def click(self, words: str, pointed: Locator, seconds: float = 1) -> None:
        """Show where the pointer is, then click."""
        self.shoot(words, seconds, pointed)
        pointed.click()

    def write(self, scheme: str, folder: Path) -> None:
        """The film as WebP, which runs for ever, and the picture that is shown longest, for who wants nothing to move.

        ValueError if the film is too large.
        """
        still = self.frames[scheme][self.lasting.index(max(self.lasting))]
        still.save(folder / f"still-{scheme}.webp", lossless=True, quality=100, method=6)
        first, *rest = self.frames[scheme]
        path = folder / f"film-{scheme}.webp"
        first.save(
            path, save_all=True, append_images=rest, duration=self.lasting, loop=0, lossless=True, quality=100, method=6
        )
        if path.stat().st_size > MOST:
            raise ValueError(f"{path} has {path.stat().st_size} bytes, and {MOST} are the most: show less, or smaller")


def make_film(folder: Path) -> None:
    """Run the cold store; write `film-light.webp`, `still-light.webp`, and both in dark. It takes about two minutes."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("chromium is not there: .ci/chromium installs it")
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright, cold_store() as url:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        film = Film(_signed_in(browser, url), _page(browser, HEIGHT + STRIP))
        _play(film)
        browser.close()
    for scheme in SCHEMES:
        film.write(scheme, folder)


def _page(browser: Browser, height: int) -> Page:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": height}, device_scale_factor=SCALE, locale="en-GB", timezone_id="UTC"
    )
    context.set_default_timeout(PATIENCE * 1000)
    return context.new_page()


def _signed_in(browser: Browser, url: str) -> Page:
    """The desk, as Anna sees it."""
    page = _page(browser, HEIGHT)
    page.goto(f"{url}/login")
    page.locator("#token").fill(token("anna"))
    page.locator("[type=submit]").click()
    page.wait_for_selector("#status.good")
    return page


def _play(film: Film) -> None:
    """From a plant in which nothing is wrong to a cause that somebody has taken on."""
    page = film.page
    pump = page.locator("#rows .alarm", has_text="Pump p1")
    expect(page.locator("#none")).to_be_visible()
    film.shoot("The alarms of a cold store. Nothing is wrong.", 1.5)
    expect(pump).to_be_visible()
    film.shoot("Pump p1 trips. It sends brine to forty rooms.", 2.5)
    expect(pump.locator(".unfold")).to_contain_text("40")
    film.shoot("Forty rooms report: no brine. The list stays one line: the cause.", 3)
    film.click("Forty rooms report: no brine. The list stays one line: the cause.", pump.locator(".unfold"))
    film.shoot("The forty are all there, below it.", 2)
    film.click("The forty are all there, below it.", page.locator("#rows .below-cause .what").nth(2))
    page.wait_for_selector("#alarm[open]")
    film.click("Why does a room get no brine?", page.locator("#alarm .show"))
    page.wait_for_selector("#alarm .told pre")
    film.shoot("Why: the readings, and the rules that they went through.", 1.5)
    page.locator("#alarm .told").scroll_into_view_if_needed()
    page.locator("#alarm .told").evaluate("it => it.scrollIntoView({block: 'start'})")
    film.shoot("Why: the readings, and the rules that they went through.", 5)
    page.locator("#alarm").get_by_role("button", name="Close").click()
    expect(page.locator("#alarm")).to_be_hidden()
    film.click("Anna takes it on. Who did what, and when, is kept.", pump.get_by_role("button", name="Acknowledge"))
    expect(pump).to_contain_text("by anna")
    film.shoot("Anna takes it on. Who did what, and when, is kept.", 3)

"""Colours, text and the frame of every picture: SVG with a style sheet of its own, and no script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal

Theme = Literal["auto", "light", "dark"]
"""Which colours: those that the reader's screen asks for, or always the same."""

FONT = 11
"""The size of text."""
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_GLYPH = 6.1
"""How wide a character is, about."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of the frame, and those of what is drawn: `cool` and `warm` ones to be taken in turn, and that of alarms.

    None is green: nothing that a picture tells says that all is well.
    """

    frame: Mapping[str, str]
    cool: tuple[str, ...]
    warm: tuple[str, ...]
    alarm: str


LIGHT = Palette(
    {"ground": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#d1d9e0", "band": "#f6f8fa", "muted": "#8b949e"},
    ("#0969da", "#8250df", "#0b7285", "#57708c", "#1b3a6b", "#77689b", "#1878a8", "#4b50c8"),
    ("#bc4c00", "#bf3989", "#9a6700", "#82071e", "#7a4a2a", "#8c1c6e", "#b8432f", "#6f5b00"),
    "#cf222e",
)
DARK = Palette(
    {"ground": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#3d444d", "band": "#151b23", "muted": "#7d8590"},
    ("#58a6ff", "#bc8cff", "#56c8e6", "#8ca6c4", "#6f8fd8", "#b8aed6", "#79c0ff", "#a5b4fc"),
    ("#f0883e", "#f778ba", "#d29922", "#ffa198", "#c9a27c", "#d88ad0", "#ff9a6b", "#e3c04b"),
    "#ff7b72",
)


def cool(number: int) -> str:
    """A colour for what comes in, each distinct from the next."""
    return f"c{number % len(LIGHT.cool)}"


def warm(number: int) -> str:
    """A colour for what rules derive, each distinct from the next."""
    return f"w{number % len(LIGHT.warm)}"


def picture(width: float, height: float, body: str, *, title: str, theme: Theme = "auto", is_styled: bool = True) -> str:
    """A whole SVG document. Its classes begin with `tl-`, so that several can stand in one page.

    Unless it `is_styled`, the page that shows it has the style of these classes.
    """
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    named = f"<title>{text_of(title)}</title>" if title else ""
    style, sheet = (' style="max-width:100%"', f"<style>{_sheet(theme)}</style>") if is_styled else ("", "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tl-{theme}" {size} role="img"{style}>'
        f"{named}{sheet}"
        f'<rect class="tl-ground" width="{number(width)}" height="{number(height)}" rx="6"/>{body}</svg>\n'
    )


def number(value: float) -> str:
    """A coordinate: a tenth of a pixel is fine enough.

    >>> number(3.0), number(2.256)
    ('3', '2.3')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def text_of(text: str) -> str:
    """Text as it stands in SVG: what would be markup is escaped, and what XML cannot hold is replaced.

    >>> text_of('a<b & "c"')
    'a&lt;b &amp; &quot;c&quot;'
    """
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def label(x: float, y: float, text: str, kind: str = "tl-text", *, anchor: str = "start") -> str:
    """A line of text at its baseline."""
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{at}>{text_of(text)}</text>'


def width_of(text: str) -> float:
    """How wide a line of text is, about."""
    return len(text) * _GLYPH


def fitted(text: str, width: float) -> str:
    """The text, cut where it is wider than this."""
    most = max(1, int(width / _GLYPH))
    return text if len(text) <= most else text[: most - 1] + "…"


def tone_class(tone: str) -> str:
    """The class of a colour."""
    return f"tl-{tone}"


def _sheet(theme: Theme) -> str:
    root = f".tl-{theme}"
    fixed = (
        f"{root} text{{font:{FONT}px ui-sans-serif,system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}}"
        f"{root} .tl-name{{font-weight:600}}{root} .tl-line{{fill:none;stroke-width:1.5;stroke-linejoin:round}}"
        f"{root} .tl-grid,{root} .tl-edge{{fill:none;stroke-width:1}}{root} .tl-limit{{stroke-width:1;stroke-dasharray:5 3}}"
        f"{root} .tl-back{{stroke-dasharray:4 3}}"
    )
    light, dark = _colours(root, LIGHT), _colours(root, DARK)
    if theme == "auto":
        return f"{fixed}{light}@media(prefers-color-scheme:dark){{{dark}}}"
    return fixed + (dark if theme == "dark" else light)


def _colours(root: str, palette: Palette) -> str:
    named, alarm = palette.frame, palette.alarm
    rules = {
        "rect.tl-ground": f"fill:{named['ground']}",
        "text": f"fill:{named['ink']}",
        "text.tl-soft": f"fill:{named['soft']}",
        "text.tl-inside": f"fill:{named['ground']}",
        "text.tl-limits": f"fill:{alarm}",
        ".tl-band": f"fill:{named['band']}",
        ".tl-box": f"fill:{named['band']};stroke:{named['line']}",
        ".tl-grid": f"stroke:{named['line']}",
        ".tl-edge": f"stroke:{named['soft']}",
        ".tl-tip": f"fill:{named['soft']}",
        ".tl-limit": f"stroke:{alarm}",
    }
    classes = {cool(i): colour for i, colour in enumerate(palette.cool)}
    classes |= {warm(i): colour for i, colour in enumerate(palette.warm)}
    classes |= {"muted": named["muted"], "alarm": alarm}
    for name, colour in classes.items():
        rules[f".tl-{name}"] = f"fill:{colour};stroke:{colour}"
        rules[f".tl-line.tl-{name}"] = "fill:none"
        rules[f"text.tl-{name}"] = f"fill:{colour};stroke:none"
    return "".join(f"{root} {what}{{{how}}}" for what, how in rules.items())

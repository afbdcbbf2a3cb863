"""How pages are found: by other words than stand on them, at addresses that they had, and from a list for machines."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

SETTINGS = tomllib.loads(Path(__file__).with_name("site.toml").read_text("utf-8"))
WORDS: dict[str, list[str]] = SETTINGS["words"]
"""The words by which people look for a page, by its place in the documents."""
MOVED: dict[str, str] = SETTINGS["moved"]
"""Where a page is that was elsewhere, each by its place in the documents."""
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^>]+>")
_LEADING = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="{address}">
<meta http-equiv="refresh" content="0; url={address}">
<script>location.replace("{address}" + location.hash)</script>
<p>This page is now at <a href="{address}">{address}</a>.</p>
</html>
"""
_SENTENCE = re.compile(r".*?[.:?!](?=\s|$)", re.DOTALL)


def first_sentence(markdown: str) -> str:
    """What a page says first, as plain text: not its title, nor code, pictures and tables; empty where it says nothing.

    >>> first_sentence("# Doors\\n\\nA [door](a.md) is open. It is not shut.\\n")
    'A door is open.'
    """
    for part in re.split(r"\n\s*\n", _FENCED.sub("", markdown)):
        text = " ".join(_TAG.sub("", _LINK.sub(r"\1", part)).split())
        if text and not part.lstrip().startswith(("#", "|", "!", "<!--")):
            found = _SENTENCE.match(text)
            return found[0] if found else text
    return ""


def listing(name: str, description: str, items: Iterable[Any], told: dict[str, str]) -> str:
    """The site as llmstxt.org has it: each section of the navigation, its pages, and what each says first.

    `items` is MkDocs' navigation, and `told` has the first sentences, by the places of pages in the documents.
    """
    lines = [f"# {name}", "", f"> {description}"]
    section = None
    for title, page in _pages(items, ""):
        if title != section:
            section = title
            lines += ["", f"## {section or 'Start'}", ""]
        sentence = told[page.file.src_uri]
        lines.append(f"- [{page.title}]({page.url}){f': {sentence}' if sentence else ''}")
    return "\n".join(lines) + "\n"


def _pages(items: Iterable[Any], section: str) -> Iterator[tuple[str, Any]]:
    """The pages of the navigation in order, each with the titles of the sections around it."""
    for item in items:
        if item.is_page:
            yield section, item
        elif item.is_section:
            yield from _pages(item.children, f"{section}: {item.title}" if section else item.title)


def write_moved(site: Path) -> None:
    """A page at each old address that leads to the new one.

    ValueError where there is a page at the old one, or none at the new one.
    """
    for old, new in MOVED.items():
        place, target = (site / Path(name).with_suffix(".html") for name in (old, new))
        if place.exists() or not target.exists():
            raise ValueError(f"pages/site.toml: {old} -> {new}: the old page has to be gone, and the new one to be there")
        place.parent.mkdir(parents=True, exist_ok=True)
        address = escape(Path(os.path.relpath(target, place.parent)).as_posix(), quote=True)
        place.write_text(_LEADING.format(address=address), "utf-8")

"""What MkDocs does beyond its settings: with each page, and with the site that comes of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pages.blocks import FENCE
from pages.command_line import command_reference
from pages.finding import WORDS, first_sentence, listing, write_moved
from pages.playground.building import build_playground

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_PLAYGROUND = "<!-- a link to the playground -->"
_COMMANDS = "<!-- the options of each command -->"
_VERSION = "MIKE_DOCS_VERSION"
"""The variable in which mike tells which version it builds: then the site offers the others."""
_told: dict[str, str] = {}
"""What each page says first, by its place in the documents."""
_navigation: list[Any] = []


def on_config(config: Any, **_: Any) -> Any:
    """A site that is one of several versions lets its reader choose."""
    if _VERSION in os.environ:
        config.extra["version"] = {"provider": "mike"}
    _told.clear()
    return config


def on_nav(nav: Any, **_: Any) -> Any:
    """The order of the pages, for the list of them."""
    _navigation[:] = nav.items
    return nav


def on_post_build(config: Any, **_: Any) -> None:
    """The list of pages for machines, the addresses of old, and the playground where versions are built."""
    site = Path(config.site_dir)
    unknown = WORDS.keys() - _told.keys()
    if unknown:
        raise ValueError(f"pages/site.toml has words for pages that are not there: {', '.join(sorted(unknown))}")
    text = listing(config.site_name, config.site_description, _navigation, _told)
    (site / "llms.txt").write_text(text, "utf-8")
    write_moved(site)
    if _VERSION in os.environ:  # mike stores what is there now; `make docs` adds the playground behind this
        build_playground(ROOT / "build" / "npm" / "node_modules" / "pyodide", ROOT / "build" / "wheels", site / "playground")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """A page as MkDocs takes it: file names as titles, links out of the documents to the repository."""
    folder = Path(config.docs_dir, page.file.src_uri).parent
    _told[page.file.src_uri] = first_sentence(markdown)
    page.meta["tags"] = WORDS.get(page.file.src_uri, [])
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    if _COMMANDS in markdown:
        markdown = markdown.replace(_COMMANDS, command_reference())
    if _PLAYGROUND in markdown:
        markdown = markdown.replace(_PLAYGROUND, _button("playground/index.html", "Open the playground"))
    markdown = _LINK.sub(lambda link: _to_repository(link, folder, config), markdown)
    if "/recipes/" in page.file.src_uri and page.file.name != "index":
        markdown = _with_button(markdown, page.file.name)
    return FENCE.sub(_titled, markdown)


def _titled(fence: re.Match[str]) -> str:
    """A fence that is a file gets the file's name as its title."""
    return fence[0] if fence[2] is None else f'```{fence[1]} title="{fence[2]}"\n{fence[3]}```'


def _to_repository(link: re.Match[str], folder: Path, config: Any) -> str:
    """A link to a file outside of the documents leads to the repository."""
    target = (folder / link[1]).resolve()
    if target.is_relative_to(config.docs_dir) or not target.exists():
        return link[0]  # MkDocs checks it
    kind = "tree" if target.is_dir() else "blob"
    return f"]({config.repo_url.rstrip('/')}/{kind}/main/{os.path.relpath(target, ROOT)}{link[2] or ''})"


def _with_button(markdown: str, name: str) -> str:
    """A recipe with a link to the playground below its title."""
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n{_button(f'../../playground/index.html#recipe={name}', 'Run it in the browser')}\n{rest}"


def _button(address: str, text: str) -> str:
    return f'<a class="md-button" href="{address}">{text}</a>'

"""What MkDocs does with each page of the documents: titles of code blocks, links to the repository, generated parts."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pages.blocks import FENCE
from pages.command_line import command_reference

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_PLAYGROUND = "<!-- a link to the playground -->"
_COMMANDS = "<!-- the options of each command -->"


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """A page as MkDocs takes it: file names as titles, links out of the documents to the repository."""
    folder = Path(config.docs_dir, page.file.src_uri).parent
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
    return f"]({config.extra['repository']}/{kind}/main/{os.path.relpath(target, ROOT)}{link[2] or ''})"


def _with_button(markdown: str, name: str) -> str:
    """A recipe with a link to the playground below its title."""
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n{_button(f'../../playground/index.html#recipe={name}', 'Run it in the browser')}\n{rest}"


def _button(address: str, text: str) -> str:
    return f'<a class="md-button" href="{address}">{text}</a>'

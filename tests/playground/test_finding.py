"""How pages are found: the settings name pages that are there, and what a page says first is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pages.finding import MOVED, WORDS, first_sentence, listing, write_moved
from pages.recipes import ROOT

DOCS = ROOT / "docs"
SOUGHT = {
    "debounce": "howto/recipes/duration.md",
    "for 10 minutes": "howto/recipes/duration.md",
    "home assistant": "howto/compared.md",
    "alert": "howto/alarms.md",
    "dead man's switch": "howto/recipes/absence.md",
    "hysteresis": "howto/recipes/hysteresis.md",
}
"""What people look for, and the page that has to come first."""


@pytest.mark.parametrize(("word", "page"), SOUGHT.items())
def test_words_of_other_tools_lead_to_pages(word: str, page: str) -> None:
    """Though the page may not say them."""
    assert word in WORDS[page]


@pytest.mark.parametrize("page", [*WORDS, *MOVED.values()])
def test_pages_that_the_settings_name_are_there(page: str) -> None:
    """A page that moves takes its words along, and old addresses lead to where it is now."""
    assert (DOCS / page).is_file()


@pytest.mark.parametrize("page", MOVED)
def test_nothing_is_where_a_page_has_moved_from(page: str) -> None:
    """Or the old address would be the new page's."""
    assert not (DOCS / page).exists()


@pytest.mark.parametrize(
    ("markdown", "sentence"),
    [
        ("# A\n\nOne thing. Another.\n", "One thing."),
        ("# A\n\nIt takes 1.5 s\nand [ends](a.md#b). Then more.", "It takes 1.5 s and ends."),
        ("# A\n\n![A picture](a.svg)\n\n```tide\nb :- a. % no.\n```\n\nWhat is `a.b`? Nobody knows.", "What is `a.b`?"),
        ("# A\n\n<!-- a link -->\n\n| a |\n| - |\n\nNo end", "No end"),
        ('# A\n\n<p class="lead">Said first.</p>', "Said first."),
        ("# A\n", ""),
    ],
)
def test_what_a_page_says_first(markdown: str, sentence: str) -> None:
    """A whole sentence as plain text, however its lines are broken."""
    assert first_sentence(markdown) == sentence


def test_every_page_says_something() -> None:
    """Each has a sentence for the list of pages."""
    silent = [str(path) for path in DOCS.rglob("*.md") if not first_sentence(path.read_text("utf-8"))]
    assert silent == []


def test_the_list_has_the_sections_of_the_navigation() -> None:
    """One within another is told with both titles; links that lead elsewhere are left out."""

    def page(name: str) -> SimpleNamespace:
        file = SimpleNamespace(src_uri=f"{name}.md")
        return SimpleNamespace(is_page=True, is_section=False, title=name.upper(), url=f"{name}.html", file=file)

    def section(title: str, *children: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(is_page=False, is_section=True, title=title, children=children)

    link = SimpleNamespace(is_page=False, is_section=False, title="elsewhere", url="https://example.org")
    told = {"a.md": "First.", "b.md": "", "c.md": "Third."}
    found = listing("it", "What it is.", [page("a"), section("S", page("b"), section("T", page("c"))), link], told)
    assert found == (
        "# it\n\n> What it is.\n\n## Start\n\n- [A](a.html): First.\n\n## S\n\n- [B](b.html)\n\n"
        "## S: T\n\n- [C](c.html): Third.\n"
    )


def test_an_address_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """As is one at which there is a page."""
    with pytest.raises(ValueError, match=r"aggregates\.md -> reference/aggregates\.md: the old page has to be gone"):
        write_moved(tmp_path)
    for name in MOVED.values():
        place = (tmp_path / name).with_suffix(".html")
        place.parent.mkdir(exist_ok=True)
        place.touch()
    write_moved(tmp_path)
    with pytest.raises(ValueError, match=r"aggregates\.md"):
        write_moved(tmp_path)

"""Text and tables as HTML, for notebooks: no scripts, and the page's own colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.plans.pictures.paint import text_of

MOST_ROWS = 20
"""How many rows of a table are shown."""
_CELL = "padding:.1em .9em .1em 0;text-align:left"


def program_html(name: str, text: str) -> str:
    """A program as it was written."""
    lines = "\n".join(map(text_of, text.rstrip("\n").split("\n")))
    return f'<div><strong>{text_of(name)}</strong><pre style="margin:.3em 0">{lines}</pre></div>'


def table_html(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: its first rows, and how many more there are.

    >>> table_html(["a"], [["<1>"]]).count("&lt;1&gt;")
    1
    """
    lines = [_line("th", head), *(_line("td", row) for row in rows[:MOST_ROWS])]
    more = len(rows) - MOST_ROWS
    note = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>{note}'


def _line(kind: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f'<{kind} style="{_CELL}">{text_of(cell)}</{kind}>' for cell in cells) + "</tr>"

"""Where in a TOML file each key and each value stands, which `tomllib` does not tell: for messages, and for `--update`.

The text has been read by `tomllib` before: so what is looked at here is known to be right, and only has to be found.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import Span

Path = tuple[str | int, ...]
"""Where a value stands in the data: keys, and places in arrays of tables: `("test", 0, "at", "5")`."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_HEADER = re.compile(r"(\[\[?)[ \t]*(.*?)[ \t]*\]\]?[ \t\r]*(?:#[^\n]*)?(?=\n|\Z)")
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_PART = re.compile(_NAME)
_KEY = re.compile(rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}' r"|'''(?:[^']|'(?!''))*'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
_OTHER = re.compile(r"[^\s,#\[\]{}\"']+")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value: the place of each."""

    path: Path
    key: Span
    value: Span


def find_entries(text: str) -> list[Entry]:
    """Each key of the text with its value, in order; those within inline tables are part of the value."""
    entries: list[Entry] = []
    counts: dict[Path, int] = {}
    table: Path = ()
    at = _skip(text, 0)
    while at < len(text):
        header = _HEADER.match(text, at)
        if header is not None:
            table = _table(header, counts)
            at = _skip(text, header.end())
            continue
        key = _KEY.match(text, at)
        if key is None:
            return entries
        begin = _skip(text, text.index("=", key.end()) + 1)
        end = _end_of_value(text, begin)
        entries.append(Entry((*table, *_parts(key[0])), Span(key.start(), key.end()), Span(begin, end)))
        at = _skip(text, end)
    return entries


def _skip(text: str, at: int) -> int:
    """Behind spaces, line ends and comments."""
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _table(header: re.Match[str], counts: dict[Path, int]) -> Path:
    """The path of a header; each part that is an array of tables has the number of its last table behind it."""
    path: Path = ()
    parts = list(_parts(header[2]))
    for number, part in enumerate(parts, 1):
        path = (*path, part)
        if number == len(parts) and header[1] == "[[":
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(key: str) -> Iterator[str]:
    """The parts of a key: `at."5"` has two."""
    for part in _PART.findall(key):
        yield next(iter(tomllib.loads(f"{part} = 0")))


def _end_of_value(text: str, at: int) -> int:
    """Behind a value: a string, a number, or brackets with all that stands in them."""
    depth = 0
    while at < len(text):
        match = _STRING.match(text, at) or _OTHER.match(text, at)
        if match is not None:
            at = match.end()
            if depth == 0 and not _is_parted(text, at):
                return at
        elif text[at] in "[{":
            depth += 1
            at += 1
        elif text[at] in "]}":
            depth -= 1
            at += 1
            if depth == 0:
                return at
        else:
            at = max(_skip(text, at), at + 1)
    return at


def _is_parted(text: str, at: int) -> bool:
    """Whether a space stands within a value: `2026-11-02 03:12:00`."""
    return re.match(r" \d\d:", text[at : at + 4]) is not None

"""Keywords that are misspelt: the word at a syntax error, or before it, that is nearly one which could stand there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.language.statements import RawStatement, tokens_between

PREFIXES = ("diamondminus", "diamondplus", "boxminus", "boxplus", "sometime", "always", "not")
"""What stands before a formula."""
_DIRECTIVES = ("timeline", "input", "output", "background", "ask", "parameter", "calendar", "alarm")
_OF_TERMINALS = {
    "SINCE": ("since",),
    "UNTIL": ("until",),
    "MOD": ("mod",),
    "STEP": ("step",),
    "WITHIN": ("within",),
    "OVER": ("over",),
    "LATEST": ("latest",),
    "KIND": ("rational", "integer"),
    "UNIT": ("unit",),
    "RESOLUTION": ("resolution",),
    "ROUND": ("round",),
    "DELAY": ("delay",),
    "FROM": ("from",),
    "PRIORITY": ("priority",),
    "TEXT": ("text",),
    "ACKNOWLEDGE": ("acknowledge",),
    "SHELVE": ("shelve",),
    "INHIBITED": ("inhibited",),
}
"""What a terminal of the grammar stands for, where the parser waits for it."""
_KEYWORDS = frozenset([*PREFIXES, *_DIRECTIVES, *(word for words in _OF_TERMINALS.values() for word in words), "in", "of"])
_BEGINS = re.compile(r"[A-Za-z_'\"\[(]")
"""How what follows a keyword may begin."""
_INTERVAL = re.compile(r"\[|\(\s*[-+]?\s*(?:[0-9]|inf\b)")
_CUTOFF = 0.65
_SHORT = 4
_LONGEST = 20


def find_misspelt(text: str, raw: RawStatement, at: int, accepted: frozenset[str]) -> Diagnostic | None:
    """What to say where a statement cannot be read from `at` on, since a keyword is misspelt; None where none is.

    `accepted` are the terminals that could have stood at this place.
    """
    expected = [word for name, words in _OF_TERMINALS.items() if name in accepted for word in words]
    candidates = [(token, expected) for token in tokens_between(text, at, min(raw.end, at + _LONGEST))][:1]
    before = list(tokens_between(text, raw.start, at))
    for place in (len(before) - 1 if _BEGINS.match(text, at) else -1, _before_interval(text, before)):
        if place >= 0:
            candidates.append((before[place], [*PREFIXES, *_DIRECTIVES] if place == 0 else [*PREFIXES]))
    for (kind, start, end), keywords in candidates:
        near = nearest_keyword(text[start:end], keywords) if kind == "word" else None
        if near is not None:
            message = f"unknown keyword `{text[start:end]}`"
            return Diagnostic("syntax", message, Span(start, end), help=f"did you mean `{near}`?")
    return None


def _before_interval(text: str, tokens: list[tuple[str, int, int]]) -> int:
    """Which token stands before the interval that ends with the last one, or else before one that is still open, or -1."""
    depth = 0 if tokens and tokens[-1][0] == "close" else 1
    for place in range(len(tokens) - 1, -1, -1):
        kind, start, _ = tokens[place]
        depth += {"close": 1, "open": -1}.get(kind, 0)
        if depth == 0 and kind == "open":
            return place - 1 if _INTERVAL.match(text, start) else -1
    return -1


def nearest_keyword(word: str, keywords: Sequence[str]) -> str | None:
    """The keyword of these that a word nearly is; None for one that is a keyword, or far from all.

    >>> nearest_keyword("boxmins", PREFIXES), nearest_keyword("nto", PREFIXES), nearest_keyword("hot", PREFIXES)
    ('boxminus', 'not', None)
    """
    word = word.lower()
    if word in _KEYWORDS or len(word) > _LONGEST:
        return None
    near = get_close_matches(word, keywords, n=1, cutoff=_CUTOFF)
    if near and (len(near[0]) > _SHORT or _is_slip(word, near[0])):
        return near[0]
    return None


def _is_slip(word: str, keyword: str) -> bool:
    """Whether letters of a short keyword are exchanged, or one is too much or missing: other words differ by a letter."""
    if len(word) == len(keyword):
        return sorted(word) == sorted(keyword)
    longer, shorter = (word, keyword) if len(word) > len(keyword) else (keyword, word)
    return any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))

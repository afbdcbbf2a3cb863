"""Text as a terminal may be sent it: nothing in it steers the terminal, hides, or stands where it does not belong."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""One line, with every character that is not printed, or begins a new line, as an escape.

    These are control characters (also those above U+007F), line and paragraph separators, what changes the direction of
    writing, what has no width, and spaces other than the ordinary one.

    >>> visible("a\x1b[2J\n\u202eb")
    'a\\x1b[2J\\n\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def visible_lines(text: str) -> str:
    r"""Several lines, each as by `visible`.

    >>> visible_lines("a\x07\nb\n")
    'a\\x07\nb\n'
    """
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))

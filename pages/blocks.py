"""The code blocks of a document.

What a fence says of its block: `python` is run, `console` holds commands behind `$ `, each with what it prints. A fence with
a file's name behind its language (`tide hot.tide`) is that file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the file that it is (if it says so), its text, and its line in the document."""

    language: str
    file: str | None
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document, in order.

    >>> blocks("A rule:\\n\\n```tide hot.tide\\nhot(X) :- on(X).\\n```\\n")
    [Block(language='tide', file='hot.tide', text='hot(X) :- on(X).\\n', line=3)]
    """
    return [Block(match[1], match[2], match[3], text.count("\n", 0, match.start()) + 1) for match in FENCE.finditer(text)]

"""Splitting a program's text into statements, before any of them is parsed.

A statement ends with a full stop, or at the end of a line on which it is complete (docs/reference/language.md). Each is then
parsed alone, so that one mistake costs one statement:

* a full stop that no digit follows ends a statement even inside brackets; two of them between digits are a slip for `,`;
* a second `:-`, or one inside brackets, means that the statement before it was never closed: it is cut at the last
  line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.diagnostics.errors import Diagnostic, Span

MAX_STATEMENT = 64 * 1024
"""The most characters that one statement may have."""
MAX_DEPTH = 100
"""How deep brackets, formulas and expressions may nest."""

_TOKEN = re.compile(
    r"(?P<space>[ \t\f\r\ufeff]+|%[^\n]*)|(?P<newline>\n[ \t\f\r\n]*)"
    r'|(?P<text>"(?:[^"\\\n]|\\[^\n])*"|\'[^\'\n]*\')'
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<implies>:-)|(?P<dots>(?<=[0-9])\.\.(?=[0-9]))|(?P<stop>\.(?![0-9]))|(?P<open>[(\[])|(?P<close>[)\]])"
    r"|(?P<operator>[-+*/@,<>=!])|(?P<other>.)",
)
_TEXT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"')
_PLAIN = re.compile(
    r"[ \t\f\r\n]*+(?P<statement>(?P<first>[A-Za-z_][A-Za-z0-9_]*+)"
    rf"(?:[^\n.%\"']++|\.(?=[0-9])|{_TEXT.pattern})*+)\.(?![0-9.])"
)
"""A statement on one line that has its full stop, no comments and nothing in single quotes."""
_METRIC = frozenset(["diamondminus", "diamondplus", "boxminus", "boxplus", "sometime", "always", "since", "until"])
_UNFINISHED = _METRIC | {"not", "in", "mod", "over", "by", "per"}
"""Words after which a statement goes on, even on the next line."""
_DIRECTIVES = frozenset(["timeline", "input", "output", "background", "ask", "parameter", "calendar", "alarm"])
_CONTINUES = frozenset([",", ":-", "since", "until"])
"""What continues the statement before it when a line starts with it."""

StatementKind = Literal["rule", "fact", "directive"]


@dataclass(frozen=True, slots=True)
class RawStatement:
    """The text of one statement: `start … end`, its full stop excluded; `problem` if it is not worth parsing."""

    kind: StatementKind
    start: int
    end: int
    problem: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class _Bracket:
    """An open bracket, and whether it may be an operator's interval, after which a formula must follow."""

    start: int
    of_operator: bool


class Scanner:
    """Reads statements off a text, one at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._following = (0, "")
        self._reset()

    def _reset(self) -> None:
        self._start = -1
        self._end = -1
        self._first = self._second = self._last = ""
        self._unfinished = False
        self._implies = False
        self._brackets: list[_Bracket] = []
        self._line_end: tuple[int, int] | None = None
        self._problem: Diagnostic | None = None

    def statements(self) -> Iterator[RawStatement]:
        """Every statement in order; an empty one (`.` alone) is none. One that is too long is the last to be read."""
        text = self._text
        while self._position < len(text):
            if self._start < 0 and (plain := self._plain()) is not None:
                yield plain
                continue
            match = _TOKEN.match(text, self._position)
            if match is None:  # `other` and `newline` together match every character
                break
            self._position = match.end()
            if self._feed(match.lastgroup or "other", match[0], match.start()):
                yield from self._take()
            elif self._start >= 0 and self._end - self._start > MAX_STATEMENT:
                yield self._too_long()
                return
        yield from self._take()

    def _plain(self) -> RawStatement | None:
        """The statement that begins here, found at once: one on a line of its own that says where it ends, as most do."""
        match = _PLAIN.match(self._text, self._position)
        if match is None or match["first"].lower() in _DIRECTIVES:
            return None
        statement = match["statement"].rstrip(" \t\f\r\ufeff")
        if len(statement) > MAX_STATEMENT or statement.count("(") + statement.count("[") > MAX_DEPTH:
            return None
        start, self._position = match.start("statement"), match.end()
        is_rule = ":-" in statement and ":-" in _TEXT.sub("", statement)
        return RawStatement("rule" if is_rule else "fact", start, start + len(statement))

    def _take(self) -> Iterator[RawStatement]:
        if self._start >= 0:
            kind: StatementKind = "rule" if self._implies else "directive" if self._is_directive() else "fact"
            yield RawStatement(kind, self._start, self._end, self._problem)
        self._reset()

    def _too_long(self) -> RawStatement:
        message = f"a statement has more than {MAX_STATEMENT} characters"
        problem = Diagnostic("statement-too-long", message, Span(self._start, self._start + 1))
        return RawStatement("fact", self._start, self._end, problem)

    def _is_directive(self) -> bool:
        """A directive word is one only before a name: `output(X)` and `input :- a` use it as a predicate."""
        return self._first in _DIRECTIVES and (self._second.isidentifier() or self._second[:1] in ("'", '"'))

    def _feed(self, kind: str, token: str, at: int) -> bool:
        """Take one token in; whether it ends the statement."""
        if kind == "space":
            return False
        if kind == "newline":
            return self._end_line(at)
        if kind == "stop":
            return True
        if kind == "implies" and self._was_never_closed():
            return True
        self._extend(kind, token, at)
        return False

    def _extend(self, kind: str, token: str, at: int) -> None:
        word = token.lower() if kind == "word" else token[:80]
        if self._start < 0:
            self._start, self._first = at, word
        elif not self._second:
            self._second = word
        self._end = at + len(token)
        self._implies = self._implies or kind == "implies"
        self._unfinished = kind in ("operator", "implies") or word in _UNFINISHED
        if kind == "open":
            self._open(at)
        elif kind == "close" and self._brackets:
            self._unfinished = self._brackets.pop().of_operator
        self._last = word

    def _open(self, at: int) -> None:
        of_operator = self._last in _METRIC and _begins_interval(self._text, at)
        self._brackets.append(_Bracket(at, of_operator))
        if self._problem is None and len(self._brackets) > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            self._problem = Diagnostic("too-deep", message, Span(at, at + 1))

    def _end_line(self, at: int) -> bool:
        """Whether the line end at this place ends the statement."""
        if self._start < 0:
            return False
        self._line_end = (self._end, at + 1)
        if self._brackets or self._unfinished:
            return False
        following = self._next_word()
        if self._first in _DIRECTIVES and not self._second:
            return not following.isidentifier()
        return following not in _CONTINUES

    def _next_word(self) -> str:
        """The next token that is not space, comment or line end, in lower case; empty at the end."""
        position = self._position
        if position <= self._following[0]:  # asked before, further up the same run of blank lines
            return self._following[1]
        word = ""
        while match := _TOKEN.match(self._text, position):
            position = match.start()
            if match.lastgroup not in ("space", "newline"):
                word = match[0][:80].lower()
                break
            position = match.end()
        self._following = (position, word)
        return word

    def _was_never_closed(self) -> bool:
        """At a `:-`: cut an unclosed statement at the last line end, and read on from there."""
        if not (self._implies or self._brackets) or self._line_end is None:
            return False
        self._end, self._position = self._line_end
        return True


_INTERVAL = re.compile(r"\[|\(\s*[+-]?\s*(?:[0-9][^,()\[\]]*|inf\s*),")


def _begins_interval(text: str, at: int) -> bool:
    return _INTERVAL.match(text, at, at + 200) is not None


def tokens_between(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The kind, begin and end of each token of a stretch of text, spaces and comments left out."""
    for match in _TOKEN.finditer(text, start, end):
        if match.lastgroup not in ("space", "newline"):
            yield match.lastgroup or "", match.start(), match.end()


def split_statements(text: str) -> Iterator[RawStatement]:
    """The statements of a program, in order."""
    return Scanner(text).statements()

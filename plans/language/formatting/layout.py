"""How a statement is cut into lines: on one, if it fits and holds no comment; else a line for each of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lark import Token

from tidelog.plans.language.formatting.spacing import CLOSING, OPENING, opens_interval

WIDTH = 110
"""The most characters of a line, but for what cannot be cut: one literal, one comment."""
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_PART, _WITHIN = "    ", "        "


@dataclass(slots=True)
class Line:
    """A line of a program: its code, and the comment behind it (or alone, where there is no code)."""

    code: str = ""
    comment: str = ""


@dataclass(slots=True)
class Comments:
    """The comments within a statement: behind which token each stands, on its line or on lines of their own below."""

    behind: dict[int, str] = field(default_factory=dict)
    below: dict[int, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.behind or self.below)


def lay_out(tokens: Sequence[Token], texts: Sequence[str], comments: Comments) -> list[Line]:
    """The lines of a statement, its full stop included. `texts` are the tokens as written, with the space before each."""
    flat = "".join(texts) + "."
    if not comments and len(flat) <= WIDTH:
        return [Line(flat)]
    ends = frozenset(_ends_of_parts(tokens))
    lines = [Line()]
    indent = ""
    for at, text in enumerate(texts):
        lines[-1].code += text if lines[-1].code else indent + text.lstrip(" ")
        is_last = at == len(texts) - 1
        lines[-1].code += "." if is_last else ""
        lines[-1].comment = comments.behind.get(at, "")
        below = comments.below.get(at, [])
        if at in ends or below or lines[-1].comment:
            indent = _PART if at in ends else _WITHIN
            lines += [Line(indent, comment) for comment in below]
            lines += [] if is_last else [Line()]
    return lines


def _ends_of_parts(tokens: Sequence[Token]) -> Iterator[int]:
    """Behind which tokens a statement is cut: a rule behind `:-` and between literals, any other between what it lists."""
    commas: dict[int, list[int]] = {}
    brackets: list[int] = []
    implies = compared = -1
    for at, token in enumerate(tokens):
        if token.type in OPENING:
            brackets.append(at)
        elif token.type in CLOSING and brackets:
            brackets.pop()
        elif token.type == "IMPLIES":
            implies = at
        elif not brackets and token.value in _COMPARISONS:
            compared = at
        elif _ends_literal(tokens, at, is_compared=compared >= 0) and not (
            brackets and opens_interval(tokens, brackets[-1])
        ):
            compared = -1 if not brackets else compared
            commas.setdefault(len(brackets), []).append(at)
    if implies >= 0:
        yield implies
        yield from (at for at in commas.get(0, ()) if at > implies)
    elif commas:
        yield from commas[min(commas)]


def _ends_literal(tokens: Sequence[Token], at: int, *, is_compared: bool) -> bool:
    """Whether a comma stands between literals; behind `by S` one does where another comparison begins."""
    if tokens[at].type == "BYCOMMA":
        return is_compared and at + 2 < len(tokens) and tokens[at + 2].value in _COMPARISONS
    return tokens[at].type == "COMMA"

"""Where a space stands between two tokens of a statement, and how a token itself is written.

What a token is was told by the parser, so that `X-1` (a subtraction) and `s-1` (a constant), an interval's bracket and a
parenthesis are never confused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lark import Token

_PREFIX_OF_INTERVAL = frozenset({"METRIC", "SINCE", "UNTIL", "AT"})
CLOSING = frozenset({"RPAR", "RSQ"})
OPENING = frozenset({"LPAR", "LSQ", "IVPAREN"})
_NAMES = frozenset({"NAME", "QUOTED", "PLAIN", "FIELD"})
_OPERANDS = _NAMES | {"NUMBER", "STRING", "COUNT", "TIME", "MOMENT", "RPAR", "RSQ"}
_AS_WRITTEN = _NAMES | {"STRING", "MOMENT", "NUMBER"}
"""Tokens whose case means something."""
_KEYWORDS = frozenset(
    {"METRIC", "NOT", "SINCE", "UNTIL", "IN", "FOR", "WITHIN", "STEP", "OF", "MOD", "OVER", "BY", "LATEST"}
)
_COMMAS = frozenset({"COMMA", "BYCOMMA"})
_SIGNS = frozenset({"PLUS", "MINUS"})
_QUANTITY = re.compile(r"([+-]?)\s*(\d[^\s/]*?)\s*(?:/\s*(\d+))?\s*([a-z]*)\Z", re.IGNORECASE)


def written(tokens: Sequence[Token], spell: frozenset[int]) -> list[str]:
    """Each token as text, with the space before it; `spell` are the begins of further words in lower case."""
    texts: list[str] = []
    brackets: list[bool] = []
    for at, token in enumerate(tokens):
        space = " " if at and _is_parted(tokens, at, tight=bool(brackets) and brackets[-1]) else ""
        if token.type in OPENING:
            brackets.append(opens_interval(tokens, at))
        elif token.type in CLOSING and brackets:
            brackets.pop()
        texts.append(space + _spelt(token, tight=bool(brackets) and brackets[-1], in_lower_case=token.start_pos in spell))
    return texts


def opens_interval(tokens: Sequence[Token], at: int) -> bool:
    """Whether a bracket opens an interval, in which commas have no space behind them."""
    return tokens[at].type == "IVPAREN" or (tokens[at].type == "LSQ" and at > 0 and tokens[at - 1].type != "IN")


def _spelt(token: Token, *, tight: bool, in_lower_case: bool) -> str:
    """Keywords in lower case; a unit touches its number in an interval, `[0,5s]`, and stands apart elsewhere, `5 s`."""
    if token.type in _AS_WRITTEN:
        return token.lower() if in_lower_case else str(token)
    if token.type == "MOST":
        return "at most"
    if token.type != "TIME":
        return token.lower()
    match = _QUANTITY.match(token)
    if match is None:  # an infinite time
        return "".join(token.split())
    sign, number, divisor, unit = match.groups()
    exact = f"{sign}{number}/{divisor}" if divisor else f"{sign}{number}"
    return exact + unit if tight or not unit else f"{exact} {unit}"


def _is_parted(tokens: Sequence[Token], at: int, *, tight: bool) -> bool:
    """Whether a space stands before a token; `tight` is it in an interval."""
    before, token = tokens[at - 1], tokens[at]
    kind = token.type
    if (
        kind in CLOSING
        or kind in _COMMAS
        or kind in ("COLON", "AT")
        or before.type in OPENING
        or before.type in ("AT", "HASH")
    ):
        return False
    if before.type in _COMMAS:
        return not tight
    if _is_shift(tokens, at) or _is_shift(tokens, at - 1) or _is_sign(tokens, at - 1):
        return False
    return kind not in OPENING or _parts_from_bracket(before, token)


def _parts_from_bracket(before: Token, bracket: Token) -> bool:
    """Whether a space stands between a token and the bracket behind it."""
    if before.type in _NAMES or (before.type in _PREFIX_OF_INTERVAL and bracket.type != "LPAR"):
        return False
    if before[-1:].isalpha() and before.type not in _KEYWORDS:  # a word that may be a function's name: as it is written
        return before.end_pos != bracket.start_pos
    return True


def _is_shift(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token is the sign in `@T+2`."""
    return tokens[at].type in _SIGNS and at >= 2 and tokens[at - 2].type == "AT"


def _is_sign(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token is the sign of what follows it, and not an operator between two operands."""
    return tokens[at].type in _SIGNS and (at == 0 or tokens[at - 1].type not in _OPERANDS)

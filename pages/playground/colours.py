"""The colours of programs for the playground: the patterns of the lexer for Pygments, as JavaScript reads them."""

from __future__ import annotations

from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String

from tidelog.editing.highlighting import TideLexer

_KINDS = {
    Comment: "comment",
    Keyword: "keyword",
    Operator.Word: "keyword",
    Name.Builtin: "keyword",
    Name.Function: "name",
    Name.Variable: "variable",
    String: "value",
    Number: "value",
    Literal: "value",
    Name.Constant: "value",
}
Rule = tuple[str, str, list[str]]
"""A pattern, its flags, and what its groups are, or the whole of it where that is one."""


def colours() -> list[Rule]:
    """The rules in order: the first that matches says what stands at a place."""
    return [_rule(pattern, action) for pattern, action in TideLexer.tokens["root"]]


def _rule(pattern: str, action: object) -> Rule:
    is_exact = "(?-i:" in pattern
    written = pattern.replace("(?-i:[A-Z_])", "[A-Z_]")  # JavaScript tells cases apart in all of a pattern, or nowhere
    return written, "my" if is_exact else "imy", [_kind(token) for token in _tokens(action)]


def _tokens(action: object) -> list[object]:
    """The tokens of a rule: one, or those that `bygroups` closes over, one for each group."""
    cells = getattr(action, "__closure__", None)
    return list(cells[0].cell_contents) if cells else [action]


def _kind(token: object) -> str:
    return next((name for kind, name in _KINDS.items() if token in kind), "")

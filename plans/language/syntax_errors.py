"""Syntax errors in the user's words: what was expected, what was found, where exactly, and what was probably meant."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedInput, UnexpectedToken

from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.language.hints import find_advice
from tidelog.plans.language.misspelt import find_misspelt
from tidelog.plans.language.statements import RawStatement, tokens_between

_FOUND = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:/-]{0,39}|:-|!=|<=|>=|//|.", re.DOTALL)
_CONTEXT = 200
"""How many characters behind the error the hints look at."""

_FILE = "a file's name in double quotes"
# The first set that the parser would accept in full says what was expected. Later entries are subsets of earlier ones.
_STARTS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"METRIC", "NOT"}), "a formula"),
    (frozenset({"MINUS", "STRING", "NAME"}), "a variable or a constant"),
    (frozenset({"STRING", "PLAIN"}), "a constant"),
    (frozenset({"HASH", "TIME"}), "the window's length, such as `5` or `#5`"),
    (frozenset({"TIME", "LSQ", "NAME"}), "a time variable, such as `T`"),
    (frozenset({"TIME", "LSQ"}), "a time or an interval"),
    (frozenset({"TIME"}), "a time, such as `5` or `5 min`"),
    (frozenset({"NAME", "QUOTED"}), "a predicate's name"),
    (frozenset({"FIELD"}), "a field's name"),
    (frozenset({"TYPE"}), "`text`, `number`, `integer`, `boolean` or `any`"),
    (frozenset({"KIND"}), "`rational` or `integer`"),
    (frozenset({"ROUNDING"}), "`down`, `nearest` or `up`"),
    (frozenset({"UNIT", "RESOLUTION", "ROUND"}), "`unit`, `resolution` or `round`"),
    (frozenset({"PRIORITY", "SHELVE"}), "`priority`, `text`, `acknowledge`, `shelve at most` or `inhibited by`"),
    (frozenset({"LEVEL"}), "`critical`, `high`, `medium` or `low`"),
    (frozenset({"MOST"}), "`at most` and a time, such as `at most 8 h`"),
    (frozenset({"STRING"}), _FILE),
    (frozenset({"COUNT"}), "a whole number"),
    (frozenset({"FROM"}), "`from`"),
    (frozenset({"LSQ"}), "a window, such as `[5]`"),
)
_ENDS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"IN", "BY"}), "a window, such as `in [10]`"),
    (frozenset({"COMMA", "RPAR"}), "`,` or `)`"),
    (frozenset({"RPAR", "RSQ"}), "`]` or `)`"),
    (frozenset({"RPAR"}), "`)`"),
    (frozenset({"COMMA", "RSQ"}), "`,` or `]`"),
    (frozenset({"RSQ"}), "`]`"),
    (frozenset({"IMPLIES"}), "`:-`"),
    (frozenset({"COMMA", "$END"}), "`,` or the end of the statement"),
    (frozenset({"$END"}), "the end of the statement"),
    (frozenset({"IN"}), "a window, such as `in [10]`"),
    (frozenset({"BY"}), "`by`"),
)


def explain(text: str, raw: RawStatement, error: UnexpectedInput) -> Diagnostic:
    """The diagnostic for a statement that the parser could not read."""
    at = _where(raw, error)
    accepted = _accepted(error)
    misspelt = find_misspelt(text, raw, at, accepted)
    if misspelt is not None:
        return misspelt
    rest = text[at : min(raw.end, at + _CONTEXT)]
    advice = find_advice(text[raw.start : at], rest)
    help = advice.help if advice else ""
    if advice and advice.message:
        end = at + advice.length if advice.length else _end_of_line(text, at, raw.end)
        return Diagnostic("syntax", advice.message, Span(at, end), help=help)
    if rest and not rest[0].isprintable():
        message = f"unexpected character U+{ord(rest[0]):04X}"
        return Diagnostic("unexpected-character", message, Span(at, at + 1), help="take it away")
    expected, is_start = _expected(accepted, raw)
    if at == raw.start and raw.kind == "fact":
        expected = "a rule, a fact or a directive"
    if expected == "`,` or `)`" and rest.startswith(":-"):
        expected = "`)`"
    if expected == _FILE and text[raw.start : at].rstrip().lower().endswith("text"):
        expected = "text in double quotes"
    missing = _is_missing(rest, is_start)
    found = _found(rest)
    span = _gap(text, raw, at) if missing else Span(at, at + max(len(found), 1))
    shown = f"`{found}`" if found else "the end of the statement"
    closes = missing and not is_start and advice is None and not accepted.isdisjoint({"RPAR", "RSQ"})
    notes = _opened(text, raw.start, at) if closes else ()
    return Diagnostic("syntax", f"expected {expected}, found {shown}", span, notes=notes, help=help)


def _where(raw: RawStatement, error: UnexpectedInput) -> int:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return raw.end
    return raw.end if error.pos_in_stream is None else error.pos_in_stream


def _end_of_line(text: str, at: int, end: int) -> int:
    line_end = text.find("\n", at, end)
    return min(end if line_end < 0 else line_end, at + 40)


def _accepted(error: UnexpectedInput) -> frozenset[str]:
    """The terminals with which the parser could have gone on, found by trying each."""
    state: Any = error.state
    silent = copy(state.parse_conf)
    silent.callbacks = {}
    return frozenset(name for name in silent.parse_table.states[state.position] if _goes_on(state, silent, name))


def _goes_on(state: Any, silent: Any, name: str) -> bool:
    if not name.isupper():
        return False
    attempt = state.copy(deepcopy_values=False)
    attempt.parse_conf = silent
    try:
        attempt.feed_token(Token(name, ""), name == "$END")
    except UnexpectedToken:
        return False
    return True


def _expected(accepted: frozenset[str], raw: RawStatement) -> tuple[str, bool]:
    """What the parser waited for in the user's words, and whether that is something to begin with."""
    for names, words in _STARTS:
        if names <= accepted:
            return words, True
    if raw.kind == "fact" and "$END" in accepted:
        return "`:-`, `@` or the end of the statement", False
    return next((words for names, words in _ENDS if names <= accepted), "something else"), False


def _is_missing(rest: str, is_start: bool) -> bool:
    """Whether something is left out before this, rather than this being wrong."""
    if not rest or rest[0] in ")],." or rest.startswith(":-"):
        return True
    return not is_start and (rest[0].isalnum() or rest[0] in "_'\"")


def _found(rest: str) -> str:
    match = _FOUND.match(rest)
    return match[0] if match else ""


def _gap(text: str, raw: RawStatement, at: int) -> Span:
    """Right behind the last token before this place; at the place itself where there is none."""
    ends = [end for _, _, end in tokens_between(text, raw.start, at)]
    gap = ends[-1] if ends else at
    return Span(gap, gap + 1)


def _opened(text: str, start: int, at: int) -> tuple[Note, ...]:
    """A note at the innermost bracket that is still open, where the statement ends without closing it."""
    brackets: list[int] = []
    for kind, begin, _ in tokens_between(text, start, at):
        if kind == "open":
            brackets.append(begin)
        elif kind == "close" and brackets:
            brackets.pop()
    return (Note(Span(brackets[-1], brackets[-1] + 1), "opened here"),) if brackets else ()

"""Drafts: what the parser holds of a name or a prefix operator until its use says what it is.

Formulas and expressions share their grammar (`plans/language/grammar.lark`), so a name is read as what it is only once it is
used: `Name` stands for an atom, a variable, a constant or a function until `as_formula` or `as_term` decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, cast, get_args

from lark import Token

from tidelog.plans.data.timeline import format_time
from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.language.measures import Chain, Measure
from tidelog.plans.language.statements import MAX_DEPTH
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import Refusal, refuse, token_span
from tidelog.plans.tree.numerals import shorten

_PREDICATE = re.compile(r"[A-Za-z_0-9]*[A-Za-z_][A-Za-z_0-9]*(?::[A-Za-z0-9_]+)?\Z")
_FUNCTIONS = frozenset(["min", "max", "abs"])
_AGGREGATES = frozenset(
    ["avg", "average", "mean", "median", "count", "cnt", "sum", "total", "stddev", "distinct", "first", "last", "quantile"]
)
TYPES: tuple[str, ...] = get_args(syntax.FieldType)
_OTHER_TYPES = {
    **dict.fromkeys(["string", "str", "varchar", "char", "symbol", "name"], "text"),
    **dict.fromkeys(["float", "double", "real", "decimal", "numeric"], "number"),
    **dict.fromkeys(["int", "long", "short", "whole"], "integer"),
    "bool": "boolean",
}
"""What other languages call the types of fields."""
ROUNDINGS: tuple[str, ...] = get_args(syntax.Rounding)
_OTHER_ROUNDINGS = {
    **dict.fromkeys(["floor", "trunc", "truncate"], "down"),
    **dict.fromkeys(["ceil", "ceiling"], "up"),
    **dict.fromkeys(["half", "closest", "even"], "nearest"),
}
"""What other languages call the ways of rounding."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name with or without arguments, not yet known to be an atom or a term; `quoted` if in single quotes."""

    text: str
    quoted: bool
    arguments: tuple[syntax.Expression, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Prefix:
    """`not`, or a metric operator with its interval (none if it is not written), in lower case."""

    word: str
    interval: syntax.Interval | None
    span: Span


@dataclass(frozen=True, slots=True)
class Lasting:
    """The `for 10 min` or `within 10 min` behind a formula: the word, and the interval of the operator it stands for."""

    word: str
    interval: syntax.Interval
    span: Span


@dataclass(frozen=True, slots=True)
class FixedTime:
    """The `@3` or `@[1,2)` behind an atom, which only a fact may have."""

    interval: syntax.Interval
    span: Span


Draft = Name | Measure | Chain | syntax.Formula | syntax.Expression
_TERMS = (syntax.Variable, syntax.Wildcard, syntax.Constant, syntax.Arithmetic)


def place_of(item: Any) -> Span:
    """The place of a token or a node."""
    return token_span(item) if isinstance(item, Token) else cast(Span, item.span)


def cover(items: Sequence[Any]) -> Span:
    """From the first of these to the last."""
    return Span(place_of(items[0]).start, place_of(items[-1]).end)


# --- names become what they are ------------------------------------------------------------------------------------


def predicate_name(token: Token) -> str:
    """The predicate that this name denotes, its single quotes taken off."""
    if token.type == "QUOTED":
        return token[1:-1]
    if not _PREDICATE.match(token):
        raise refuse(token_span(token), f"`{token}` is not a predicate's name", help=f"write it in quotes: `'{token}'`")
    return str(token)


def as_formula(draft: Draft) -> syntax.Formula:
    """Read as a formula: a name is an atom, `top` and `bottom` are truth values."""
    if isinstance(draft, Name):
        return _as_atom(draft)
    if isinstance(draft, Measure):
        help = "compare it, or give it a name, such as `N = count() over …`"
        raise refuse(draft.span, "expected a formula, found an aggregate, which has a value", help=help)
    if isinstance(draft, Chain):
        raise refuse(draft.span, "it is not clear where `by` ends", help="put its variables in parentheses: `by (S, X)`")
    if isinstance(draft, _TERMS):
        what = "an arithmetic expression" if isinstance(draft, syntax.Arithmetic) else "a constant"
        raise refuse(draft.span, f"expected a formula, found {what}", help="compare it, such as `X > 3`")
    return draft


def _as_atom(name: Name) -> syntax.Atom | syntax.Truth:
    if not name.quoted and name.arguments is None and name.text.lower() in ("top", "bottom"):
        return syntax.Truth(name.text.lower() == "top", name.span)
    if not name.quoted and not _PREDICATE.match(name.text):
        shown = name.text
        raise refuse(name.span, f"`{shown}` is not a predicate's name", help=f"write it in quotes: `'{shown}'`")
    arguments = name.arguments or ()
    for argument in arguments:
        if isinstance(argument, syntax.Arithmetic | Measure):
            raise refuse(
                argument.span,
                "an atom's argument is a variable or a constant, not arithmetic",
                help="give it a name in the body, such as `W = X+1`, and use `W`",
            )
    return syntax.Atom(name.text, arguments, None, name.span)


def as_term(draft: Draft) -> syntax.Expression:
    """Read as a term or an expression: a name is a variable or a constant by its first letter."""
    if isinstance(draft, _TERMS):
        return draft
    if isinstance(draft, Measure):  # it becomes a literal of its own once the rule is read
        return cast(syntax.Expression, draft)
    if not isinstance(draft, Name):
        raise refuse(draft.span, "expected a variable, a constant or an expression, found a formula")
    if draft.arguments is not None:
        return _as_call(draft, draft.arguments)
    if draft.quoted:
        raise refuse(draft.span, "a constant stands in double quotes", help=f'write `"{draft.text}"`')
    return as_plain_term(draft.text, draft.span)


def as_plain_term(text: str, span: Span) -> syntax.Term:
    if text == "_":
        return syntax.Wildcard(span)
    if "a" <= text[0] <= "z":
        return syntax.Constant(text, span)
    if text[0].isdigit() or ":" in text:
        message = f"`{text}` is neither a variable nor a constant"
        raise refuse(span, message, help=f'for the constant, write `"{text}"`')
    return syntax.Variable(text, span)


def _as_call(name: Name, arguments: tuple[syntax.Expression, ...]) -> syntax.Arithmetic:
    function = name.text.lower()
    if function not in _FUNCTIONS or name.quoted:
        raise _no_function(name)
    if (len(arguments) != 1) if function == "abs" else (len(arguments) < 2):
        expected = "one argument" if function == "abs" else "two arguments or more"
        raise refuse(name.span, f"`{function}` takes {expected}, got {len(arguments)}")
    return syntax.Arithmetic(cast(Any, function), arguments, name.span)


def _no_function(name: Name) -> Refusal:
    if name.text.lower() in _AGGREGATES:
        message = f"`{name.text}(...)` does not say what it goes over"
        call = f"{name.text}()" if name.text.lower() == "count" else f"{name.text}(V)"
        return refuse(name.span, message, help=f"write `{call} over temp(S, V) in [10] by S`")
    help = "atoms do not nest: write them side by side, joined by `,`; functions are `min`, `max` and `abs`"
    return refuse(name.span, f"`{name.text}(...)` is not a function", help=help)


# --- types ---------------------------------------------------------------------------------------------------------


def unknown_type(token: Token) -> Diagnostic:
    """What to say of a field's type that there is not."""
    near = _OTHER_TYPES.get(token.lower()) or next(iter(get_close_matches(token[:40].lower(), TYPES, n=1)), "")
    help = f"did you mean `{near}`?" if near else "types are `text`, `number`, `integer`, `boolean` and `any`"
    return Diagnostic("unknown-type", f"`{shorten(token)}` is no type", token_span(token), help=help)


def rounding_named(token: Token) -> syntax.Rounding:
    """The way of rounding that a word stands for; raises Refusal for any other word."""
    word = token.lower()
    if word in ROUNDINGS:
        return cast(syntax.Rounding, word)
    near = _OTHER_ROUNDINGS.get(word) or next(iter(get_close_matches(word[:40], ROUNDINGS, n=1)), "")
    help = f"did you mean `{near}`?" if near else "times are rounded `down`, to the `nearest` tick, or `up`"
    raise refuse(token_span(token), f"`{shorten(token)}` is no way to round", help=help, code="unknown-rounding")


# --- prefixes and windows ------------------------------------------------------------------------------------------


def apply_prefix(prefix: Prefix, operand: syntax.Formula) -> syntax.Formula:
    span = Span(prefix.span.start, operand.span.end)
    if prefix.word == "not":
        return syntax.Negation(operand, span)
    if prefix.word in ("sometime", "always"):
        kind = "diamond" if prefix.word == "sometime" else "box"
        direction, interval = _direct(prefix)
        return syntax.Unary(cast(Any, kind + direction), interval, operand, span=span)
    return syntax.Unary(cast(Any, prefix.word), prefix.interval or syntax.EVER, operand, span=span)


def _direct(prefix: Prefix) -> tuple[str, syntax.Interval]:
    """A signed interval as a direction and distances: the past is mirrored, `(-2,-1]` becomes `[1,2)`."""
    interval = prefix.interval or syntax.EVER
    if interval.low >= 0 and interval.high > 0:
        return "plus", interval
    if interval.high <= 0:
        return "minus", syntax.Interval(
            -interval.high,
            -interval.low,
            interval.right_open,
            interval.left_open,
            interval.high_unit,
            interval.low_unit,
            interval.span,
        )
    if interval.low > interval.high:
        raise refuse(interval.span, "the interval is empty: it ends before it begins", code="empty-interval")
    word = prefix.word.upper()
    split = "write two rules, one for each" if prefix.word == "sometime" else "write both, joined by `,`"
    raise refuse(
        interval.span,
        f"the interval of `{word}` reaches from the past into the future",
        help=f"split it into `{word}` up to 0 and `{word}` from 0: {split}",
        code="mixed-interval",
    )


def _bare(prefix: Prefix) -> bool:
    return prefix.word in ("sometime", "always") and prefix.interval is None


def apply_window(
    prefixes: list[Prefix], operand: syntax.Formula, window: syntax.WindowSize
) -> tuple[list[Prefix], syntax.Formula]:
    """Close the nearest bare `sometime` or `always`; without one, take in everything back to the last `not`."""
    stop = max((i for i, prefix in enumerate(prefixes) if _bare(prefix)), default=None)
    if stop is None:
        inner = max((i + 1 for i, prefix in enumerate(prefixes) if prefix.word == "not"), default=0)
        mode = "at" if isinstance(operand, syntax.Atom) and operand.at is not None else "sometime"
    else:
        inner, mode = stop + 1, prefixes[stop].word
    for prefix in reversed(prefixes[inner:]):
        operand = apply_prefix(prefix, operand)
    begin = operand.span if stop is None else prefixes[stop].span
    span = Span(begin.start, window.span.end)
    rest = prefixes[: inner if stop is None else stop]
    return rest, syntax.Window(cast(Any, mode), operand, window, span)


def apply_lasting(prefixes: list[Prefix], operand: syntax.Formula, lasting: Lasting) -> tuple[list[Prefix], syntax.Formula]:
    """Take in everything back to the last `not`, or to the last `sometime` or `always` that waits for its window."""
    inner = max((i + 1 for i, prefix in enumerate(prefixes) if prefix.word == "not" or _bare(prefix)), default=0)
    for prefix in reversed(prefixes[inner:]):
        operand = apply_prefix(prefix, operand)
    if isinstance(operand, syntax.Comparison):
        help = "write a rule for what has to last, such as `high(X) :- value(X, V), V > 80`, and then `high(X) {} {}`"
        shown = format_time(lasting.interval.high) + (lasting.interval.high_unit and f" {lasting.interval.high_unit}")
        message = f"`{lasting.word}` stands behind what holds over time, and a comparison always holds or never"
        raise refuse(lasting.span, message, help=help.format(lasting.word, shown))
    operator = "boxminus" if lasting.word == "for" else "diamondminus"
    span = Span(operand.span.start, lasting.span.end)
    return prefixes[:inner], syntax.Unary(
        cast(Any, operator), lasting.interval, operand, word=cast(Any, lasting.word), span=span
    )


def in_head(head: syntax.Formula) -> syntax.Formula:
    """A head as it is meant: `alarm(P) for 10 min` holds from now on, and no more when the time has passed."""
    if not isinstance(head, syntax.Unary):
        return head
    operand = in_head(head.operand)
    if not head.word:
        return replace(head, operand=operand)
    if head.word == "within":
        help = "in a head, `for 10 min` says how long it holds from now on"
        raise refuse(head.span, "`within` looks back, and a head tells what holds", help=help)
    return replace(head, operator="boxplus", interval=replace(head.interval, right_open=True), operand=operand)


def too_deep(span: Span) -> Refusal:
    return refuse(span, f"formulas are nested more than {MAX_DEPTH} deep", code="too-deep", help="give a part its own rule")

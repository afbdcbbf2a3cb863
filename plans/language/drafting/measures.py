"""From what the parser holds of an aggregate, or of `latest`, to its node: the function, `by` and the window."""

from __future__ import annotations

from difflib import get_close_matches
from fractions import Fraction
from typing import Any, cast, get_args

from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.drafts import Name, as_formula, as_plain_term, cover
from tidelog.plans.language.measures import Measure
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import Refusal, refuse
from tidelog.plans.tree.numerals import shorten

FUNCTIONS: tuple[str, ...] = get_args(syntax.AggregateFunction)
_OTHER_NAMES = {
    **dict.fromkeys(["average", "mean"], "avg"),
    **dict.fromkeys(["cnt", "number"], "count"),
    "total": "sum",
    "median": "quantile(0.5, V)",
    "percentile": "quantile(0.9, V)",
    **dict.fromkeys(["stdev", "std", "sd", "stddev_samp"], "stddev"),
    "minimum": "min",
    "maximum": "max",
    "count_distinct": "distinct",
}
"""What other languages call the functions."""

By = tuple[tuple[syntax.Variable, ...], bool]
"""The variables behind `by`, and whether commas alone stand between them."""


def measure_of(items: list[Any]) -> Measure:
    """The aggregate of its draft: the function, the formula behind `over`, the window and `by` in any order."""
    call, over = items[0], as_formula(items[2])
    by, window = _by_and_window(items[3:])
    if not isinstance(call, Name):
        raise refuse(call.span, "an aggregate begins with a function", help=f"functions are {_list(FUNCTIONS)}")
    function, argument, fraction = _function(call)
    span = cover([call, by[0][-1] if isinstance(items[-1], tuple) else items[-1]])
    return Measure(function, argument, fraction, over, window, by[0], by[1] and len(by[0]) > 1, span)


def latest_of(items: list[Any]) -> syntax.Latest:
    """`latest` of its draft: an atom, the window and `by` in any order."""
    atom = as_formula(items[1])
    if not isinstance(atom, syntax.Atom):
        raise refuse(atom.span, "`latest` takes an atom, such as `latest temp(S,V) by S in [10]`")
    by, window = _by_and_window(items[2:])
    if isinstance(window, syntax.Period):  # the grammar has none here
        raise TypeError(window)
    end = by[0][-1] if isinstance(items[-1], tuple) else window
    return syntax.Latest(atom, by[0], window, Span(cover(items[:1]).start, end.span.end))


def by_of(items: list[Any]) -> By:
    """The variables behind `by`."""
    names = [item for item in items if item.type == "NAME"]
    found = []
    for token in names:
        term = as_plain_term(str(token), cover([token]))
        if not isinstance(term, syntax.Variable):
            message = f"`by` lists variables, found `{shorten(str(token))}`"
            raise refuse(term.span, message, help="a variable starts upper-case, such as `S`")
        found.append(term)
    return tuple(found), items[1].type != "LPAR"


def _by_and_window(items: list[Any]) -> tuple[By, syntax.WindowSize | syntax.Period]:
    window = next(item for item in items if isinstance(item, syntax.WindowSize | syntax.Period))
    return next((item for item in items if isinstance(item, tuple)), ((), False)), window


def _function(call: Name) -> tuple[syntax.AggregateFunction, syntax.Expression | None, Fraction | None]:
    name = call.text.lower()
    if name not in FUNCTIONS or call.quoted:
        raise _unknown(call)
    given = call.arguments
    expected = {"count": 0, "quantile": 2}.get(name, 1)
    if given is None or len(given) != expected:
        example = {"count": "count()", "quantile": "quantile(0.5, V)"}.get(name, f"{name}(V)")
        got = "none" if not given else str(len(given))
        takes = {0: "no argument", 1: "one argument", 2: "a number and a variable"}[expected]
        raise refuse(call.span, f"`{name}` takes {takes}, got {got}", help=f"write `{example}`")
    function = cast(syntax.AggregateFunction, name)
    if function == "quantile":
        return function, given[1], _fraction(given[0])
    return function, _argument(given[0]) if given else None, None


def _argument(argument: syntax.Expression) -> syntax.Expression:
    if isinstance(argument, syntax.Wildcard):
        raise refuse(argument.span, "an aggregate is of a variable, not of `_`", help="name it, such as `V`")
    return argument


def _fraction(given: syntax.Expression) -> Fraction:
    if not isinstance(given, syntax.Constant) or isinstance(given.value, str) or not 0 <= given.value <= 1:
        raise refuse(given.span, "a quantile's first argument is a number from 0 to 1", help="such as `quantile(0.5, V)`")
    return Fraction(repr(given.value))


def _unknown(call: Name) -> Refusal:
    near = _OTHER_NAMES.get(call.text.lower()) or next(iter(get_close_matches(call.text[:40].lower(), FUNCTIONS, n=1)), "")
    help = f"did you mean `{near}`?" if near else f"functions are {_list(FUNCTIONS)}"
    return refuse(call.span, f"`{shorten(call.text)}` is no function of an aggregate", help=help)


def _list(names: tuple[str, ...]) -> str:
    return f"{', '.join(f'`{name}`' for name in names[:-1])} and `{names[-1]}`"

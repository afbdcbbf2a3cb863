"""The code that makes a row of a predicate's values, written once for it, so that no schema is interpreted for each fact.

The text is built from the number and the types of its arguments alone; no name and no constant of a program enters it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tidelog.plans.data.facts import PredicateSchema, Row
from tidelog.plans.tree.numerals import EXACT_FLOAT, MAX_INTEGER
from tidelog.plans.tree.syntax import FieldType

MakeRow = Callable[[Row], Row | None]
"""Takes values, and gives their row; None where more has to be looked at."""

_NUMBER = (
    "if {v}.__class__ is float:",
    f"    if not -{EXACT_FLOAT} < {{v}} < {EXACT_FLOAT} or {{v}}.is_integer(): return None",
    f"elif {{v}}.__class__ is not int or not -{MAX_INTEGER} < {{v}} < {MAX_INTEGER}: return None",
)
_TESTS: dict[FieldType, tuple[str, ...]] = {
    "any": ("if {v}.__class__ is not str:", *(f"    {line}" for line in _NUMBER)),
    "text": ("if {v}.__class__ is not str: return None",),
    "number": ("if {v}.__class__ is str: return None", *_NUMBER),
    "integer": (f"if {{v}}.__class__ is not int or not -{MAX_INTEGER} < {{v}} < {MAX_INTEGER}: return None",),
    "boolean": ("if {v} != 'true' and {v} != 'false': return None",),
}
_GIVEN_NUMBER = (
    "if type({v}) is float:",
    f"    if not -{EXACT_FLOAT} < {{v}} < {EXACT_FLOAT} or {{v}}.is_integer(): return None",
    f"elif type({{v}}) is not int or not -{MAX_INTEGER} < {{v}} < {MAX_INTEGER}: return None",
)
_GIVEN_TESTS: dict[FieldType, tuple[str, ...]] = {
    **_TESTS,
    "any": ("if type({v}) is str:", "    if not {v}.isascii(): return None", f"el{_GIVEN_NUMBER[0]}", *_GIVEN_NUMBER[1:]),
    "text": ("if type({v}) is not str or not {v}.isascii(): return None",),
    "number": _GIVEN_NUMBER,
}


def row_maker(schema: PredicateSchema, *, given: bool = False) -> MakeRow:
    """What gives the row of a predicate's values where they are canonical and as declared, and None otherwise.

    The values are text, booleans, integers and floats, as JSON has them; if `given`, by a caller, they may be anything.

    >>> make = row_maker(PredicateSchema("temp", 2, ("sensor", "value"), ("text", "number")))
    >>> make(("s1", 21.5)), make(("s1", 21.0)), make(("s1", "x")), make(("s1",))
    (('s1', 21.5), None, None, None)
    """
    return _compiled(schema.types or ("any",) * schema.arity, given)


@lru_cache(maxsize=1024)
def _compiled(types: tuple[FieldType, ...], given: bool) -> MakeRow:
    tests = _GIVEN_TESTS if given else _TESTS
    names = [f"v{i}" for i in range(len(types))]
    lines = ["def make(values):", f"    if len(values) != {len(types)}: return None"]
    if names:
        lines.append(f"    {', '.join(names)}, = values")
    for name, kind in zip(names, types, strict=True):
        lines += [f"    {line.format(v=name)}" for line in tests[kind]]
    lines.append("    return values")
    scope: dict[str, MakeRow] = {}
    builtins = {"len": len, "float": float, "int": int, "str": str, "type": type}
    exec("\n".join(lines), {"__builtins__": builtins}, scope)  # noqa: S102 - built from numbers and types alone
    return scope["make"]

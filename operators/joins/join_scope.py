"""The generated code of a join at work: its definitions, run once in a scope that holds what they look into."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from tidelog.operators.joins.join_code import JoinCode
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import canonical

UNCOMPUTABLE = (ArithmeticError, DataError)


def definitions(code: JoinCode, rows: Sequence[Mapping[Any, Any]], groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Run the definitions in a scope that holds the stores, the constants and a few builtins alone.

    `rows` and `groups` are what the code looks into for each atom: ranges by row, and by the name of an index pieces by key.
    """
    scope: dict[str, Any] = {
        "__builtins__": {"len": len, "min": min, "max": max, "abs": abs, "str": str, "tuple": tuple, "TypeError": TypeError},
        "bisect_left": bisect_left,
        "canonical": canonical,
        "UNCOMPUTABLE": UNCOMPUTABLE,
        **code.constants,
        **{f"rows{i}": stored for i, stored in enumerate(rows)},
    }
    for named in groups:
        scope.update(named)
    exec(_compiled(code.text), scope)  # noqa: S102 - built from a checked plan (join_code)
    return scope


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    """The definitions as bytecode, once for all sessions of a program: what they work on comes from their scope."""
    return compile(text, "<join>", "exec")

"""What the signs of arithmetic compute (docs/reference/language.md, comparison and arithmetic)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

COMPUTE: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "mod": operator.mod,
    "min": min,
    "max": max,
    "abs": abs,
    "neg": operator.neg,
}
"""A function of numbers for each sign: of one for `abs` and `neg`, of two for the others, of more for `min` and `max`."""

"""A plugin for pytest: an engine of whose actors nothing is said is spread over islands, as if all tests said so."""

from __future__ import annotations

from functools import wraps
from typing import Any

from tidelog.runtime.engine import Engine

_init = Engine.__init__


@wraps(_init)
def _spread(self: Engine, *args: Any, **told: Any) -> None:
    """What an engine is made of, and `actors` where there are none."""
    if not {"actors", "workers"} & set(told):
        told["actors"] = "islands"
    _init(self, *args, **told)


Engine.__init__ = _spread  # type: ignore[method-assign]

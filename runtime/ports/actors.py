"""How the operators of a run are spread over actors and workers."""

from __future__ import annotations

import sys
from typing import Literal, get_args

Actors = Literal["one", "islands", "rule"]
"""What becomes an actor: all operators together, each island of the plan, or each rule as far as it can be cut off."""
MOST_WORKERS = 256
"""How many workers a run may have."""


def check_actors(actors: object, workers: object) -> None:
    """ValueError or TypeError for what is no such setting, and for several workers where a process cannot be forked."""
    if actors is not None and actors not in get_args(Actors):
        raise ValueError(f"unknown actors {actors!r}: expected {', '.join(get_args(Actors))}")
    if not isinstance(workers, int) or isinstance(workers, bool):
        raise TypeError(f"`workers` is a whole number, got {type(workers).__name__}")
    if not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"`workers` is from 1 to {MOST_WORKERS}, got {workers}")
    if workers > 1 and actors == "one":
        raise ValueError("`actors` is `one`, which cannot be in several workers: leave it out, or say `islands` or `rule`")
    if workers > 1 and sys.platform == "win32":
        raise ValueError("`workers` above 1 need a system whose processes can be forked: Linux or macOS")

"""How the operators of a run are spread over actors and workers, and what becomes of these."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal, get_args

from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import need_posix

Actors = Literal["one", "islands", "rule"]
"""What becomes an actor: all operators together, each island of the plan, or each rule as far as it can be cut off."""
SILENT = "its process, which has not answered for"
"""What an actor waits for whose process does not answer, before how many seconds that lasts."""
MOST_WORKERS = 256
"""How many workers a run may have."""


@dataclass(frozen=True, slots=True)
class ActorStatistics:
    """An actor, and what became of it so far.

    It runs the `island` of this number, and `name`, and of its shards the one of the number `shard`, in a `process`. It was
    `told` so many messages, with so many `facts`, and has `answered` so many of them; `waits` is how many of its answers are
    still to come. It was started anew `restarts` times, and left out so many facts as `poisons`. Once more it would be told
    `log` messages, from a state of so many bytes (`state_bytes`). It holds so many `rows`, and was at work for so many
    `seconds` since it was started last. `frontier` is up to when (encoded) it knows all.

    It `waits_for` facts, for earlier islands, by their names, or, with `SILENT` and how long, for a process that does not
    answer; nothing stands there while it is at work. `aside` is why it was set aside, or empty.
    """

    name: str
    island: int
    shard: int
    process: int
    told: int
    facts: int
    answered: int
    waits: int
    restarts: int
    poisons: int
    log: int
    state_bytes: int
    aside: str = ""
    rows: int = 0
    seconds: float = 0.0
    frontier: int = NEG
    waits_for: str = ""


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


def actors_for(actors: Actors | None, workers: int) -> Actors:
    """What becomes an actor, where that is left open: all together in one process, islands in several."""
    return actors or ("one" if workers == 1 else "islands")


def read_actors(actors: Actors | None, workers: int, dashes: str = "") -> Actors:
    """The same for options, whose names begin with these `dashes`; SpecError, with the option's name, for what cannot be.

    >>> read_actors(None, 2)
    'islands'
    >>> read_actors(None, 300, "--")
    Traceback (most recent call last):
    tidelog.plans.diagnostics.errors.SpecError: `--workers` is from 1 to 256, got 300
    """
    if workers > 1:
        need_posix(f"`{dashes}workers` above 1")
    found = actors_for(actors, workers)
    try:
        check_actors(found, workers)
    except ValueError as error:
        told = str(error)
        for name in ("actors", "workers"):
            told = told.replace(f"`{name}`", f"`{dashes}{name}`")
        raise SpecError(told) from None
    return found

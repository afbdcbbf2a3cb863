"""`--workers N` and `--actors HOW`: over what the rules of a run are spread."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from tidelog.commands.numbers import positive
from tidelog.runtime.ports.actors import Actors, read_actors

WORKERS = "run the rules in N processes, where they have a key (default 1)"
ACTORS = (
    "what runs, and fails, by itself: all rules as one, each island of them, or each rule as far as it can be cut off "
    "(default one, with several workers islands)"
)


def add_spread_options(parser: argparse.ArgumentParser, workers: str = WORKERS, actors: str = ACTORS) -> None:
    """Add the options to a parser, with what is said of each."""
    parser.add_argument("--workers", type=positive, metavar="N", help=workers)
    parser.add_argument("--actors", choices=get_args(Actors), help=actors)


def spread_of(options: argparse.Namespace) -> dict[str, Any]:
    """What an engine is given for these options; SpecError for what cannot be."""
    workers = getattr(options, "workers", None) or 1
    return {"workers": workers, "actors": read_actors(getattr(options, "actors", None), workers, "--")}

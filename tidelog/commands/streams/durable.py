"""`--state DIR`: what `run` and `ask` say of a run that goes on after a restart."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelog.commands.numbers import seconds
from tidelog.commands.outcome import BAD, DONE, write_out
from tidelog.commands.sizes import age_or_size, size
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.visible import visible
from tidelog.runtime.ports.durability import EVERY, Backlog, Keep

if TYPE_CHECKING:
    from tidelog.runtime.migration.changing import Becoming

CHECK = "check"
"""What `--reload` is told in order to see what would become of the state, and to run nothing."""

_NEEDING = ("commit_every", "keep", "backlog", "backlog_full", "reload")


def add_state_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run that goes on after a restart."""
    parser.add_argument("--state", metavar="DIR", help="keep in DIR what is needed to go on after a restart")
    parser.add_argument(
        "--commit-every",
        type=seconds,
        metavar="S",
        help=f"store what is new every S seconds (default {EVERY:g})",
    )
    parser.add_argument(
        "--keep", type=age_or_size, action="append", metavar="D", help="keep what was read, for `7d`, or up to `500MB`"
    )
    parser.add_argument("--backlog", type=size, metavar="N", help="how much may wait for sinks that are away (default 1GB)")
    parser.add_argument(
        "--backlog-full",
        choices=("block", "stop", "drop-oldest"),
        help="what to do with more: let the sources wait, stop, or drop the oldest (default block)",
    )
    parser.add_argument(
        "--reload",
        choices=("refuse", "drop", "check"),
        help="where the program has changed: refuse to go on if state is lost, drop it, or only say what would become of it "
        "(default refuse)",
    )


@contextmanager
def state_of(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What an engine is given for these options; SpecError for such as need `--state`, where it is not there."""
    if options.state is None:
        for name in _NEEDING:
            if getattr(options, name) is not None:
                raise SpecError(f"`--{name.replace('_', '-')}` needs `--state DIR`")
        yield {}
        return
    from tidelog.connectors.store.state_store import StateDirectory  # noqa: PLC0415 - few runs have a state, and all have to start at once

    bound = Backlog()
    backlog = Backlog(options.backlog or bound.size, options.backlog_full or bound.full)
    every = EVERY if options.commit_every is None else options.commit_every
    is_check = options.reload == CHECK
    reload = "refuse" if is_check else options.reload or "refuse"
    with StateDirectory(options.state, read_only=is_check) as store:
        keep = keep_of(options.keep)
        yield {"state": store, "commit_every": every, "keep": keep, "backlog": backlog, "reload": reload}


def show_changes(found: Sequence[Becoming]) -> int:
    """Print what would become of a stored run; the exit code is 1 where state would be dropped."""
    write_out("".join(f"{visible(str(item))}\n" for item in found) or "the program is the same\n")
    return BAD if any(item.drops for item in found) else DONE


def keep_of(told: list[Keep] | None) -> Keep | None:
    """How long input is kept: as long as each of several allows."""
    if told is None:
        return None
    ages = [keep.seconds for keep in told if keep.seconds is not None]
    sizes = [keep.size for keep in told if keep.size is not None]
    return Keep(min(ages, default=None), min(sizes, default=None))

"""`tidelog run`: stream facts through a program."""

from __future__ import annotations

import argparse
from functools import partial

from tidelog.commands.http import add_http_options
from tidelog.commands.outbox import add_outbox_options, outbox_of, refuse_outbox_options, run_with_outbox
from tidelog.commands.outcome import load_plan
from tidelog.commands.streaming import add_stream_options, stream
from tidelog.runtime.engine import Engine


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    add_stream_options(parser)
    parser.add_argument(
        "--emit",
        choices=("intervals", "final", "changes", "points"),
        default="intervals",
        help="when answers are told: at once, once they can grow no more, when they begin and when they end, or at each "
        "time point (default intervals)",
    )
    parser.add_argument("--no-prospects", action="store_true", help="let nothing sleep while it cannot hold")
    add_outbox_options(parser)
    add_http_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a program over its sources until they end, or until a signal asks to stop."""
    plan = load_plan(options.program)
    outbox = outbox_of(plan, options)
    if outbox is not None:
        return run_with_outbox(plan, options, outbox)
    refuse_outbox_options(options)
    return stream(plan, options, partial(Engine, emit=options.emit, prospects=not options.no_prospects))

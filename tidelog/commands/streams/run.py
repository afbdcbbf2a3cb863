"""`tidelog run`: stream facts through a program."""

from __future__ import annotations

import argparse

from tidelog.commands.numbers import positive
from tidelog.commands.outcome import load_plan
from tidelog.commands.sizes import add_memory
from tidelog.commands.streams.histories import history_maker
from tidelog.commands.streams.http import add_http_options
from tidelog.commands.streams.outbox import add_outbox_options, outbox_of, refuse_outbox_options, run_with_outbox
from tidelog.commands.streams.spreading import add_spread_options, spread_of
from tidelog.commands.streams.streaming import add_stream_options, stream
from tidelog.connectors.outbox.spec import is_outbox
from tidelog.connectors.spec import parse_spec
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.taking_back import check_corrections
from tidelog.runtime.running.runner import Runner
from tidelog.runtime.sessions.settings import Settings

REMEMBERED = 10_000
"""From so many facts, at the most, answers are explained, unless it is said otherwise."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    add_stream_options(parser)
    parser.add_argument(
        "--emit",
        choices=("intervals", "final", "changes", "points"),
        default="intervals",
        help="when answers are told: at once, once they can grow no more, when they begin and when they end, or at each "
        "time point (default intervals, for files and programs; a gateway's is changes, for people)",
    )
    parser.add_argument(
        "--explain",
        nargs="?",
        type=positive,
        const=REMEMBERED,
        metavar="N",
        help=f"with `--emit changes`: say what each answer follows from, by the last N facts (default {REMEMBERED:,})",
    )
    parser.add_argument(
        "--corrections",
        action="store_true",
        help="take back facts that were accepted (`retract p(a)@3`), and answers with them; needs `--state`, `--keep` and "
        "`--emit changes`",
    )
    add_memory(parser)
    add_spread_options(parser)
    parser.add_argument("--no-prospects", action="store_true", help="let nothing sleep while it cannot hold")
    add_outbox_options(parser)
    add_http_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a program over its sources until they end, or until a signal asks to stop."""
    plan = load_plan(options.program, desk=options.http is not None)
    _check_explained(options)
    _check_corrections(plan, options)
    spread_of(options)
    outbox = outbox_of(plan, options)
    if outbox is not None:
        return run_with_outbox(plan, options, settings_of(options), outbox)
    refuse_outbox_options(options)
    return stream(plan, options, settings_of(options), history_maker(plan, options, options.sinks or ["-"]) or Runner)


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings of a session that only this command has options for."""
    explained = options.explain or 0
    return Settings(emit=options.emit, prospects=not options.no_prospects, remember=explained, explain=bool(explained))


def _check_corrections(plan: Plan, options: argparse.Namespace) -> None:
    """Refuse what does not go with corrections, before anything is opened; the engine looks at the sinks."""
    if not options.corrections:
        return
    check_corrections(plan, options.emit, keeps=options.state is not None and options.keep is not None)
    if any(map(is_outbox, options.sinks or ())):
        raise SpecError("--corrections: an outbox has no form for answers that are taken back: use text or JSON lines")
    if options.http is not None:
        raise SpecError("--corrections: the page shows no answers that are taken back: leave `--http` out")


def _check_explained(options: argparse.Namespace) -> None:
    if options.explain is None:
        return
    if options.emit != "changes":
        raise SpecError("--explain: reasons are told of changes: add `--emit changes`")
    if any(parse_spec(spec, allow_remote=True).format != "jsonl" for spec in options.sinks or ()):
        raise SpecError("--explain: reasons are written in JSON lines alone, such as `--out -`")

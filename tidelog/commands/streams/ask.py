"""`tidelog ask`: stream facts past questions, and print what may follow, what it rests on, and what it still needs."""

from __future__ import annotations

import argparse

from tidelog.commands.numbers import positive
from tidelog.commands.outcome import load_plan
from tidelog.commands.streams.streaming import add_stream_options, stream
from tidelog.connectors.outbox.spec import is_outbox
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.sessions.questions import TOLD
from tidelog.runtime.sessions.settings import Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    parser.add_argument(
        "--query", dest="queries", action="append", metavar="Q", help="what to ask, such as 'malf(X)@T' (default: its `ask`)"
    )
    add_stream_options(parser)
    parser.add_argument("--min-evidence", type=positive, default=1, metavar="N", help="tell what at least N facts speak for")
    parser.add_argument("--count-absences", action="store_true", help="count absences as evidence, too")
    parser.add_argument("--warn", metavar="D", help="tell an answer again when it is D from its deadline")
    parser.add_argument(
        "--group", action="store_true", help="of answers from the same evidence, tell the first to be decided"
    )
    parser.add_argument("--status", dest="statuses", action="append", choices=TOLD, help="tell answers of this status alone")
    parser.add_argument("--depth", type=positive, metavar="N", help="follow recursion without an end N deep, and no further")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Answer the questions of a program, or of the command line, until the sources end or a signal asks to stop."""
    plan = load_plan(options.program, queries=options.queries, outputs=False, depth=options.depth)
    if not plan.questions:
        hint = "give a query, such as `--query 'malf(X)@T'`, or add `ask malf(X)@T.` to the program"
        raise SpecError(f"`{options.program}` asks nothing: {hint}")
    if any(map(is_outbox, options.sinks or ())):
        raise SpecError("an outbox holds derived facts, and what `ask` answers are none: use another sink")
    told = Settings(
        min_evidence=options.min_evidence,
        count_absences=options.count_absences,
        warn=_duration(plan, options.warn),
        grouped=options.group,
        statuses=options.statuses,
    )
    return stream(plan, options, told)


def _duration(plan: Plan, text: str | None) -> str | None:
    """A duration of the command line; SpecError where it is none."""
    try:
        if text is not None and TimeReader(plan.timeline).duration(text) < 0:
            raise DataError("a duration is 0 or more")
    except DataError as error:
        raise SpecError(f"--warn: {error}") from error
    return text

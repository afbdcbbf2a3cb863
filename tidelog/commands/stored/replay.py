"""`tidelog replay`: what a run has read, run again, with its program or with another."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from tidelog.commands.given import add_strict
from tidelog.commands.outcome import BAD, DONE, count, load_plan, say
from tidelog.compiling import compile
from tidelog.connectors.formats.formats import make_encoder
from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.connectors.transport.terminals import for_terminal
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.durable.replaying import Replayed, head_of, lies_behind, replay, session_for
from tidelog.runtime.journal.manifest import Head


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("state", metavar="DIR", help="the state of a run, as `run --state DIR` keeps it")
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="another program (default: that of the run)")
    parser.add_argument("--from", dest="begin", metavar="T", help="leave out what was over by T")
    parser.add_argument("--to", dest="until", metavar="T", help="leave out facts that begin after T")
    parser.add_argument(
        "--emit", choices=("intervals", "final", "changes", "points"), help="when answers are told (default: as the run did)"
    )
    parser.add_argument(
        "--format", choices=("jsonl", "facts"), default="jsonl", help="how answers are written (default jsonl)"
    )
    add_strict(parser)
    parser.add_argument("--iso", action="store_true", help="write times as ISO-8601, where the program declares a unit")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what a program tells of what a run has read."""
    with StateDirectory(options.state, read_only=True) as store:
        head = head_of(store)
        before = plan_of(head)
        plan = before if options.program is None else load_plan(options.program)
        begin, until = _time(plan, "--from", options.begin, NEG), _time(plan, "--to", options.until, POS)
        encoder: Encoder = make_encoder(options.format, plan.schema, options.iso)
        done = Replayed()
        told: dict[str, Any] = {} if options.emit is None else {"emit": options.emit}
        session = session_for(head, plan, before.timeline, **told)
        for answers in replay(store, session, until, done):
            wanted = [answer for answer in answers if lies_behind(answer, begin)]
            if wanted:
                data = encoder.encode(wanted)
                write((for_terminal(data) if sys.stdout.isatty() else data).decode())
    left_out = say_what_was_left_out(done)
    return BAD if options.strict and left_out else DONE


def write(text: str) -> None:
    """Write to standard output, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def plan_of(head: Head) -> Plan:
    """The plan of the program of a run, with the background that lies beside its file now."""
    return compile(head.text, name=head.program, folder=os.path.dirname(head.program) or ".")


def _time(plan: Plan, name: str, text: str | None, default: int) -> int:
    try:
        return default if text is None else TimeReader(plan.timeline).point(text)
    except DataError as error:
        raise SpecError(f"{name}: {error}") from error


def say_what_was_left_out(done: Replayed) -> int:
    """Note what the journal does not have, and what the program cannot use of it; returns how many facts these are."""
    if done.first > 1:
        say(f"note: the journal begins with event {done.first}: what rests on earlier facts is missing")
    if done.foreign:
        say(f"note: {count(done.foreign, 'fact')} could not be used: the program expects other arguments")
    if done.refused:
        say(f"note: {count(done.refused, 'fact')} left out: late, or too far ahead")
    return done.foreign + done.refused

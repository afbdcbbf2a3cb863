"""`tidelog consistent`: decide whether a program and facts have a model."""

from __future__ import annotations

import argparse

from tidelog.commands.batch import (
    add_batch_arguments,
    go_on_to_decide,
    load,
    load_batch_plan,
    parse_facts,
    predicates_read,
    refined,
    relevant_part,
    say_inconsistent,
    stopped_by_signals,
    write_lines,
)
from tidelog.commands.batch_progress import Progress
from tidelog.commands.outcome import BAD, DONE, USAGE, say
from tidelog.runtime.batch.materialisation import Materialisation


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("consistent", help="decide whether a program and facts have a model")
    add_batch_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print `true` or `false`, as soon as it is decided."""
    with stopped_by_signals(), Progress() as progress:
        plan = load_batch_plan(options.program)
        specs = parse_facts(options.facts)
        part = relevant_part(plan)
        loader = load(plan, plan.timeline, specs, progress, predicates_read(part))
        done = Materialisation(refined(part, loader.timeline))
        done.load(loader.drain())
        undecided = go_on_to_decide(done, progress)
        progress.clear()
        if done.violation() is not None:
            say_inconsistent(done)
            write_lines(["false"])
            return BAD
        if undecided:
            say(f"error: whether there is a model is not decided: {undecided}")
            return USAGE
        write_lines(["true"])
        return DONE

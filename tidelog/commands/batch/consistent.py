"""`tidelog consistent`: decide whether a program and facts have a model."""

from __future__ import annotations

import argparse

from tidelog.commands.batch.facts import (
    add_batch_arguments,
    add_iso,
    add_method,
    load,
    load_batch_plan,
    parse_facts,
    say_inconsistent,
    write_lines,
)
from tidelog.commands.outcome import BAD, DONE, USAGE, say
from tidelog.commands.progress import Progress
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.runtime.batch.decisions.entailment import Question
from tidelog.runtime.batch.decisions.relevance import predicates_read, refined, relevant_part


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    add_batch_arguments(parser)
    add_method(parser)
    add_iso(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print `true` or `false`, as soon as it is decided."""
    with Progress() as progress:
        plan = load_batch_plan(options.program)
        TimeFormatter(plan.timeline, options.iso)  # a program without a unit is told before its facts are read
        specs = parse_facts(options)
        part = relevant_part(plan)
        loader = load(plan, plan.timeline, specs, progress, predicates_read(part), is_strict=options.strict)
        part = refined(part, loader.timeline)
        question = Question(part, max_state=options.max_state)
        question.load(loader.drain())
        decision = question.decide(options.method, progress)
    if decision.answer == "undecided":
        say(f"error: whether there is a model is not decided: {decision.reason}")
        return USAGE
    if decision.answer == "false":
        say_inconsistent(decision.violation, TimeFormatter(part.timeline, options.iso))
    write_lines([decision.answer])
    return DONE if decision.answer == "true" else BAD

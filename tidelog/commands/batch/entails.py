"""`tidelog entails`: decide whether a fact follows from a program and facts."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tidelog.commands.batch.asked_fact import Once, read_fact
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
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.batch.decisions.decision import Decision, Truth
from tidelog.runtime.batch.decisions.entailment import Question
from tidelog.runtime.batch.decisions.relevance import predicates_read, refined, relevant_part

INCONSISTENT = 3
"""The exit code where there is no model, so that every fact follows."""

_CODES: dict[Truth, int] = {"true": DONE, "false": BAD, "inconsistent": INCONSISTENT}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    add_batch_arguments(parser)
    parser.add_argument("--fact", required=True, action=Once, metavar="F", help="the fact asked for, such as 'P(a)@[1,2]'")
    add_method(parser)
    add_iso(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print `true`, `false` or `inconsistent`, as soon as it is decided."""
    unknown = ""
    with Progress() as progress:
        plan = load_batch_plan(options.program)
        TimeFormatter(plan.timeline, options.iso)  # a program without a unit is told before its facts are read
        (predicate, *_), timeline = read_fact(plan.schema, options.fact)
        specs = parse_facts(options)
        part = relevant_part(plan, predicate)
        loader = load(plan, timeline, specs, progress, predicates_read(part, predicate), is_strict=options.strict)
        if predicate not in plan.schema.predicates and predicate not in loader.facts.predicates:
            unknown = f"`{shorten(predicate)}`{suggest(predicate, plan.schema.predicates)}"
        part = refined(part, loader.timeline)
        fact, _ = read_fact(replace(plan.schema, timeline=loader.timeline), options.fact)
        question = Question(part, fact, options.max_state)
        question.load(loader.drain())
        decision = question.decide(options.method, progress)
    if unknown:
        say(f"note: neither the program nor the data has a predicate {unknown}")
    return _tell(decision, TimeFormatter(part.timeline, options.iso))


def _tell(decision: Decision, times: TimeFormatter) -> int:
    """Print the answer, say why it is none, and return its exit code."""
    if decision.answer == "undecided":
        say(f"error: whether it follows is not decided: {decision.reason}")
        return USAGE
    if decision.answer == "inconsistent":
        say_inconsistent(decision.violation, times)
    write_lines([decision.answer])
    return _CODES[decision.answer]

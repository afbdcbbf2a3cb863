"""`tidelog entails`: decide whether a fact follows from a program and facts."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import Any

from tidelog.commands.batch import (
    add_batch_arguments,
    add_iso,
    add_method,
    load,
    load_batch_plan,
    parse_facts,
    say_inconsistent,
    write_lines,
)
from tidelog.commands.batch_progress import Progress
from tidelog.commands.outcome import BAD, DONE, USAGE, say
from tidelog.connectors.formatting import TimeFormatter
from tidelog.connectors.text_decoder import TextDecoder
from tidelog.plans.errors import DataError, SpecError
from tidelog.plans.facts import Record, Schema
from tidelog.plans.numerals import shorten
from tidelog.plans.refining import read_exactly
from tidelog.plans.suggestions import suggest
from tidelog.plans.timeline import Timeline
from tidelog.runtime.batch.decision import Decision, Truth
from tidelog.runtime.batch.entailment import Question
from tidelog.runtime.batch.relevance import predicates_read, refined, relevant_part

INCONSISTENT = 3
"""The exit code where there is no model, so that every fact follows."""

_CODES: dict[Truth, int] = {"true": DONE, "false": BAD, "inconsistent": INCONSISTENT}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    add_batch_arguments(parser)
    parser.add_argument("--fact", required=True, action=_Once, metavar="F", help="the fact asked for, such as 'P(a)@[1,2]'")
    add_method(parser)
    add_iso(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print `true`, `false` or `inconsistent`, as soon as it is decided."""
    unknown = ""
    with Progress() as progress:
        plan = load_batch_plan(options.program)
        TimeFormatter(plan.timeline, options.iso)  # a program without a unit is told before its facts are read
        (predicate, *_), timeline = _read_fact(plan.schema, options.fact)
        specs = parse_facts(options.facts)
        part = relevant_part(plan, predicate)
        loader = load(plan, timeline, specs, progress, predicates_read(part, predicate))
        if predicate not in plan.schema.predicates and predicate not in loader.facts.predicates:
            unknown = f"`{shorten(predicate)}`{suggest(predicate, plan.schema.predicates)}"
        part = refined(part, loader.timeline)
        fact, _ = _read_fact(replace(plan.schema, timeline=loader.timeline), options.fact)
        question = Question(part, fact, options.max_state)
        question.load(loader.drain())
        decision = question.decide(options.method, progress)
    if unknown:
        say(f"note: neither the program nor the data has a predicate {unknown}")
    return _tell(decision, TimeFormatter(part.timeline, options.iso))


class _Once(argparse.Action):
    """Takes one value: a second one is a mistake, and does not replace the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "asks for one fact: ask for each by itself")
        setattr(namespace, self.dest, values)


def _tell(decision: Decision, times: TimeFormatter) -> int:
    """Print the answer, say why it is none, and return its exit code."""
    if decision.answer == "undecided":
        say(f"error: whether it follows is not decided: {decision.reason}")
        return USAGE
    if decision.answer == "inconsistent":
        say_inconsistent(decision.violation, times)
    write_lines([decision.answer])
    return _CODES[decision.answer]


def _read_fact(schema: Schema, text: str) -> tuple[Record, Timeline]:
    """A fact, encoded for a timeline that is fine enough for it; SpecError where it is none.

    Of a predicate that nothing knows, too: what nothing derives does not follow.
    """
    schema = replace(schema, others=None)

    def read(timeline: Timeline) -> Record:
        batch = TextDecoder(replace(schema, timeline=timeline), "--fact").decode([os.fsencode(text)], 1)
        for item in batch.rejected:
            raise DataError(item.reason)
        if not batch.records:
            raise DataError("expected a fact, such as `P(a)@[1,2]`")
        return batch.records[0]

    try:
        return read_exactly(schema.timeline, read)
    except DataError as error:
        raise SpecError(f"--fact: {error}") from error

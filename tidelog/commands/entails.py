"""`tidelog entails`: decide whether a fact follows from a program and facts."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Literal

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
from tidelog.connectors.text_decoder import TextDecoder
from tidelog.plans.batch import BatchPlan
from tidelog.plans.errors import DataError, SpecError
from tidelog.plans.facts import Record, Schema
from tidelog.plans.refining import read_exactly
from tidelog.plans.timeline import POS, Timeline
from tidelog.runtime.batch.materialisation import Materialisation

INCONSISTENT = 3
"""The exit code where a constraint is violated, so that every fact follows."""

Answer = Literal["true", "false", "inconsistent", "undecided"]

_CODES: dict[Answer, int] = {"true": DONE, "false": BAD, "inconsistent": INCONSISTENT}
_METHODS = ("auto", "materialise", "automata", "ltl")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("entails", help="decide whether a fact follows")
    add_batch_arguments(parser)
    parser.add_argument("--fact", required=True, metavar="F", help="the fact in question, such as 'P(a)@[1,2]'")
    parser.add_argument("--method", choices=_METHODS, default="auto", help="how to decide it (default auto)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print `true`, `false` or `inconsistent`, as soon as it is decided."""
    if options.method in ("automata", "ltl"):
        raise SpecError(f"`--method {options.method}` is not there yet: `--method materialise` is")
    with stopped_by_signals(), Progress() as progress:
        plan = load_batch_plan(options.program)
        (predicate, *_), timeline = _read_fact(plan.schema, options.fact)
        specs = parse_facts(options.facts)
        part = relevant_part(plan, predicate)
        loader = load(plan, timeline, specs, progress, predicates_read(part, predicate))
        part = refined(part, loader.timeline)
        fact, _ = _read_fact(replace(plan.schema, timeline=loader.timeline), options.fact)
        question = Question(part, fact)
        question.done.load(loader.drain())
        answer = question.decide(progress)
    return _tell(answer, question)


def _tell(answer: Answer, question: Question) -> int:
    """Print the answer, say why it is none, and return its exit code."""
    if answer == "undecided":
        say(f"error: whether it follows is not decided: {question.why_undecided}")
        return USAGE
    if answer == "inconsistent":
        say_inconsistent(question.done)
    write_lines([answer])
    return _CODES[answer]


def _read_fact(schema: Schema, text: str) -> tuple[Record, Timeline]:
    """A fact, encoded for a timeline that is fine enough for it; SpecError where it is none."""

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


class Question:
    """Whether a fact follows from a plan and the facts that `done`, its materialisation, is given."""

    def __init__(self, plan: BatchPlan, fact: Record) -> None:
        self._fact = fact
        self._plan = plan
        self.why_undecided = ""
        self._ends = all(component.ending == "finite" for component in plan.components)
        self.done = Materialisation(plan, until=self._last_time())

    def decide(self, progress: Progress) -> Answer:
        """Go on until it is decided, or as far as materialisation gets; then `why_undecided` tells why no further."""
        self.why_undecided = go_on_to_decide(self.done, progress, self._is_decided)
        is_known = self.done.holds(self._fact)
        if is_known and not self.why_undecided:
            with suppress(DataError):  # what else it derives may lie beyond all times: no matter
                self.done.round()  # it tells whether what is known violates a constraint
        if self.done.violation() is not None:
            return "inconsistent"
        if is_known:
            return "true"
        return "undecided" if self.why_undecided else "false"

    def _is_decided(self) -> bool:
        """Whether nothing can change the answer; but where there need not be an end, a fact that is known is enough."""
        return self.done.holds(self._fact) and not (self._plan.constraints and self._ends)

    def _last_time(self) -> Fraction | None:
        """The time beyond which nothing matters: the fact's end, if no rule looks ahead and there is no constraint."""
        end = self._fact[3]
        if end == POS or self._plan.constraints or not all(component.looks_back for component in self._plan.components):
            return None
        return self._plan.timeline.decode_point(end if self._plan.timeline.is_integer else end + (end & 1))

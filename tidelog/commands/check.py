"""`tidelog check`: the errors and warnings of a program, and with -v its analysis."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping

from tidelog.commands.batch import IN_BATCH, batch_plan_if_any
from tidelog.commands.numbers import positive
from tidelog.commands.outcome import BAD, DONE, load_plan, say, show_diagnostics
from tidelog.plans.analysis.batch_report import batch_fields, batch_lines
from tidelog.plans.analysis.report import analyse, analysis_fields, format_analysis
from tidelog.plans.batch import BatchPlan
from tidelog.plans.errors import ProgramError
from tidelog.plans.parser import parse
from tidelog.plans.plan import Plan
from tidelog.plans.preconditions import Unfolding
from tidelog.plans.printing import format_formula
from tidelog.plans.source import diagnostics_to_fields, to_fields
from tidelog.plans.syntax import Ask
from tidelog.runtime.state_bound import MAX_STATE, MAX_STATE_IN_BATCH

_STATE = f"state: at most {MAX_STATE:,} rows in a stream, {MAX_STATE_IN_BATCH:,} in batch (`--max-state`)"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("check", help="show the errors and warnings of a program")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the analysis: delay, window, memory bound …")
    parser.add_argument("--objects", type=positive, metavar="N", help="how many constants the stream has, for the bounds")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check a program: exit code 1 if it has errors."""
    as_json = options.format == "json"
    try:
        plan = load_plan(options.program)
    except ProgramError as error:
        batch = _batch_plan_instead(options.program)
        if as_json:
            _print_json({"diagnostics": to_fields(error), "batch": batch_fields(batch) if batch else None})
            return BAD
        if options.verbose and batch is not None:
            show_diagnostics(error.diagnostics, error.name, error.text)
            _print_lines(["a stream cannot take this program, batch reasoning can", *batch_lines(batch)])
            return BAD
        if batch is not None:
            show_diagnostics(error.diagnostics, error.name, error.text)
            say(IN_BATCH)
            return BAD
        raise
    if as_json:
        _print_json(_fields(plan, options))
        return DONE
    show_diagnostics(plan.warnings, plan.name, plan.program.text)
    if options.verbose:
        batch = batch_plan_if_any(options.program)
        sys.stdout.write(format_analysis(analyse(plan), objects=options.objects).rstrip("\n") + "\n")
        _print_lines(_unfolding_lines(_sizes(plan)))
        _print_lines(batch_lines(batch) if batch else ["in batch: not possible"])
        _print_lines([_STATE])
    return DONE


def _batch_plan_instead(path: str) -> BatchPlan | None:
    """The batch plan of a program that streams cannot take; None where it asks, which is for streams alone."""
    plan = batch_plan_if_any(path)
    asks = plan is not None and any(isinstance(item, Ask) for item in parse(plan.program.text, plan.name).statements)
    return None if asks else plan


def _print_lines(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _sizes(plan: Plan) -> dict[str, dict[str, int]]:
    """What each question unfolds into."""
    pairs = zip(plan.questions, plan.unfoldings, strict=True)
    return {format_formula(question.query): _size(unfolding) for question, unfolding in pairs}


def _unfolding_lines(sizes: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    if sizes:
        yield "unfolding:"
    for query, size in sizes.items():
        beside = f", and {size['auxiliary']} for what is negated" if size["auxiliary"] else ""
        yield f"  {query}: preconditions {size['preconditions']}{beside}; premises {size['premises']} in all"


def _size(unfolding: Unfolding) -> dict[str, int]:
    queries = [unfolding.main, *unfolding.auxiliary.values()]
    every = [precondition for query in queries for precondition in query.preconditions]
    return {
        "preconditions": len(unfolding.main.preconditions),
        "auxiliary": len(every) - len(unfolding.main.preconditions),
        "premises": sum(len(each.premises) + len(each.negated) for each in every),
    }


def _fields(plan: Plan, options: argparse.Namespace) -> dict[str, object]:
    fields: dict[str, object] = {"diagnostics": diagnostics_to_fields(plan.warnings, plan.name, plan.program.text)}
    if options.verbose:
        fields["analysis"] = analysis_fields(analyse(plan), objects=options.objects)
        fields["unfolding"] = _sizes(plan)
        batch = batch_plan_if_any(options.program)
        fields["max_state"] = {"stream": MAX_STATE, "batch": MAX_STATE_IN_BATCH}
        fields["batch"] = batch_fields(batch) if batch else None
    return fields


def _print_json(fields: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(fields, indent=2, ensure_ascii=False) + "\n")

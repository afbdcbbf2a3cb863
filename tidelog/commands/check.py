"""`tidelog check`: the errors and warnings of a program, and with -v its analysis."""

from __future__ import annotations

import argparse
import json
import sys

from tidelog.commands.outcome import BAD, DONE, load_plan, show_diagnostics
from tidelog.plans.analysis.report import analyse, analysis_fields, format_analysis
from tidelog.plans.errors import ProgramError
from tidelog.plans.plan import Plan
from tidelog.plans.source import diagnostics_to_fields, to_fields


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("check", help="show the errors and warnings of a program")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the analysis: delay, window, memory bound …")
    parser.add_argument("--objects", type=_count, metavar="N", help="how many constants the stream has, for the bounds")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check a program: exit code 1 if it has errors."""
    as_json = options.format == "json"
    try:
        plan = load_plan(options.program)
    except ProgramError as error:
        if not as_json:
            raise
        _print_json({"diagnostics": to_fields(error)})
        return BAD
    if as_json:
        _print_json(_fields(plan, options))
        return DONE
    show_diagnostics(plan.warnings, plan.name, plan.program.text)
    if options.verbose:
        sys.stdout.write(format_analysis(analyse(plan), objects=options.objects).rstrip("\n") + "\n")
    return DONE


def _fields(plan: Plan, options: argparse.Namespace) -> dict[str, object]:
    fields: dict[str, object] = {"diagnostics": diagnostics_to_fields(plan.warnings, plan.name, plan.program.text)}
    if options.verbose:
        fields["analysis"] = analysis_fields(analyse(plan), objects=options.objects)
    return fields


def _print_json(fields: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(fields, indent=2, ensure_ascii=False) + "\n")


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) <= 12 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got `{text}`")
    return number

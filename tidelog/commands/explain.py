"""`tidelog explain`: a program as read, in normal form, or as a plan."""

from __future__ import annotations

import argparse
import sys

from tidelog.commands.outcome import DONE, load_plan
from tidelog.plans.errors import SpecError
from tidelog.plans.explain_text import explain


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("explain", help="show how a program is understood and run")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("--stage", choices=("text", "normal", "plan"), default="plan")
    parser.add_argument("--format", choices=("text", "mermaid", "json"), default="text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one stage of a program."""
    plan = load_plan(options.program)
    try:
        shown = explain(plan, options.stage, options.format)
    except ValueError as error:
        raise SpecError(str(error)) from error
    sys.stdout.write(shown.rstrip("\n") + "\n")
    return DONE

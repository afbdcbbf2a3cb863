"""`tidelog types`: a Python module with a dataclass for each output, its fields typed as the program says."""

from __future__ import annotations

import argparse
from pathlib import Path

from tidelog.commands.outcome import DONE, load_plan, write_out
from tidelog.commands.rules.typed_module import typed_module


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the module."""
    plan = load_plan(options.program)
    write_out(typed_module(plan.schema, sorted(plan.outputs), Path(options.program).name))
    return DONE

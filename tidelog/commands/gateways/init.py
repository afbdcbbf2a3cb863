"""`tidelog init`: write a small gateway that runs at once."""

from __future__ import annotations

import argparse
from pathlib import Path

from tidelog.commands.outcome import DONE, write_out
from tidelog.gateway.starting import start


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("folder", metavar="DIR", help="where the files go; it is made if it is not there")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, and say how to go on. SpecError where one of them is there already."""
    folder = Path(options.folder)
    names = start(folder)
    run_it = f"tidelog gateway {folder / 'plant.toml'}"
    write_out(f"wrote {', '.join(names)} to {folder}\n\nRun it:     {run_it}\nTest it:    tidelog test {folder}\n")
    write_out(f"See a map:  {run_it} --try {folder / 'messages.jsonl'}\n")
    return DONE

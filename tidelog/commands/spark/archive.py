"""`tidelog spark archive`: a zip of tidelog for `--py-files`, where a cluster's Python has none."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from tidelog.commands.help_pages import page
from tidelog.commands.outcome import DONE, say
from tidelog.connectors.spark.cluster.archive import needed, pack
from tidelog.plans.diagnostics.errors import SpecError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of `tidelog spark`."""
    help = "write a zip of tidelog for `spark-submit --py-files`"
    parser = commands.add_parser("archive", help=help, **page("spark archive", help))
    parser.add_argument("path", metavar="FILE", help="the zip to write, such as tidelog.zip; one that is there is replaced")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the zip as a whole or not at all, and say what is not in it; returns the exit code."""
    path: str = options.path
    if not path.endswith(".zip"):
        raise SpecError(f"`{path}`: Python imports from what is called a zip, such as `tidelog.zip`")
    brought, wanted = needed()
    unfinished = f"{path}.part"
    try:
        pack(brought, unfinished)
        os.replace(unfinished, path)
    except OSError as error:
        with suppress(OSError):
            os.remove(unfinished)
        raise SpecError(f"cannot write `{path}`: {error.strerror}") from error
    version = ".".join(map(str, sys.version_info[:2]))
    say(f"`{path}` holds {', '.join(brought)}")
    say(f"the cluster's Python has to be {version}, and to have {', '.join(wanted)}")
    return DONE

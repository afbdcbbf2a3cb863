"""`tidelog lsp`: a language server for editors, on standard input and output."""

from __future__ import annotations

import argparse
import signal
from importlib.util import find_spec

from tidelog.commands.outcome import DONE
from tidelog.plans.diagnostics.errors import SpecError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("--stdio", action="store_true", help="speak on standard input and output, as it does anyway")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until the client ends it; SpecError where pygls is not installed."""
    if find_spec("pygls") is None:
        raise SpecError("`tidelog lsp` needs pygls: install `tidelog[lsp]`")
    from tidelog.editing.server import serve  # noqa: PLC0415 - its packages are an extra's

    for number in (signal.SIGINT, signal.SIGTERM):  # nothing has to be brought to an end
        signal.signal(number, signal.SIG_DFL)
    serve()
    return DONE

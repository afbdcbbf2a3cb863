"""The command line: which commands there are, and how one is run.

`help_pages.EXIT_CODES` says what its exit code means. Only answers go to standard output; everything else goes to standard
error.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn

from tidelog.commands.arguments import Parser
from tidelog.commands.help_pages import codes, page
from tidelog.commands.outcome import BAD, USAGE, say, show_diagnostics
from tidelog.commands.signals import stopped_by_signals
from tidelog.native import is_compiled
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import ConnectorError, ProgramError, SpecError, StateError, TidelogError
from tidelog.plans.diagnostics.stopping import Stopped
from tidelog.version import VERSION

UNREAD = 141
"""The exit code where the reader of the answers has gone, as SIGPIPE would give."""
FAULT = 70
"""The exit code of a fault of tidelog itself (`EX_SOFTWARE`). It is no answer: 1 would say that something is false."""
_interrupted: list[Stopped] = []
"""Keeps what an interrupted command held, of which there may be gigabytes: the process ends sooner than it could let go."""

COMMANDS = {
    "check": "show the errors and warnings of a program",
    "explain": "show how a program is understood and run",
    "peek": "show what a file of others holds, and the SPEC that reads it",
    "run": "stream facts through a program",
    "ask": "print hypothetical answers: what may still follow, and what it needs",
    "materialise": "print everything that follows from a program and facts",
    "backtest": "compare what two programs tell of the same history",
    "plot": "draw what follows from a program and facts as a timeline (SVG)",
    "entails": "decide whether a fact follows",
    "consistent": "decide whether a program and facts have a model",
    "replay": "run again what an earlier run has read",
    "state": "show what a run has stored",
    "why": "show why a fact holds, or why it does not",
    "verify": "check the certificate of an explanation",
    "fmt": "write programs in the one way to write them",
    "test": "run tests of rules: facts, and what has to be told of them",
    "types": "print a Python module with a dataclass for each output",
    "init": "write a small gateway that runs at once, with a simulated plant",
    "gateway": "listen to devices, know the rules, tell alarms: what one file says",
    "lsp": "serve editors: diagnostics, definitions, completion, formatting",
    "completion": "print the script with which a shell completes commands",
    "ingest": "write the facts of outboxes to tables of Delta Lake, each exactly once",
    "tables": "keep tables of Delta Lake up, take over those of an older version",
    "spark": "run a program on Spark",
}
"""Each command, and what it does."""
_ROOMS = {
    "batch": ("backtest", "consistent", "entails", "materialise"),
    "gateways": ("gateway", "init"),
    "lake": ("ingest", "tables"),
    "reasons": ("verify", "why"),
    "rules": ("check", "completion", "explain", "fmt", "lsp", "plot", "test", "types"),
    "spark": ("spark",),
    "stored": ("replay", "state"),
    "streams": ("ask", "peek", "run"),
}
_HOMES = {name: f"tidelog.commands.{room}.{name}" for room, names in _ROOMS.items() for name in names}
"""The module of each command, which is loaded once the command is chosen."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    hold_standard_descriptors()
    try:
        return _run(arguments)
    except Exception:  # whatever it is, nothing was decided by it
        traceback.print_exc()
        say("error: this is a fault of tidelog, and no answer; please report it with the lines above")
        return FAULT


def _run(arguments: Sequence[str] | None) -> int:
    """Run one command, and say what is wrong with what it was given."""
    try:
        with stopped_by_signals():
            options = command_line().parse_args(arguments)
            return int(options.run(options))
    except SystemExit as exit_:
        return int(exit_.code or 0)
    except ProgramError as error:
        show_diagnostics(error.diagnostics, error.name, error.text)
        return BAD
    except SpecError as error:
        say(f"error: {error}")
        return USAGE
    except ConnectorError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # the reader of the answers has seen enough
            return UNREAD
        say(f"error: {error}")
        return BAD
    except OSError as error:
        say(f"error: cannot read `{error.filename}`: {error.strerror}" if error.filename else f"error: {error}")
        return BAD
    except TidelogError as error:
        say(f"error: {error}; `{error.limit}` sets the bound" if isinstance(error, StateError) else f"error: {error}")
        return BAD
    except Stopped as stopped:
        _interrupted.append(stopped)
        say(f"stopped by {signal.Signals(stopped.number).name} before all answers were given")
        return 128 + stopped.number


def hold_standard_descriptors() -> None:
    """Open those of the descriptors 0, 1 and 2 that are closed, before something else gets their numbers.

    They are opened the wrong way round, so that reading standard input, or writing standard output, is an error that is
    told; what is said on standard error is lost.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, flags)  # the least number that is free: this one
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - as above
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - as above


def program() -> NoReturn:
    """Run one command, and end the process."""
    code = main()
    if _interrupted:
        os._exit(code)  # without what waits to be printed: perhaps nobody reads it
    sys.exit(code)


def command_line() -> Parser:
    """The parser of the command line. A command's module is loaded, and its options are added, once it is chosen."""
    parser = Parser(prog="tidelog", description="A stream reasoner for the edge.", epilog=codes())
    version = f"tidelog {VERSION} (compiled)" if is_compiled() else f"tidelog {VERSION}"
    parser.add_argument("--version", action="version", version=version, help="show the version, and exit")
    parser.set_defaults(command_line=parser)  # for what tells of all commands
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, help in COMMANDS.items():
        commands.add_parser(name, help=help, **page(name, help)).fill_with(partial(_add_options, name))
    return parser


def _add_options(name: str, parser: Parser) -> None:
    with uncollected():  # modules and classes stay, and there are many of them
        command = import_module(_HOMES[name])
    command.add_options(parser)

"""`tidelog gateway`: listen to devices, know the rules, tell alarms, as one file says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tidelog.commands.outcome import BAD, DONE, say, show_diagnostics, unreadable, write_out
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.plans.diagnostics.systems import need_posix

if TYPE_CHECKING:
    from tidelog.gateway.file.settings import GatewaySettings

_EXTRA = ("paho", "jmespath", "hypercorn", "starlette", "httpx", "prometheus_client")
_NEEDED = "the gateway needs more than tidelog itself: install `tidelog[gateway]`"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("file", metavar="FILE", help="what is listened to, which rules there are, who is told (TOML)")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--check", action="store_true", help="say what is wrong with the file, and run nothing")
    parser.add_argument("--connect", action="store_true", help="with --check: also see whether the ends can be reached")
    other.add_argument("--try", dest="messages", metavar="MESSAGES", help="show what recorded messages become; run nothing")
    other.add_argument("--tap", metavar="NAME", help="show what passes a source, a step or a sink of the gateway that runs")
    other.add_argument("--healthy", action="store_true", help="see whether the gateway that runs with this file answers")
    other.add_argument(
        "--take-over", action="store_true", help="of two gateways, tell the one that runs with this file to lead"
    )
    parser.add_argument(
        "--behind", action="store_true", help="with --take-over: also where it lacks what the other one told"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the gateway until a signal asks to stop it, or do what the options ask instead."""
    try:
        from tidelog.commands.gateways import running  # noqa: F401, PLC0415 - few need what the extra brings
        from tidelog.gateway.file.reading import read_settings  # noqa: PLC0415 - likewise
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _EXTRA:
            raise SpecError(_NEEDED) from None
        raise
    if options.connect and not options.check:
        raise SpecError("`--connect` belongs to `--check`")
    if options.behind and not options.take_over:
        raise SpecError("`--behind` belongs to `--take-over`")
    file = Path(options.file)
    try:
        settings = read_settings(file)
    except OSError as error:
        raise unreadable(options.file, error, ".toml") from None
    try:
        return _run(options, settings, file)
    except ProgramError as error:
        show_diagnostics(error.diagnostics, error.name, error.text)
        return BAD
    except SpecError as error:
        say(f"error: {error}")
        return BAD
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise SpecError(f"cannot read `{error.filename}`: {error.strerror}") from None


def _run(options: argparse.Namespace, settings: GatewaySettings, file: Path) -> int:
    from tidelog.commands.gateways import checks, running  # noqa: PLC0415 - few need what the extra brings
    from tidelog.gateway.health import health, take_over  # noqa: PLC0415 - likewise
    from tidelog.gateway.listening.taps import listen_in, tap_path  # noqa: PLC0415 - likewise

    if options.messages is not None:
        return checks.try_messages(settings, file, Path(options.messages))
    if options.check:
        return checks.check(settings, file, with_ends=options.connect)
    if options.tap is not None:
        anyio.run(listen_in, tap_path(settings, file), options.tap, write_out, backend="trio")
        return DONE
    need_posix("cannot run a gateway (`--check` and `--try` can be had)")
    if options.healthy:
        is_healthy, told = health(settings, file)
        write_out(f"{told}\n")
        return DONE if is_healthy else BAD
    if options.take_over:
        write_out(f"{take_over(settings, file.parent, behind=options.behind)}\n")
        return DONE
    return running.run(settings, file)

"""What a gateway needs of the machine: where it writes beside its sinks, and its secrets. Nothing is written to find out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.kinds.kind import Place
from tidelog.gateway.kinds.table import kind_of
from tidelog.plans.diagnostics.errors import SpecError


def check_surroundings(settings: GatewaySettings, folder: Path) -> None:
    """SpecError, with all that is wrong, where something cannot be written, or a secret is not where it is said to be.

    `folder` is that of the file.
    """
    wrong = [*_of_state(settings, folder), *_of_letters(settings, folder), *_of_tap(settings, folder)]
    wrong += [*_of_ends(settings, folder), *_of_telemetry(settings, folder)]
    if wrong:
        raise SpecError("; ".join(wrong))


def _of_ends(settings: GatewaySettings, folder: Path) -> Iterator[str]:
    """What each end needs to connect, such as a password; other secrets are read when the ends are made."""
    place = Place(settings.name, folder)
    for end in (*settings.source, *settings.sink):
        check = kind_of(end).check
        try:
            if check is not None:
                check(end, place)
        except SpecError as error:
            yield f"`{end.name}`: {error}"


def _of_telemetry(settings: GatewaySettings, folder: Path) -> Iterator[str]:
    told = settings.telemetry
    if told is None:
        return
    if not told.endpoint.startswith(("http://", "https://")):
        yield f"`telemetry`: `endpoint` is of the form `http://HOST:PORT` or `https://HOST:PORT`, got `{told.endpoint}`"
    if told.ca and not (folder / told.ca).is_file():
        yield f"`telemetry`: `ca`: there is no file `{folder / told.ca}`"
    for name, secret in told.headers.items():
        try:
            secret.reveal(folder)
        except SpecError as error:
            yield f"`telemetry`: `headers.{name}`: {error}"
    if any(not _is_there(name) for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")):
        yield "`telemetry` needs the libraries of OpenTelemetry: install `tidelog[otel]`"


def _is_there(module: str) -> bool:
    """Whether a module is installed; it is not loaded."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _of_state(settings: GatewaySettings, folder: Path) -> Iterator[str]:
    if not settings.state:
        return
    for program in settings.programs:
        path = folder / settings.state / program.name
        there = next(one for one in (path, *path.absolute().parents) if os.path.lexists(one))
        reason = _of_folder(there)
        if reason:
            yield f"`state`: cannot keep the state in `{path}`: {reason}"
            return


def _of_letters(settings: GatewaySettings, folder: Path) -> Iterator[str]:
    if not settings.dead_letters:
        return
    path = folder / settings.dead_letters
    reason = f"`{path}` is a folder" if path.is_dir() else ""
    if not reason and path.exists():
        reason = "" if os.access(path, os.W_OK) else f"`{path}` may not be written"
    elif not reason:
        reason = _of_folder(path.absolute().parent)
    if reason:
        yield f"`dead_letters`: cannot write to `{path}`: {reason}"


def _of_tap(settings: GatewaySettings, folder: Path) -> Iterator[str]:
    if settings.tap and (reason := _of_folder((folder / settings.tap).absolute().parent)):
        yield f"`tap`: cannot listen at `{folder / settings.tap}`: {reason}"


def _of_folder(path: Path) -> str:
    """Why nothing new can be put into a folder; no text where it can."""
    if not path.exists():
        return f"there is no folder `{path}`"
    if not path.is_dir():
        return f"`{path}` is no folder"
    return "" if os.access(path, os.W_OK | os.X_OK) else f"`{path}` may not be written"

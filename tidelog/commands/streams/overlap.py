"""Refuses a run that would overwrite what it reads: the same file as an input and an output, or written twice."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

from tidelog.connectors.spec import parse_spec
from tidelog.plans.diagnostics.errors import SpecError


def check_overlap(inputs: Iterable[str], sinks: Sequence[str], dead_letter: str | None) -> None:
    """SpecError where a file that is written (a sink of `sinks`, the dead letters) is one of `inputs`, or written twice.

    `inputs` are paths. Pipes and devices may stand on both sides: writing to them loses nothing.
    """
    written = [path for spec in sinks for path in file_of(spec)] + [path for path in (dead_letter,) if path is not None]
    read = list(inputs)
    for i, path in enumerate(written):
        if any(_is_same_file(path, other) for other in read):
            raise SpecError(f"`{path}` is read and written in one run, which would empty it before it is read")
        if any(_is_same_file(path, other) for other in written[:i]):
            raise SpecError(f"`{path}` is written twice in one run: one would overwrite the other")


def file_of(spec: str) -> list[str]:
    """The path that a SPEC names, or nothing."""
    parsed = parse_spec(spec, allow_remote=True)
    return [parsed.path] if parsed.scheme in ("file", "parquet") else []


def _is_same_file(path: str, other: str) -> bool:
    try:
        mode = os.stat(path).st_mode
        return os.path.samefile(path, other) and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    except OSError:  # one of them is not there yet
        return os.path.realpath(path) == os.path.realpath(other)

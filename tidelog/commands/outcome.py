"""What commands share: exit codes, and how to speak to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tidelog.plans.errors import Diagnostic
from tidelog.plans.source import render_diagnostics

DONE, BAD, USAGE = 0, 1, 2


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"tidelog: {text}\n")
    sys.stderr.flush()


def show_diagnostics(diagnostics: Iterable[Diagnostic], name: str, text: str) -> None:
    """Warnings and errors on standard error, each with its line."""
    shown = render_diagnostics(diagnostics, name, text, colour=sys.stderr.isatty())
    if shown:
        sys.stderr.write(shown + "\n")

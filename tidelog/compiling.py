"""From a program's text, or its file, to a plan."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tidelog.plans.compile import compile_program
from tidelog.plans.errors import DataError
from tidelog.plans.parser import parse
from tidelog.plans.plan import Plan


def compile(text: str, *, name: str = "<program>") -> Plan:
    """The plan of a program; ProgramError with every independent reason if the text is wrong.

    >>> import tidelog
    >>> plan = tidelog.compile("alarm(X) :- boxminus[0,4] hot(X), not ok(X).")
    >>> list(plan.outputs)
    ['alarm']
    """
    return compile_program(parse(text, name))


def compile_path(path: str | PathLike[str]) -> Plan:
    """The plan of a program in a file, its background files read from beside it.

    Raises ProgramError for a wrong program, DataError for text that is not UTF-8, OSError where it cannot be read.
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the program is not UTF-8: {error.reason} at byte {error.start}", str(path)) from error
    return compile(text, name=str(path))

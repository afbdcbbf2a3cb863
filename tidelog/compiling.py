"""From a program's text, or its file, to a plan."""

from __future__ import annotations

import os
from dataclasses import replace
from os import PathLike
from pathlib import Path

from tidelog.connectors.background import load_facts
from tidelog.plans.checks.check import check_beside
from tidelog.plans.compile import compile_program
from tidelog.plans.errors import DataError, Diagnostic, ProgramError
from tidelog.plans.facts import Record
from tidelog.plans.parser import MAX_PROGRAM, parse_what_reads
from tidelog.plans.plan import Plan


def compile(text: str, *, name: str = "<program>", folder: str | PathLike[str] = ".") -> Plan:
    """The plan of a program; ProgramError with every independent reason if the text is wrong.

    Background files are read from `folder`; one that cannot be opened is an error of the program (`background-file`), and a
    record of it that cannot be read a DataError with its place.

    >>> import tidelog
    >>> plan = tidelog.compile("alarm(X) :- boxminus[0,4] hot(X), not ok(X).")
    >>> list(plan.outputs)
    ['alarm']
    """
    program, unread = parse_what_reads(text, name)
    if unread:
        raise ProgramError(check_beside(program, unread), name, program.text)
    plan = compile_program(program)
    return replace(plan, facts=(*plan.facts, *_load_background(plan, Path(folder))))


def _load_background(plan: Plan, folder: Path) -> list[Record]:
    loaded: list[Record] = []
    missing: list[Diagnostic] = []
    for background in plan.backgrounds:
        try:
            loaded += load_facts(str(folder / background.path), plan.schema, background.predicate)
        except DataError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            message = f"background file `{background.path}` cannot be read: {os.strerror(error.__cause__.errno or 0)}"
            help = "a relative path starts at the program's folder" if folder != Path() else ""
            missing.append(Diagnostic("background-file", message, background.span, help=help))
    if missing:
        raise ProgramError(missing, plan.name, plan.program.text)
    return loaded


def compile_path(path: str | PathLike[str]) -> Plan:
    """The plan of a program in a file, its background files read from beside it.

    Raises ProgramError for a wrong program, DataError for text that is not UTF-8, OSError where it cannot be read.
    """
    file = Path(path)
    with file.open("rb") as stream:
        data = stream.read(MAX_PROGRAM + 1)  # the parser refuses what is longer
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the program is not UTF-8: {error.reason} at byte {error.start}", str(path)) from error
    return compile(text, name=str(path), folder=file.parent)

"""From a program's text, or its file, to a plan."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog import connectors
from tidelog.plans.calendars.declared import with_events
from tidelog.plans.calendars.zones import UnknownZoneError
from tidelog.plans.checks.check import check_beside
from tidelog.plans.compiling.compile import DEFAULT_RESOLUTION, compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import DataError, Diagnostic, ProgramError, Span
from tidelog.plans.language.parser import MAX_PROGRAM, NONE, parse, parse_what_reads
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.tree.declared.alarms import with_states
from tidelog.plans.tree.declared.causes import with_desk
from tidelog.plans.tree.declared.storms import Storm, with_storms
from tidelog.plans.tree.gates import Gate, with_gates
from tidelog.plans.tree.syntax import Ask, CalendarDeclaration, Output, Program, Statement, Value
from tidelog.plans.tree.walk import statements_of

if TYPE_CHECKING:
    from tidelog.plans.compiling.batch import BatchPlan

QUERY = "<query>"
"""What a query's own text is called in errors."""


_FIXED_TIME = re.compile(r"@\s*-?[0-9][0-9./]*(?=\s*\.\Z)")


@uncollected()
def compile(  # noqa: PLR0913 - every option has a default, and names what it is
    text: str,
    *,
    name: str = "<program>",
    folder: str | PathLike[str] = ".",
    queries: Iterable[str] | None = None,
    outputs: bool = True,
    depth: int | None = None,
    parameters: Mapping[str, Value] = NONE,
    desk: bool = False,
    storms: Sequence[Storm | Gate] = (),
) -> Plan:
    """The plan of a program; ProgramError with every independent reason if the text is wrong.

    `queries`, such as `malf(X)@T`, are asked in place of what the program itself asks. Without `outputs`, nothing is derived
    forward but what constraints need. With `depth`, each predicate that recurs is unfolded so often for a question, and no
    further. `parameters` have other values than the program gives them (`parameter LIMIT = 80.`). ValueError for a depth
    below 1, and for a parameter that the program does not declare. For a `desk`, it is derived what becomes of alarms, which
    nobody else needs: `Session.open_alarms` asks for it. With `storms`, it is derived what sinks are
    told where many begin, or while something holds; SpecError where that cannot be, as on a timeline that counts no minutes.

    Background files are read from `folder`; one that cannot be opened is an error of the program (`background-file`), and a
    record of it that cannot be read a DataError with its place.

    >>> import tidelog
    >>> plan = tidelog.compile("alarm(X) :- hot(X) for 4, not ok(X).")
    >>> list(plan.outputs)
    ['alarm']
    """
    if depth is not None and depth < 1:
        raise ValueError(f"the depth of a question is at least 1, got {depth}")
    program = _parse(text, name, parameters)
    spoken: list[Storm | Gate] = [item for item in storms if isinstance(item, Storm)]
    if desk:
        program = with_storms(with_desk(program), [item for item in storms if isinstance(item, Storm)])
        program, gates = with_gates(program, [item for item in storms if isinstance(item, Gate)])
        spoken += gates
    if queries is None:
        return replace(_compile(program, Path(folder), outputs, depth), storms=tuple(spoken))
    asking = _ask_instead(program, queries)
    try:
        plan = _compile(asking, Path(folder), outputs, depth)
    except ProgramError as error:
        raise _of_queries(error, program) from None
    # other rules than those of its own questions are no mistake of the program's
    return replace(plan, warnings=tuple(item for item in plan.warnings if item.code != "unused-rule"))


def _compile(program: Program, folder: Path, outputs: bool, depth: int | None) -> Plan:
    plan = compile_program(_with_calendars(program, folder), outputs=outputs, depth=depth)
    plan = replace(plan, facts=(*plan.facts, *_load_background(plan, folder)))
    return replace(plan, unfoldings=_unfold_all(plan))


@uncollected()
def compile_batch(
    text: str,
    *,
    name: str = "<program>",
    folder: str | PathLike[str] = ".",
    keep: Iterable[str] | None = None,
    undeclared: Fraction = DEFAULT_RESOLUTION,
) -> BatchPlan:
    """The plan of a program for `Materialisation`: over the whole timeline, with every derived predicate.

    With `keep`, nothing is derived but what these predicates and the constraints need. What a stream could never decide,
    such as an operator that looks ahead without end, is no error here; tuple windows, and times that are used as values,
    are. `undeclared` is the resolution where the program declares none; with 0 it is no finer than its numbers need, as for
    the commands, which take what the data need (`BatchLoader`). Raises what `compile` raises.

    >>> import tidelog
    >>> plan = tidelog.compile_batch("safe(X) :- boxplus[0,inf) ok(X).")
    >>> [step.id for step in plan.steps]
    ['ok', 'safe/1', 'safe']
    """
    from tidelog.plans.compiling import batch  # noqa: PLC0415 - a stream, which has to start at once, has no use for it

    plan = batch.compile_batch(_with_calendars(_parse(text, name), Path(folder)), keep, undeclared)
    return replace(plan, facts=(*plan.facts, *_load_background(plan, Path(folder))))


def _parse(text: str, name: str, parameters: Mapping[str, Value] = NONE) -> Program:
    """The program of a text; ProgramError with every independent reason if it cannot be read."""
    program, unread = parse_what_reads(text, name, parameters)
    if unread:
        raise ProgramError(check_beside(program, unread), name, program.text)
    return program


def _ask_instead(program: Program, queries: Iterable[str]) -> Program:
    """The program with these queries in place of its own, as statements at its text's end, so that errors show them."""
    statements: list[Statement] = [statement for statement in program.statements if not isinstance(statement, Ask)]
    text = program.text
    if isinstance(queries, str):
        raise TypeError(f'`queries` is a collection, such as ["{queries}"], got str')
    for query in queries:
        ask = f"ask {query.strip().removesuffix('.')}."
        _read_query(ask)
        text += "" if text.endswith("\n") or not text else "\n"
        statements += parse(" " * len(text) + ask).statements  # where it will stand
        text += f"{ask}\n"
    return Program(tuple(statements), program.name, text)


def _of_queries(error: ProgramError, program: Program) -> ProgramError:
    """The error as one of the program, if it is wrong by itself, and otherwise as one of the queries' own text."""
    length = len(program.text)
    own = [
        replace(item, notes=tuple(note for note in item.notes if note.span.start < length))  # the query is in no file
        for item in error.diagnostics
        if item.span.start < length
    ]
    if own or not error.diagnostics:
        return ProgramError(own, error.name, program.text)
    text = error.text[length:].lstrip("\n")
    before = len(error.text) - len(text)
    moved = [_of_query(item, before, program) for item in error.diagnostics]
    return ProgramError(moved, QUERY, text)


def _of_query(item: Diagnostic, before: int, program: Program) -> Diagnostic:
    """A diagnostic about the text that begins at `before`; what it says of the program stands in its help."""
    notes = tuple(replace(note, span=_moved(note.span, before)) for note in item.notes if note.span.start >= before)
    beside = [
        f"{note.label}: {program.name}:{program.text.count(chr(10), 0, note.span.start) + 1}"
        for note in item.notes
        if note.span.start < before
    ]
    help = "; ".join(part for part in (item.help, *beside) if part)
    return replace(item, span=_moved(item.span, before), notes=notes, help=help)


def _moved(span: Span, by: int) -> Span:
    return Span(span.start - by, span.end - by)


def _read_query(ask: str) -> None:
    """Raise a ProgramError that shows the query alone, if it cannot be read as one."""
    fixed = _FIXED_TIME.search(ask)
    if fixed is not None:
        help = "write `@T`, and look for that T among the answers"
        message = "a query asks at all times, not at one"
        raise ProgramError([Diagnostic("bad-query", message, Span(fixed.start(), fixed.end()), help=help)], QUERY, ask)
    statements = parse(ask, QUERY).statements
    if len(statements) != 1 or not isinstance(statements[0], Ask):
        message = "a query is one atom with its time, such as `malf(X)@T`"
        raise ProgramError([Diagnostic("bad-query", message, Span(4, len(ask) - 1))], QUERY, ask)


def _unfold_all(plan: Plan) -> tuple[Unfolding, ...]:
    """What each question needs, now that all facts are there; ProgramError for all that cannot be unfolded."""
    if not plan.questions:
        return ()
    from tidelog.operators.sld.unfold import unfold  # noqa: PLC0415 - few programs ask, and all have to start at once

    unfoldings: list[Unfolding] = []
    problems: dict[tuple[str, Span], Diagnostic] = {}
    for question in plan.questions:
        try:
            unfoldings.append(unfold(question, plan.facts))
        except ProgramError as error:
            for problem in error.diagnostics:
                problems.setdefault((problem.code, problem.span), problem)  # the same recursion is told once
    if problems:
        raise ProgramError([*problems.values()], plan.name, plan.program.text)
    return tuple(unfoldings)


def _with_calendars(program: Program, folder: Path) -> Program:
    """The program with the events of its calendars' files; ProgramError for a file that cannot be opened."""
    read: list[CalendarDeclaration] = []
    missing: list[Diagnostic] = []
    for item in statements_of(program, CalendarDeclaration):
        if not item.path or item.events is not None:
            continue
        try:
            events = connectors.load_events(str(folder / item.path), item.zone)
        except UnknownZoneError:
            events = []  # the checks say so
        except DataError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            message = f"calendar file `{item.path}` cannot be read: {os.strerror(error.__cause__.errno or 0)}"
            help = "a relative path starts at the program's folder" if folder != Path() else ""
            missing.append(Diagnostic("calendar-file", message, item.span, help=help))
            continue
        read.append(replace(item, events=tuple(events)))
    if missing:
        raise ProgramError(missing, program.name, program.text)
    return with_events(program, read)


def _load_background(plan: Plan | BatchPlan, folder: Path) -> list[Record]:
    loaded: list[Record] = []
    missing: list[Diagnostic] = []
    for background in plan.backgrounds:
        try:
            loaded += connectors.load_facts(str(folder / background.path), plan.schema, background.predicate)
        except DataError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            message = f"background file `{background.path}` cannot be read: {os.strerror(error.__cause__.errno or 0)}"
            help = "a relative path starts at the program's folder" if folder != Path() else ""
            missing.append(Diagnostic("background-file", message, background.span, help=help))
    if missing:
        raise ProgramError(missing, plan.name, plan.program.text)
    return loaded


def compile_path(
    path: str | PathLike[str],
    *,
    queries: Iterable[str] | None = None,
    outputs: bool = True,
    depth: int | None = None,
    parameters: Mapping[str, Value] = NONE,
    desk: bool = False,
    storms: Sequence[Storm | Gate] = (),
) -> Plan:
    """The plan of a program in a file, its background files read from beside it; the options are those of `compile`.

    Raises ProgramError for a wrong program, DataError for text that is not UTF-8, OSError where it cannot be read.
    """
    file = Path(path)
    return compile(
        read_program(file),
        name=str(path),
        folder=file.parent,
        queries=queries,
        outputs=outputs,
        depth=depth,
        parameters=parameters,
        desk=desk,
        storms=storms,
    )


def compile_states_path(path: str | PathLike[str]) -> Plan:
    """The plan of a program in a file that tells the states of its alarms, whether it says so or not; raises what
    `compile_path` raises."""
    file = Path(path)
    return _compile(with_states(_parse(read_program(file), str(path))), file.parent, True, None)


def compile_whole_path(path: str | PathLike[str]) -> Plan:
    """The plan of a program in a file with all that it derives as outputs, and without its questions; raises what
    `compile_path` raises."""
    file = Path(path)
    program = _parse(read_program(file), str(path))
    kept = tuple(statement for statement in program.statements if not isinstance(statement, Ask | Output))
    return _compile(replace(program, statements=kept), file.parent, True, None)


def compile_batch_path(
    path: str | PathLike[str], *, keep: Iterable[str] | None = None, undeclared: Fraction = DEFAULT_RESOLUTION
) -> BatchPlan:
    """The batch plan of a program in a file, its background files read from beside it; raises what `compile_path` raises."""
    file = Path(path)
    return compile_batch(read_program(file), name=str(path), folder=file.parent, keep=keep, undeclared=undeclared)


def read_program(file: Path) -> str:
    """The text of a program's file; DataError for text that is not UTF-8, OSError where it cannot be read."""
    with file.open("rb") as stream:
        data = stream.read(MAX_PROGRAM + 1)  # the parser refuses what is longer
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the program is not UTF-8: {error.reason} at byte {error.start}", str(file)) from error

"""From a program's text to its syntax tree: split it, parse each statement alone, report every independent mistake."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from itertools import islice
from types import MappingProxyType
from typing import Any, cast

from lark import Lark, TextSlice
from lark.exceptions import UnexpectedInput

from tidelog.plans.diagnostics.errors import Diagnostic, Note, ProgramError, Span
from tidelog.plans.language.drafts import too_deep
from tidelog.plans.language.grammar_table import load_grammar
from tidelog.plans.language.measures import lift
from tidelog.plans.language.rereading import Parsed, Rereader
from tidelog.plans.language.statements import MAX_DEPTH, RawStatement, split_statements
from tidelog.plans.language.syntax_errors import explain
from tidelog.plans.language.templates import Templates
from tidelog.plans.language.tree_builder import TreeBuilder
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.alarms import with_alarms
from tidelog.plans.tree.declared.machines import with_machines
from tidelog.plans.tree.literals import Refusal
from tidelog.plans.tree.parameters import with_parameters

NONE: Mapping[str, syntax.Value] = MappingProxyType({})
"""No parameter has another value than the program gives it."""
MAX_PROGRAM = 4 * 1024 * 1024
"""The most bytes, as UTF-8, that a program may have."""
MAX_STATEMENTS = 20_000
"""The most statements that a program may have: reading, checking and compiling one takes up to a millisecond."""
MAX_DIAGNOSTICS = 100
"""After so many syntax errors the rest of the text is not read."""


@cache
def grammar() -> Lark:
    """The parser's tables, made once in a process."""
    return load_grammar(TreeBuilder())


def parse(text: str, name: str = "<program>", parameters: Mapping[str, syntax.Value] = NONE) -> syntax.Program:
    """The syntax tree of a program; `name` is its file's, for messages. `parameters` have other values than it gives them.

    Raises ProgramError with a diagnostic for each statement that cannot be read; spans are offsets in `text`.
    """
    program, problems = parse_what_reads(text, name, parameters)
    if problems:
        raise ProgramError(problems, name, program.text)
    return program


def parse_what_reads(
    text: str,
    name: str = "<program>",
    parameters: Mapping[str, syntax.Value] = NONE,
    reader: Rereader | None = None,
) -> tuple[syntax.Program, list[Diagnostic]]:
    """The statements of a program that can be read, and a diagnostic for each of the others.

    In rules, constants stand in place of parameters. ValueError for a parameter that the program does not declare. What a
    `reader` has seen in the text before this one is not parsed again.
    """
    if reader is not None:
        reader.begin()
    if len(text) > MAX_PROGRAM or len(text.encode("utf-8", "surrogatepass")) > MAX_PROGRAM:
        problem = Diagnostic("program-too-long", f"a program has more than {MAX_PROGRAM} bytes", Span(0, 0))
        return syntax.Program((), name), [problem]
    pieces = list(islice(split_statements(text), MAX_STATEMENTS + 1))
    if len(pieces) > MAX_STATEMENTS:
        where = Span(pieces[MAX_STATEMENTS].start, pieces[MAX_STATEMENTS].start)
        message = f"a program has more than {MAX_STATEMENTS} statements"
        problem = Diagnostic("program-too-long", message, where, help="load facts with `background`")
        return syntax.Program((), name, text), [problem]
    statements: list[syntax.Statement] = []
    problems: list[Diagnostic] = []
    templates = Templates(_read)
    for raw in pieces:
        parse = partial(_parse_statement, text, raw, templates)
        parsed = parse() if reader is None else reader.statement(text, raw, parse)
        if not isinstance(parsed, tuple):
            statements.append(parsed)
            continue
        problems += parsed
        if len(problems) >= MAX_DIAGNOSTICS:
            break
    problems += _declared_twice(statements)
    every, wrong = with_machines(with_alarms(with_parameters(statements, parameters, text)))
    return syntax.Program(every, name, text), [*problems, *wrong][:MAX_DIAGNOSTICS]


def _declared_twice(statements: Sequence[syntax.Statement]) -> Iterator[Diagnostic]:
    first: dict[str, syntax.Parameter] = {}
    for item in statements:
        if isinstance(item, syntax.Parameter) and first.setdefault(item.name, item) is not item:
            notes = (Note(first[item.name].span, "declared first here"),)
            yield Diagnostic("parameter-twice", f"parameter `{item.name}` is declared twice", item.span, notes=notes)


def _parse_statement(text: str, raw: RawStatement, templates: Templates) -> Parsed:
    if raw.problem is not None:
        return (raw.problem,)
    made = templates.statement(text, raw)
    if made is not None:
        return made
    try:
        return _read(text, raw)
    except Refusal as refusal:
        return refusal.diagnostics
    except UnexpectedInput as error:
        return (explain(text, raw, error),)


def _read(text: str, raw: RawStatement) -> syntax.Statement:
    """The tree of one statement; raises Refusal or lark's UnexpectedInput for what cannot be read."""
    piece = TextSlice(text, raw.start, raw.end)
    statement = cast(syntax.Statement, grammar().parse(cast(Any, piece), start=raw.kind))
    _check_depth(statement)
    return lift(statement) if isinstance(statement, syntax.Rule) else statement


def _check_depth(statement: syntax.Statement) -> None:
    """Bound the tree's depth, so that every later pass may recurse over it."""
    level: list[Any] = [statement]
    for _ in range(MAX_DEPTH + 1):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise too_deep(level[0].span)


def _children(node: Any) -> Iterator[Any]:
    for name in _child_fields(cast(Hashable, type(node))):
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value


_INNER = frozenset(["head", "body", "operand", "left", "right", "parts", "operands", "arguments", "argument", "atom"])


@cache
def _child_fields(kind: Hashable) -> tuple[str, ...]:
    return tuple(item.name for item in fields(cast(Any, kind)) if item.name in _INNER)

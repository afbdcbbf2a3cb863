"""A program in the one way to write it (`tidelog fmt`): spaces, lines, keywords, full stops; comments and blank lines stay.

A statement stands on one line, or, where it is longer than a line or holds comments, its head on one and each literal of its
body on one more. Nothing is put in other words: numbers, names, quotes and operators are the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import Any, cast

from lark import TextSlice, Token

from tidelog.plans.diagnostics.errors import ProgramError, TidelogError
from tidelog.plans.language.formatting.layout import Comments, Line, lay_out
from tidelog.plans.language.formatting.spacing import written
from tidelog.plans.language.parser import grammar, parse
from tidelog.plans.language.statements import RawStatement, split_statements
from tidelog.plans.tree.syntax import Aggregate, Arithmetic, Comparison, Expression, Formula, Program, Rule, Truth
from tidelog.plans.tree.traverse import children

MAX_BLANK = 2
"""The most blank lines that stay together."""
_TRIVIA = re.compile(r"%[^\n]*|\n")


def format_text(text: str, name: str = "<program>") -> str:
    """The program in the one way to write it; an empty text stays empty.

    ProgramError, with a diagnostic for each statement, where it cannot be read.

    >>> print(format_text("timeline  integer\\nAlarm( X ):-BOXMINUS[0, 2]Hot(X),not ok( X )  % why"), end="")
    timeline integer.
    Alarm(X) :- boxminus[0,2] Hot(X), not ok(X).  % why
    """
    program = parse(text, name)
    shown = "".join(f"{line}\n" for line in _shown(_lines(text, program)))
    _require_same(program, shown, name)
    return shown


def _require_same(program: Program, shown: str, name: str) -> None:
    """TidelogError unless the text shown reads as the same program: what is written back must never mean something else."""
    try:
        same = parse(shown, name) == program
    except ProgramError as error:
        raise TidelogError(f"{name} cannot be formatted: a statement would become too long") from error
    if not same:
        raise TidelogError(f"{name} cannot be formatted without a change of its meaning; please report it")


def _lines(text: str, program: Program) -> list[Line]:
    """The lines of a program, blank ones and those of comments included."""
    spell = frozenset(_words(program))
    lines: list[Line] = []
    begin = 0
    for raw in split_statements(text):
        _add_between(text, begin, raw.start, lines)
        lines += _statement(text, raw, spell)
        begin = raw.end
    _add_between(text, begin, len(text), lines)
    return _without_ends(lines)


def _words(program: Program) -> Iterator[int]:
    """Where words stand that the parser takes for names, and whose case means nothing: `top`, `bottom`, functions."""
    for statement in program.statements:
        if isinstance(statement, Rule):
            for part in (statement.head, *statement.body):
                yield from _words_in(part)


def _words_in(part: Formula) -> Iterator[int]:
    if isinstance(part, Truth):
        yield part.span.start
    elif isinstance(part, Comparison):
        yield from _functions(part.left)
        yield from _functions(part.right)
    elif isinstance(part, Aggregate) and part.argument is not None:
        yield from _functions(part.argument)
    for child in children(part):
        yield from _words_in(child)


def _functions(term: Expression) -> Iterator[int]:
    if isinstance(term, Arithmetic):
        if term.operator in ("min", "max", "abs"):
            yield term.span.start
        for operand in term.operands:
            yield from _functions(operand)


def tokens_of(text: str, raw: RawStatement) -> list[Token]:
    """The tokens of a statement that can be read, with their places in the text."""
    parser = grammar().parse_interactive(cast(Any, TextSlice(text, raw.start, raw.end)), start=raw.kind)
    return list(parser.iter_parse())


def _statement(text: str, raw: RawStatement, spell: frozenset[int]) -> list[Line]:
    tokens = tokens_of(text, raw)
    return lay_out(tokens, written(tokens, spell | {*_aggregates(tokens)}), _comments(text, tokens))


def _aggregates(tokens: list[Token]) -> Iterator[int]:
    """Where the functions of aggregates stand: names before the parentheses that `over` stands behind."""
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.type == "LPAR":
            opened.append(at)
        elif token.type == "RPAR" and opened:
            begin = opened.pop()
            is_over = at + 1 < len(tokens) and tokens[at + 1].type == "OVER"
            if begin and is_over and tokens[begin - 1].type == "NAME":
                yield cast(int, tokens[begin - 1].start_pos)


def _comments(text: str, tokens: list[Token]) -> Comments:
    """The comments of a statement; what stands before a `,` or a `:-` stands behind it."""
    comments = Comments()
    for at, (before, after) in enumerate(pairwise(tokens)):
        holder = at + 1 if after.type in ("COMMA", "IMPLIES") else at
        on_line = True
        for found in _TRIVIA.findall(text, cast(int, before.end_pos), cast(int, after.start_pos)):
            if found == "\n":
                on_line = False
            elif on_line and holder not in comments.behind:
                comments.behind[holder] = found.rstrip()
            else:
                comments.below.setdefault(holder, []).append(found.rstrip())
    return comments


def _add_between(text: str, begin: int, end: int, lines: list[Line]) -> None:
    """Add what stands between two statements: the comment behind the first, comments on lines of their own, blank lines."""
    ends = 1 if not lines else 0  # the line ends since the last thing that was shown
    for found in _TRIVIA.findall(text, begin, end):
        if found == "\n":
            ends += 1
            if 1 < ends <= MAX_BLANK + 1:
                lines.append(Line())
            continue
        if ends == 0 and not lines[-1].comment:
            lines[-1].comment = found.rstrip()
        else:
            lines.append(Line(comment=found.rstrip()))
        ends = 0


def _without_ends(lines: list[Line]) -> list[Line]:
    """Without blank lines at the begin and at the end."""
    full = [at for at, line in enumerate(lines) if line.code or line.comment]
    return lines[full[0] : full[-1] + 1] if full else []


def _shown(lines: Iterable[Line]) -> Iterator[str]:
    """The lines as text; comments behind code on lines that follow one another stand below each other."""
    for has_both, run in groupby(lines, lambda line: bool(line.code.strip() and line.comment)):
        group = list(run)
        column = max(len(line.code) for line in group) + 2 if has_both else 0
        yield from (f"{line.code:<{column}}{line.comment}" for line in group)

"""Where in a program's text a rule stands, found again by the rule as printed."""

from __future__ import annotations

from tidelog.plans.diagnostics.source import Source
from tidelog.plans.language.printing import format_statement
from tidelog.plans.tree.syntax import Ask, Program, Rule


def place_of(program: Program, text: str) -> str:
    """`file:line` of the rule, or `ask`, that is printed as this text; nothing where there is none.

    >>> from tidelog.plans.language.parser import parse
    >>> place_of(parse("p(a)@1.\\nq(X)  :-  p(X).", "file.tide"), "q(X) :- p(X).")
    'file.tide:2'
    """
    for statement in program.statements:
        if isinstance(statement, Rule | Ask) and format_statement(statement) == text:
            line, _ = Source(program.text).position(statement.span.start)
            return f"{program.name}:{line}"
    return ""

"""In which order a program's predicates are shown."""

from __future__ import annotations

from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.syntax import Input, Program, Rule


def shown_order(program: Program) -> list[str]:
    """What rules read and none derives first, then what they derive; each as it first stands in the program.

    >>> from tidelog.plans.language.parser import parse
    >>> shown_order(parse("alarm(X) :- hot(X), not ok(X). hot(X) :- temp(X, V), V > 80."))
    ['ok', 'temp', 'alarm', 'hot']
    """
    rules = [statement for statement in program.statements if isinstance(statement, Rule)]
    heads = [name for rule in rules if (name := head_predicate(rule.head)) is not None]
    declared = [statement.predicate for statement in program.statements if isinstance(statement, Input)]
    read = [name for rule in rules for formula in rule.body for name in predicates(formula)]
    derived = dict.fromkeys(heads)
    return [*(name for name in dict.fromkeys([*declared, *read]) if name not in derived), *derived]

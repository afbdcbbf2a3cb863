"""Pass: rules that no answer needs go."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.reaching import reachable


def prune(program: NormalProgram) -> NormalProgram:
    """Keep the rules that the outputs (or what the caller keeps) and the constraints read, directly or not.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("prune", "output p. p :- q. r :- s."))
    output p.
    p :- q.
    """
    heads = [head_predicate(rule.head) or "" for rule in program.rules]
    read: dict[str, list[str]] = {}
    for head, rule in zip(heads, program.rules, strict=True):
        read.setdefault(head, []).extend(name for part in rule.body for name in predicates(part))
    needed = reachable([*program.kept, *program.constraints], lambda name: read.get(name, ()))
    kept = [number for number, head in enumerate(heads) if head in needed]
    derived = {heads[number] for number in kept}
    return replace(
        program,
        rules=tuple(program.rules[number] for number in kept),
        sources=tuple(program.sources[number] for number in kept),
        constraints={name: rule for name, rule in program.constraints.items() if name in derived},
        origins={name: rule for name, rule in program.origins.items() if name in derived},
    )

"""Pass: what is assigned is kept by one rule, which an operator of its own computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.machines import keeping
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import Rule


def keep_assigned(program: NormalProgram) -> NormalProgram:
    """Put one rule in place of those that tell what is assigned (`plans/tree/machines.py`).

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("keep_assigned", "mode(M) := on :- start(M). mode(M) := none :- stop(M)."))
    output mode.
    mode(M) := on :- start(M).
    mode(M) := none :- stop(M).
    mode(M, V) := 'mode :='(M, V), not 'mode := none'(M).
    """
    if not any(rule.assigns for rule in program.rules):
        return program
    made = list(_kept(program))
    return replace(program, rules=tuple(rule for rule, _ in made), sources=tuple(source for _, source in made))


def _kept(program: NormalProgram) -> Iterator[tuple[Rule, Rule]]:
    derived = {head_predicate(rule.head) for rule in program.rules}
    for rule, source in zip(program.rules, program.sources, strict=True):
        if rule.assigns != "holds":
            yield rule, source
            continue
        kept = keeping(rule, derived)
        if kept is not None:
            yield kept, source

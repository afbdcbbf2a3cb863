"""Pass: what is assigned is kept by one rule, which an operator of its own computes."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.declared.machines import keeping


def keep_assigned(program: NormalProgram) -> NormalProgram:
    """Put one rule in place of that which tells what is assigned (`plans/tree/declared/machines.py`).

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("keep_assigned", "mode(M) := on :- start(M). mode(M) := none :- stop(M)."))
    output mode.
    mode(M) := on :- start(M).
    mode(M) := none :- stop(M).
    mode(M, V) := 'mode :='(M, V).
    'mode := other'(M, V) :- mode(M, V), 'mode :='(M, W), V != W.
    """
    if not any(rule.assigns for rule in program.rules):
        return program
    return replace(program, rules=tuple((rule.assigns == "holds" and keeping(rule)) or rule for rule in program.rules))

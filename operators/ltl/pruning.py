"""Clauses without those that cannot matter: a literal whose complement occurs nowhere may hold at all positions."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.operators.ltl.clauses import ClausalForm, Clause


def prune(form: ClausalForm) -> ClausalForm:
    """Fewer clauses, which have a model exactly if all have one.

    An eventuality wants its first literal to be false and its second one to be true, so it counts as a clause of these.

    >>> prune(ClausalForm((((0, 0),),), (((0, 1), (1, 2)), ((0, 3), (1, 4))), ()))
    ClausalForm(first=(), everywhere=(), eventualities=())
    """
    while True:
        occurring = _occurring(form)
        pure = {literal for literal in occurring if literal ^ 1 not in occurring}
        if not pure:
            return form
        eventualities = tuple(item for item in form.eventualities if item[0] ^ 1 not in pure and item[1] not in pure)
        form = ClausalForm(_without(form.first, pure), _without(form.everywhere, pure), eventualities)


def _occurring(form: ClausalForm) -> set[int]:
    occurring = {literal for clauses in (form.first, form.everywhere) for clause in clauses for _, literal in clause}
    for waiting, goal in form.eventualities:
        occurring |= {waiting ^ 1, goal}
    return occurring


def _without(clauses: Iterable[Clause], pure: set[int]) -> tuple[Clause, ...]:
    return tuple(clause for clause in clauses if all(literal not in pure for _, literal in clause))

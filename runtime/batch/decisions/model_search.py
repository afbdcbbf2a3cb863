"""Entailment and consistency as a search for models of ground Horn theories: by automata, or as formulas of LTL.

What follows is what no model lacks: so the program's own consistency comes first, then that of the reduced program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.shapes import TOP
from tidelog.runtime.batch.decisions.reduction import reduce_to_inconsistency, without_constraints, without_rules

Search = Literal["automata", "ltl"]


def has_model(plan: BatchPlan, facts: Iterable[Record], search: Search = "automata") -> bool:
    """Whether a program and facts are consistent; MethodError where the search cannot take them, or has met its limits."""
    if not plan.constraints:
        return True
    # materialisation decides nearly always, and these four take a tenth of the time of `import tidelog`
    from tidelog.operators.horn.grounding import ground  # noqa: PLC0415 - seldom needed, slow to load

    theory = ground(plan, facts)
    if search == "automata":
        from tidelog.operators.automata import procedure  # noqa: PLC0415 - seldom needed, slow to load

        return procedure.has_model(theory)

    from tidelog.operators.ltl.tableau import satisfiable  # noqa: PLC0415 - seldom needed, slow to load
    from tidelog.operators.ltl.translation import translate  # noqa: PLC0415 - seldom needed, slow to load

    return satisfiable(translate(theory).formula)


def follows(plan: BatchPlan, facts: Iterable[Record], fact: Record, search: Search = "automata") -> bool:
    """Whether a fact follows, where the constraints are known to hold; MethodError as `has_model`.

    >>> from tidelog.plans.compiling.batch import compile_batch
    >>> from tidelog.plans.language.parser import parse
    >>> plan = compile_batch(parse("boxplus[1,1] p(X) :- p(X)."))
    >>> begin = plan.record("p", ["a"], time=0)
    >>> follows(plan, [begin], plan.record("p", ["a"], time=1000)), follows(plan, [begin], plan.record("p", ["a"], time=-1))
    (True, False)
    """
    if fact[0] == TOP:  # of the data alone: in a theory `top` is what always holds
        facts, fact = [_of_data(record) for record in facts], _of_data(fact)
    part = without_constraints(plan, fact[0])
    mentioned = {fact[0], *(step.predicate for step in part.steps)}
    reduced, more = reduce_to_inconsistency(part, fact)
    return not has_model(reduced, [*(record for record in facts if record[0] in mentioned), *more], search)


def _of_data(record: Record) -> Record:
    predicate, row, lo, hi = record
    return (f"{TOP}.data" if predicate == TOP else predicate), row, lo, hi


def decide_by_models(
    plan: BatchPlan,
    facts: Sequence[Record],
    fact: Record | None,
    search: Search = "automata",
    complete: Collection[str] = (),
) -> Literal["true", "false", "inconsistent"]:
    """Whether a fact follows; without one, whether there is a model (`true` or `inconsistent`). MethodError as `has_model`.

    Of the predicates that are `complete`, all that holds is among the facts, so that their rules are not looked at.
    """
    if not has_model(without_rules(plan, complete), facts, search):
        return "inconsistent"
    if fact is None or follows(without_rules(plan, complete, fact[0]), facts, fact, search):
        return "true"
    return "false"

"""All that a program derives from a stream of facts, as a model that can be explained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.operators.stores.coverage import Bounds, Coverage
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.shapes import TOP
from tidelog.plans.tree.declared.machines import is_of_machine
from tidelog.plans.tree.syntax import Ask, Background, CalendarDeclaration, Output, Statement
from tidelog.plans.tree.walk import derived, is_constraint
from tidelog.runtime.why.evidence.model import Arrival, Model, Writing
from tidelog.runtime.why.explain import Explainer


def telling_all(plan: Plan) -> Plan:
    """The plan of the same program that tells all that is derived, and checks no constraint; background stays loaded."""
    program = plan.program
    statements: tuple[Statement, ...] = tuple(
        item for item in program.statements if not isinstance(item, Ask | Output) and not is_constraint(item)
    )
    backgrounds = {item.predicate for item in program.statements if isinstance(item, Background)}
    loaded = [record for record in plan.facts if record[0] in backgrounds and record[2:] == (NEG, POS)]
    calendars = [item.predicate for item in program.statements if isinstance(item, CalendarDeclaration)]
    if calendars or any(map(is_of_machine, derived(program))):  # all that reasons rest on is told
        statements = (*statements, Output((*derived(program), *calendars)))
    whole = compile_program(replace(program, statements=statements))
    return replace(whole, facts=(*whole.facts, *loaded))


def explainer_of(
    plan: Plan, given: Sequence[Record], told: Iterable[Record], start: int | None = None, at: Writing = None
) -> Explainer:
    """Explains what a plan that tells all has told of facts; these are in the order in which tuple windows count them."""
    known: dict[str, Coverage] = {}
    for predicate, row, lo, hi in (*plan.facts, *given, *told):
        if predicate != TOP:
            known.setdefault(predicate, Coverage()).insert([(row, lo, hi)])
    model = Model(
        plan.program,
        plan.timeline,
        {name: coverage.rows for name, coverage in known.items()},
        _stated(plan),
        start=start,
        arrivals=_arrivals(plan, given),
    )
    return Explainer(plan.program, model, at)


def _stated(plan: Plan) -> dict[str, dict[Row, Bounds]]:
    """What is given of the predicates that rules derive: the facts of the program itself."""
    stated: dict[str, dict[Row, Bounds]] = {}
    for name in derived(plan.program):
        coverage = Coverage()
        coverage.insert(record[1:] for record in plan.facts if record[0] == name)
        stated[name] = coverage.rows
    return stated


def _arrivals(plan: Plan, in_order: Iterable[Record]) -> list[Arrival]:
    """What tuple windows count: of equal facts the first."""
    inputs = set(plan.normal.inputs)
    found: dict[Arrival, None] = {}
    for predicate, row, lo, _ in in_order:
        if predicate in inputs and lo > NEG:
            found.setdefault((predicate, row, lo))
    return list(found)

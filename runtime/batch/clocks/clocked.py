"""A component that depends on its own negation at earlier times, in batch: it goes through time, as in a stream."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError, EndlessError, MethodError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.machines import machine_of
from tidelog.plans.tree.syntax import Output, Program, Rule, TimelineDeclaration
from tidelog.plans.tree.walk import head_atom
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.network.clock import END_PASSES
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet


def run_through(plan: BatchPlan, stratum: Stratum, known: Interpretation, until: int) -> None:
    """Derive all of a component up to a time, and add it to what is known, of which all that it reads is complete.

    EndlessError where it goes on for ever, and there is no such time. MethodError for what goes on for ever below it.
    """
    names = frozenset(stratum.predicates)
    for fact in known.repeating():
        if fact.predicate in stratum.reads:
            message = f"`{fact.predicate}` repeats for ever, and what depends on its own negation follows it time by time"
            raise MethodError(f"{message}; say up to when (`--until`)")
    facts = {name: known.facts_of(name) for name in (*stratum.reads, *stratum.predicates)}
    own = _plan(plan, names)
    for name in names.intersection(own.normal.split):
        if facts[name]:
            raise DataError(f"facts are given of `{name}`, whose rules each derive a value of their own")
    for predicate, row, lo, hi in _answers(own, facts, known, until):
        known.insert(predicate, [(row, lo, min(hi, until))] if lo <= until else [])


def _plan(plan: BatchPlan, names: frozenset[str]) -> Plan:
    """The rules of some predicates as a program of their own, on the same timeline."""
    line = plan.timeline
    resolution = None if line.is_integer else line.resolution
    timeline = TimelineDeclaration(line.kind, line.unit, resolution)
    rules = [item for item in plan.program.statements if isinstance(item, Rule) and _derives(item, names)]
    return compile_program(Program((timeline, Output(tuple(sorted(names))), *rules), plan.program.name, plan.program.text))


def _derives(rule: Rule, names: frozenset[str]) -> bool:
    """Whether a rule derives one of these predicates, or tells by what it ends."""
    head = head_atom(rule)
    return head is not None and (
        head.predicate in names or (rule.assigns == "holds" and machine_of(head.predicate) in names)
    )


def _answers(plan: Plan, facts: dict[str, list[Fact]], known: Interpretation, until: int) -> Iterable[Record]:
    outlet = Outlet(plan, "intervals", known.bound)
    network = Network(plan, outlet, known.bound)
    present = max([lo for each in facts.values() for _, lo, _ in each], default=NEG)
    network.deliver(Delivery(facts, frontier=min(present, until), start=known.start))
    if until >= POS:
        network.deliver(Delivery(frontier=POS))
    else:
        network.deliver(Delivery(frontier=until))
        network.rest()
    if network.graph.unfinished():
        raise EndlessError(plan.normal.outputs, END_PASSES, "there was always something new")
    return outlet.answers

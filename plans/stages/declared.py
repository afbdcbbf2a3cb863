"""A program that declares what it reads: what a stage takes in has to be known before anything comes.

A program without `input` takes facts of any predicate, derived ones too. No stage can: a fact of a derived predicate belongs
into the stage that derives it, and there alone. So it gets an input of its own, and a rule that passes it on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Atom, Field, Input, Output, Program, Rule, Variable
from tidelog.plans.tree.walk import atoms, derived, statements_of


def declare_inputs(plan: Plan) -> tuple[Program, Mapping[str, str]]:
    """The plan's program with its inputs declared, and what facts of derived predicates are called as inputs.

    What the program states itself, as facts or background, is no input then, unless a rule derives it, too.
    """
    program = plan.program
    if plan.normal.declarations:
        return program, {}
    arities = _arities(program)
    heads = derived(program)
    given = {name: _unused(f"{name}.data", arities) for name in heads if name in plan.schema.predicates}
    inputs = [declaration(name, arities[name]) for name in plan.normal.inputs if name in arities]
    inputs += [declaration(data, arities[name]) for name, data in given.items()]
    rules = [_passes_on(data, name, arities[name]) for name, data in given.items()]
    outputs = [] if statements_of(program, Output) or not plan.outputs else [Output(tuple(plan.outputs))]
    return replace(program, statements=(*inputs, *outputs, *program.statements, *rules)), given


def declaration(predicate: str, arity: int) -> Input:
    """An input whose fields are named by their places, and take any value."""
    return Input(predicate, tuple(Field(f"x{place}") for place in range(1, arity + 1)))


def _passes_on(data: str, name: str, arity: int) -> Rule:
    row = tuple(Variable(f"X{place}") for place in range(1, arity + 1))
    return Rule(Atom(name, row), (Atom(data, row),))


def _arities(program: Program) -> dict[str, int]:
    found: dict[str, int] = {}
    for rule in statements_of(program, Rule):
        for atom in atoms(rule.head, *rule.body):
            found.setdefault(atom.predicate, len(atom.arguments))
    return found


def _unused(name: str, taken: Mapping[str, int]) -> str:
    while name in taken:
        name += "_"
    return name

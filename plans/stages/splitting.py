"""Rules whose bodies have a key, though their heads lose it: the body goes where its key is, the head where its own is.

`hot_room(R) :- hot(S), not quiet(S), in(S, R)` joins on the sensor, and tells of the room. As two rules, with a predicate
between them, the join can be split by the sensor, and what reads `hot_room` by the room. The same helps where each rule of a
predicate has a key, but all together have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.grouping import smallest_groups
from tidelog.plans.tree.syntax import Atom, Formula, Output, Program, Rule, Statement, Unary
from tidelog.plans.tree.walk import head_atom, statements_of


def split_rules(plan: Plan) -> tuple[Plan, frozenset[str]]:
    """The plan of the same program with such rules in two, and the predicates in between that do not show the key."""
    rules = list(_candidates(plan))
    if not rules:
        return plan, frozenset()
    program, parts = _split(plan, rules)
    tried = compile_program(program, outputs=bool(plan.outputs))
    shown, keyed = _keyed(tried, ()), _keyed(tried, parts)
    pairs = list(zip(rules, parts, strict=True))
    mixed = {_head(rule) for rule, part in pairs if part not in keyed}
    useful = [(rule, part) for rule, part in pairs if part in keyed and not (_head(rule) in mixed and _is_copy(rule))]
    kept = [(rule, part in shown) for rule, part in useful]
    if not kept:
        return plan, frozenset()
    program, parts = _split(plan, [rule for rule, _ in kept])
    loose = frozenset(part for part, (_, is_shown) in zip(parts, kept, strict=True) if not is_shown)
    return compile_program(program, outputs=bool(plan.outputs)), loose


def _is_copy(rule: Rule) -> bool:
    """Whether there is no work in a rule, so that it gains only where all rules of its predicate have keys."""
    return len(rule.body) == 1 and isinstance(rule.body[0], Atom)


def _head(rule: Rule) -> str:
    head = head_atom(rule)
    return "" if head is None else head.predicate


def _candidates(plan: Plan) -> Iterator[Rule]:
    """The rules of the predicates that have no key, and are not recursive."""
    rules = statements_of(plan.program, Rule)
    for group in smallest_groups(plan):
        if not group.keys and len(group.predicates) == 1 and not group.constraints:
            (name,) = group.predicates
            own = [rule for rule in rules if _head(rule) == name]
            recursive = any(atom.predicate == name for link in group.links for atom in link.atoms[1:])
            yield from () if recursive else own


def _split(plan: Plan, rules: Sequence[Rule]) -> tuple[Program, list[str]]:
    """The program with these rules in two, and the predicate in the middle of each."""
    taken = {*plan.schema.predicates, *plan.normal.origins}
    taken |= {_head(rule) for rule in statements_of(plan.program, Rule)}
    statements: list[Statement] = []
    parts: dict[int, str] = {}
    has_outputs = bool(statements_of(plan.program, Output)) or not plan.outputs
    for statement in plan.program.statements:
        number = next((i for i, rule in enumerate(rules) if rule is statement), None)
        head = head_atom(statement) if isinstance(statement, Rule) else None
        if number is None or head is None or not isinstance(statement, Rule):
            statements.append(statement)
            continue
        parts[number] = _unused(head.predicate, taken)
        taken.add(parts[number])
        middle = replace(head, predicate=parts[number])
        statements.append(replace(statement, head=middle))
        statements.append(replace(statement, head=_without_time(statement.head), body=(replace(middle, at=None),)))
    if not has_outputs:
        statements.append(Output(tuple(plan.outputs)))
    return replace(plan.program, statements=tuple(statements)), [parts[i] for i in range(len(rules))]


def _without_time(head: Formula) -> Formula:
    if isinstance(head, Unary):
        return replace(head, operand=_without_time(head.operand))
    return replace(head, at=None) if isinstance(head, Atom) else head


def _unused(name: str, taken: set[str]) -> str:
    number = 1
    while (part := f"{name}.part{number}") in taken:
        number += 1
    return part


def _keyed(plan: Plan, loose: Sequence[str]) -> frozenset[str]:
    """The predicates that have a key, if those that are loose need not show it."""
    return frozenset(name for group in smallest_groups(plan, loose) if group.keys for name in group.predicates)

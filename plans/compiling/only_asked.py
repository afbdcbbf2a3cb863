"""Predicates that only `ask` can compute: they are left out of the outputs, with a warning, where a program asks and names
no outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Ask, Output, Program, Rule
from tidelog.plans.tree.walk import atoms, derived, head_atom, statements_of


def chooses_outputs(program: Program) -> bool:
    """Whether a program leaves open what runs forward: it asks, and declares no output."""
    return bool(statements_of(program, Ask)) and not statements_of(program, Output)


def blamed(program: Program, problems: Iterable[Diagnostic]) -> frozenset[str]:
    """The predicates whose rules hold the places of some problems."""
    places = [problem.span for problem in problems if problem.severity == "error"]
    return frozenset(
        head.predicate
        for rule in statements_of(program, Rule)
        if (head := head_atom(rule)) is not None
        and any(rule.span.start <= place.start and place.end <= rule.span.end for place in places)
    )


def outputs_without(program: Program, excluded: Collection[str]) -> tuple[str, ...]:
    """The derived predicates that need none of the excluded ones."""
    readers: dict[str, set[str]] = {}
    for rule in statements_of(program, Rule):
        head = head_atom(rule)
        if head is not None:
            for atom in atoms(*rule.body):
                readers.setdefault(atom.predicate, set()).add(head.predicate)
    gone = reachable(excluded, lambda name: readers.get(name, ()))
    return tuple(name for name in derived(program) if name not in gone)


def as_warnings(program: Program, problems: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """What kept predicates from being outputs, as warnings."""
    for problem in problems:
        names = ", ".join(f"`{name}`" for name in sorted(blamed(program, [problem])))
        message = f"{names} is no output, only `ask` computes it: {problem.message}"
        help = "declare the outputs, such as `output alarm`, where this is meant"
        yield replace(problem, code="only-asked", message=message, help=help, severity="warning")

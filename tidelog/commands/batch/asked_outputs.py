"""What `materialise` is to tell: `--output alarm`, or with constants `--output 'alarm(hall, _)'`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import Atom, Constant, Formula, Rule, Value, Variable
from tidelog.runtime.batch.demand.restricting import Asked


def read_outputs(plan: BatchPlan, texts: Sequence[str]) -> tuple[Asked, ...]:
    """What is asked for; SpecError for what is no predicate of the program, or has other columns than it."""
    return tuple(_read(plan, text) for text in texts)


def _read(plan: BatchPlan, text: str) -> Asked:
    atom = _atom(text)
    known = plan.schema.predicates.get(atom.predicate)
    if known is None:
        hint = suggest(atom.predicate, plan.schema.predicates)
        raise SpecError(f"--output: the program has no predicate `{shorten(atom.predicate)}`{hint}")
    if not atom.arguments:
        return Asked(atom.predicate)
    if len(atom.arguments) != known.arity:
        raise SpecError(f"--output: `{atom.predicate}` has {known.arity} arguments, got {len(atom.arguments)}: `{text}`")
    names = [term.name for term in atom.arguments if isinstance(term, Variable)]
    if len(names) > len(set(names)):
        raise SpecError(f"--output: each variable stands once, for any value: `{text}`")
    return Asked(atom.predicate, tuple(_values(atom)))


def _values(atom: Atom) -> Iterator[Value | None]:
    return (term.value if isinstance(term, Constant) else None for term in atom.arguments)


def _atom(text: str) -> Atom:
    body: tuple[Formula, ...] = ()
    try:
        statements = parse(f"asked :- {text}.").statements
    except ProgramError:
        statements = ()
    if len(statements) == 1 and isinstance(statements[0], Rule):
        body = statements[0].body
    if len(body) != 1 or not isinstance(body[0], Atom) or body[0].at is not None:
        raise SpecError(f"--output: expected a predicate, such as `alarm` or `alarm(hall, _)`, got `{shorten(text)}`")
    return body[0]

"""Two programs as one, for proofs about both: what one of them derives has other names than what the other does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tidelog.plans.proving.rulebook import Clause, Rulebook
from tidelog.plans.tree.names import predicates
from tidelog.plans.tree.syntax import Atom, CalendarDeclaration, Formula
from tidelog.plans.tree.traverse import rebuild
from tidelog.plans.tree.walk import statements_of

FAR = 1_000_000
"""The numbers of the second program's rules begin here."""
NONE: Mapping[str, str] = MappingProxyType({})


def other(predicate: str) -> str:
    """What a predicate of the second program is called, where it is not one of both."""
    return f"other {predicate}"


def merged(book: Rulebook, second: Rulebook, alike: Mapping[str, str] = NONE) -> Rulebook:
    """The rules of both, on one timeline. A predicate is one of both where data bring it to either, and nothing else does
    but what does so in both, of the same types; and where it is known to be `alike`: what it is in the first, by what it is
    in the second."""
    shared = {name for name in book.given & second.given if _is_alike(book, second, name)}
    names = {name: alike.get(name) or other(name) for name in _all(second) if name in alike or name not in shared}
    clauses = dict(book.clauses)
    for name, found in second.clauses.items():
        if name in alike:
            continue
        clauses[names.get(name, name)] = tuple(_renamed(clause, names) for clause in found)
    facts = {**book.facts, **{names.get(name, name): rows for name, rows in second.facts.items() if name not in alike}}
    return replace(
        book,
        clauses=clauses,
        facts=facts,
        types={**book.types, **{names.get(name, name): kinds for name, kinds in second.types.items()}},
        given=book.given | {names.get(name, name) for name in second.given if name not in alike},
        open=book.open | {names.get(name, name) for name in second.open if name not in alike},
    )


def _is_alike(book: Rulebook, second: Rulebook, name: str) -> bool:
    """Whether nothing but the same facts brings a predicate in both programs: of other types, there are others."""
    if book.types.get(name) != second.types.get(name) or book.of(name) or second.of(name):
        return False
    calendars = [
        [item for item in statements_of(each.program, CalendarDeclaration) if item.predicate == name]
        for each in (book, second)
    ]
    if calendars[0] or calendars[1]:
        return False  # what it excepts, or its file, may be another
    return set(book.facts.get(name, ())) == set(second.facts.get(name, ()))


def _all(book: Rulebook) -> set[str]:
    read = {
        name for clauses in book.clauses.values() for clause in clauses for part in clause.body for name in predicates(part)
    }
    return read | set(book.clauses) | set(book.facts) | book.open


def _renamed(clause: Clause, names: Mapping[str, str]) -> Clause:
    head = _in(clause.head, names)
    if not isinstance(head, Atom):
        raise TypeError(f"no head: {head!r}")
    return replace(clause, number=clause.number + FAR, head=head, body=tuple(_in(part, names) for part in clause.body))


def _in(formula: Formula, names: Mapping[str, str]) -> Formula:
    if isinstance(formula, Atom):
        return replace(formula, predicate=names.get(formula.predicate, formula.predicate))
    return rebuild(formula, lambda part: _in(part, names))

"""What holds at all positions, such as background facts: clauses need not ask for it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tidelog.operators.horn.theory import Clause, Given, Theory


def without_everywhere(theory: Theory) -> Theory:
    """The theory with what holds at all positions left out of the bodies, and what derives it left out.

    Where a body consists of nothing else, a literal stays. The propositions keep their numbers.

    >>> rules = (Clause((1, 0), ((0, -1),)), Clause((2, 1), ((1, 0), (3, 0))))
    >>> less = without_everywhere(Theory(("p", "q", "r", "s"), rules, (), (Given(0, None, None),), False))
    >>> less.clauses, less.given
    ((Clause(head=(2, 1), body=((3, 0),), parity=None),), ())
    """
    everywhere = _everywhere(theory)
    clauses = []
    for clause in theory.clauses:
        if clause.head is None or clause.head[0] not in everywhere:
            body = tuple(literal for literal in clause.body if literal[0] not in everywhere)
            clauses.append(Clause(clause.head, body or clause.body[:1], clause.parity))
    always = tuple(item for item in theory.always if item.flag not in everywhere)
    asked = {atom for clause in clauses for atom, _ in clause.body} & everywhere
    given = tuple(item for item in theory.given if item.atom not in everywhere)
    given += tuple(Given(atom, None, None) for atom in sorted(asked))
    return replace(theory, clauses=tuple(clauses), always=always, given=given)


def _everywhere(theory: Theory) -> set[int]:
    """What is given at all positions, and what follows from that alone."""
    waiting = [item.atom for item in theory.given if item.low is None and item.high is None]
    found = set(waiting)
    rules = [
        (clause.head[0], {atom for atom, _ in clause.body})
        for clause in theory.clauses
        if clause.head and clause.parity is None
    ]
    rules += [(item.flag, {item.operand}) for item in theory.always]
    readers: dict[int, list[int]] = defaultdict(list)
    missing = []
    for number, (_, body) in enumerate(rules):
        missing.append(len(body))
        for atom in body:
            readers[atom].append(number)
    while waiting:
        for number in readers[waiting.pop()]:
            missing[number] -= 1
            head = rules[number][0]
            if not missing[number] and head not in found:
                found.add(head)
                waiting.append(head)
    return found

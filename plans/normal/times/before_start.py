"""Which predicates may hold before the stream's start: what the stream itself brings never does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import Aggregate, Atom, Binary, Conjunction, Formula, Latest, Rule, Time, Unary, Window


class Before(IntEnum):
    """How far before the start something may hold: never, for a while, since ever."""

    NEVER = 0
    A_WHILE = 1
    SINCE_EVER = 2


Ranks = Mapping[str, Before]


def ranks_of(program: NormalProgram) -> Ranks:
    """An upper bound for each predicate that may hold before the start; the others never do.

    A program's facts, backgrounds and calendars may; so may what is derived from nothing else, or from what is ahead.
    """
    ranks = dict.fromkeys(program.supplied, Before.SINCE_EVER)
    for fact in program.facts:
        endless = fact.interval is None or fact.interval.low == -math.inf
        rank = Before.SINCE_EVER if endless else Before.A_WHILE
        ranks[fact.atom.predicate] = max(rank, ranks.get(fact.atom.predicate, Before.NEVER))
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            predicate, rank = head_predicate(rule.head), _of_head(rule, ranks)
            if predicate is not None and rank > ranks.get(predicate, Before.NEVER):
                ranks[predicate], changed = rank, True
    return ranks


def _of_head(rule: Rule, ranks: Ranks) -> Before:
    head, ahead = rule.head, Before.NEVER
    while isinstance(head, Unary):
        if head.operator == "boxminus":
            ahead = max(ahead, _ahead(head.interval.high))
        head = head.operand
    if isinstance(head, Atom) and head.at is not None:
        name, shift = head.at.variable.name, head.at.shift
        return min((_of_timed(part, name, shift, ranks) for part in rule.body), default=Before.SINCE_EVER)
    rank = min((rank_of(part, ranks) for part in rule.body), default=Before.SINCE_EVER)
    return max(rank, ahead)


def _of_timed(part: Formula, name: str, shift: int, ranks: Ranks) -> Before:
    """An upper bound of how far before the start `T+shift` may lie, by an atom that holds at `T+j`: that of the atom's
    predicate where `T+j` is not later, and otherwise a while at least."""
    is_window = isinstance(part, Window) and part.mode == "at"
    found = part.operand if isinstance(part, Window) and is_window else part
    if not isinstance(found, Atom) or found.at is None or found.at.variable.name != name:
        return Before.SINCE_EVER
    rank = Before.NEVER if is_window else ranks.get(found.predicate, Before.NEVER)
    return rank if found.at.shift <= shift else max(rank, Before.A_WHILE)


def rank_of(formula: Formula, ranks: Ranks) -> Before:
    """An upper bound of how far before the start a formula may hold."""
    match formula:
        case Atom(at=None):
            return ranks.get(formula.predicate, Before.NEVER)
        case Latest(atom=inner) | Aggregate(operand=inner):
            return rank_of(inner, ranks)
        case Conjunction():
            return min((rank_of(part, ranks) for part in formula.parts), default=Before.SINCE_EVER)
        case Window():  # an `at`, an `always` and a tuple window hold nothing that lies before the start
            is_open = formula.mode == "sometime" and not formula.window.tuples
            return rank_of(formula.operand, ranks) if is_open else Before.NEVER
        case Unary(clipped=True):
            return Before.NEVER
        case Unary("diamondminus" | "boxminus", operand=inner) | Binary("since", right=inner):
            return rank_of(inner, ranks)
        case Unary():
            return max(rank_of(formula.operand, ranks), _ahead(formula.interval.high))
        case Binary():
            return max(rank_of(formula.right, ranks), _ahead(formula.interval.high))
    return Before.SINCE_EVER


def _ahead(distance: Time) -> Before:
    """What looks so far ahead sees the start that long before."""
    return Before.SINCE_EVER if distance == math.inf else Before.A_WHILE

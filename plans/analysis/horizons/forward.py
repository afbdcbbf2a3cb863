"""Whether a program is forward-propagating: nothing derived reaches into the past, nothing read lies in the future."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.tree import syntax
from tidelog.plans.tree.syntax import Formula, Program, Rule
from tidelog.plans.tree.thresholds import mark_thresholds
from tidelog.plans.tree.traverse import subformulas


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A rule that is not forward-propagating, and what in it is not."""

    rule: str
    what: str


def obstacles(program: Program) -> tuple[Obstacle, ...]:
    """What keeps a program, as written, from being forward-propagating; nothing if it is (Wałęga et al. 2023, Def. 4).

    Bodies may hold `diamondminus` and `boxminus` (`sometime M in [n]` is one), heads `boxplus`; neither `top` nor
    `bottom`. Comparisons do not depend on time and may stand anywhere; negation and the other windows of LARS are outside
    of the definition's language.
    """
    found = []
    for rule in program.statements:
        if isinstance(rule, Rule):
            reasons = [*_in_head(rule.head), *(reason for part in mark_thresholds(rule).body for reason in _in_body(part))]
            found += [Obstacle(format_statement(rule), reason) for reason in reasons]
    return tuple(found)


def _in_head(head: Formula) -> Iterator[str]:
    for part in subformulas(head):
        match part:
            case syntax.Truth(value):
                yield f"`{'top' if value else 'bottom'}` in the head"
            case syntax.Unary(operator) if operator != "boxplus":
                yield f"`{format_formula(part)}` in the head reaches into the past"
            case syntax.Atom(at=at) if at is not None:
                yield f"`{format_formula(part)}` in the head moves to a time of its own"


def _in_body(formula: Formula) -> Iterator[str]:
    return (f"`{format_formula(part)}` {reason}" for part in subformulas(formula) if (reason := _obstacle(part)))


def _obstacle(formula: Formula) -> str:
    match formula:
        case syntax.Truth():
            return "is a truth value"
        case syntax.Unary("diamondplus" | "boxplus") | syntax.Binary("until"):
            return "looks ahead"
        case syntax.Binary() | syntax.Negation():
            return "negates" if isinstance(formula, syntax.Negation) else "is neither diamondminus nor boxminus"
        case syntax.Aggregate() | syntax.Latest():
            waits = isinstance(formula, syntax.Latest) or formula.threshold is None
            return "is known only when nothing more comes" if waits else "counts what it looks back at"
        case syntax.Window(window=window) if window.tuples or window.step is not None:
            return "is a window that counts facts or moves in steps"
        case syntax.Window("always"):
            return "is clipped where the stream starts"
        case syntax.Atom(at=at) if at is not None:
            return "names its own time"
    return ""

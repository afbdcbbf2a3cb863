"""Questions about what comes again after each period: recursion that moves on by one distance, without its rounds.

From `due(X) :- start(X).` and `due(X) :- boxminus[7] due(X).` follows `due(X)@T` for each `start(X)@S` of which `T - S` is 0
or more, and a multiple of 7: so unfolding needs one premise with an open time in place of rounds without an end. A recursion
that does anything else from round to round stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.syntax import Arithmetic, Atom, Comparison, Constant, Formula, Rule, Time, TimePoint, Unary, Variable

BEGINS = "begins"
"""Behind a predicate's name: that of what its rounds begin with, which no program can write."""


def by_periods(rules: Sequence[Rule], given: Collection[str]) -> tuple[Rule, ...]:
    """The rules that a question needs, as whole ticks have them; `given` are the predicates of which the program has facts.

    >>> from tidelog.plans.language.parser import parse
    >>> from tidelog.plans.language.printing import format_statement
    >>> found = by_periods(parse("p(X) :- e(X). p(X) :- diamondminus[3] p(X).").statements, ())
    >>> print(*map(format_statement, found), sep="\\n")
    'p begins'(X) :- e(X).
    p(X)@T :- 'p begins'(X)@S, S <= T, (T - S) mod 3 = 0.
    """
    heads: dict[str, list[Rule]] = {}
    for rule in rules:
        heads.setdefault(head_predicate(rule.head) or "", []).append(rule)
    periods = {name: step for name, own in heads.items() if name not in given and (step := _period(name, own, heads))}
    found: list[Rule] = []
    for rule in rules:
        name = head_predicate(rule.head) or ""
        if name not in periods:
            found.append(rule)
        elif _step(rule) is None:
            found.append(replace(rule, head=_renamed(rule.head, name)))
        else:
            found.append(_again(rule, name, periods[name]))
    return tuple(found)


def is_periodic(comparison: Comparison) -> bool:
    """Whether a comparison asks for what a number leaves when it is divided, as that of a period does."""
    return any(isinstance(side, Arithmetic) and side.operator == "mod" for side in (comparison.left, comparison.right))


def _period(name: str, own: Sequence[Rule], heads: dict[str, list[Rule]]) -> int:
    """By how much the only round of a predicate moves on (below 0: back); 0 where there is none such, or more than that."""
    steps = [step for rule in own if (step := _step(rule)) is not None]
    if len(steps) != 1 or len(own) == 1:
        return 0
    seen: set[str] = set()
    waiting = [each for rule in own if _step(rule) is None for part in rule.body for each in predicates(part)]
    while waiting:
        read = waiting.pop()
        if read == name:
            return 0
        if read not in seen:
            seen.add(read)
            waiting += [each for rule in heads.get(read, ()) for part in rule.body for each in predicates(part)]
    return steps[0]


def _step(rule: Rule) -> int | None:
    """How far a rule moves what it repeats, and changes nothing else of; None for one that does something else."""
    head, (body, *others) = rule.head, rule.body
    if others or rule.assigns:
        return None
    moved: Time = Fraction(0)
    while isinstance(head, Unary) and head.interval.is_punctual:
        moved += head.interval.low * (1 if head.operator == "boxplus" else -1)
        head = head.operand
    while isinstance(body, Unary) and body.interval.is_punctual and not body.step and not body.clipped:
        moved += body.interval.low * (1 if body.operator.endswith("minus") else -1)
        body = body.operand
    if not isinstance(head, Atom) or not isinstance(body, Atom):
        return None
    if (head.predicate, head.arguments) != (body.predicate, body.arguments) or not _is_plain(head):
        return None
    if (head.at is None) != (body.at is None):
        return None
    if head.at is not None and body.at is not None:
        if head.at.variable != body.at.variable or head.at.variable in head.arguments:
            return None
        moved += head.at.shift - body.at.shift
    return int(moved) if moved and isinstance(moved, Fraction) and moved.denominator == 1 else None


def _is_plain(atom: Atom) -> bool:
    """Whether an atom has different variables alone, and so stands for all of its predicate."""
    return all(isinstance(term, Variable) for term in atom.arguments) and len({*atom.arguments}) == len(atom.arguments)


def _renamed(head: Formula, name: str) -> Formula:
    if isinstance(head, Unary):
        return replace(head, operand=_renamed(head.operand, name))
    return replace(head, predicate=f"{name} {BEGINS}") if isinstance(head, Atom) else head


def _again(rule: Rule, name: str, step: int) -> Rule:
    """The rule of a predicate that comes again: at a time as many steps from one at which it begins."""
    head = rule.head
    while isinstance(head, Unary):
        head = head.operand
    if not isinstance(head, Atom):
        raise TypeError(f"no round: {rule!r}")
    taken = {term.name for term in head.arguments if isinstance(term, Variable)}
    now, then = (Variable(_free(letter, taken)) for letter in "TS")
    first, last = (then, now) if step > 0 else (now, then)
    gone = Arithmetic("mod", (Arithmetic("-", (last, first)), Constant(abs(step))))
    body = (
        Atom(f"{name} {BEGINS}", head.arguments, TimePoint(then), head.span),
        Comparison("<=", first, last, rule.span),
        Comparison("=", gone, Constant(0), rule.span),
    )
    return Rule(replace(head, at=TimePoint(now)), body, rule.span)


def _free(letter: str, taken: set[str]) -> str:
    while letter in taken:
        letter += letter[0]
    return letter

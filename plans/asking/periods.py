"""Questions about what comes again after each period: recursion that moves on by one distance, without its rounds.

From `due(X) :- start(X).` and `due(X) :- boxminus[7] due(X).` follows `due(X)@T` for each `start(X)@S` of which `T - S` is 0
or more, and a multiple of 7: so unfolding needs one premise with an open time in place of rounds without an end. So it is
with several predicates that hand on to each other in turn. A recursion that does anything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.syntax import Arithmetic, Atom, Comparison, Constant, Formula, Rule, Time, TimePoint, Unary, Variable

BEGINS = "begins"
"""Behind a predicate's name: that of what its rounds begin with, which no program can write."""


@dataclass(frozen=True, slots=True)
class _Round:
    """Predicates that hand on to each other in turn: at a distance of `steps[i]` number i comes behind the one before it."""

    names: tuple[str, ...]
    steps: tuple[int, ...]

    @property
    def period(self) -> int:
        """By how much one round moves on; below 0: back."""
        return sum(self.steps)

    def from_each(self, name: str) -> Iterator[tuple[str, int]]:
        """The predicates of the round, each with how much later what begins with it comes to another first."""
        distance, place = 0, self.names.index(name)
        for number in range(len(self.names)):
            yield self.names[place - number], distance
            distance += self.steps[place - number]


def by_periods(rules: Sequence[Rule], given: Collection[str]) -> tuple[Rule, ...]:
    """The rules that a question needs, as whole ticks have them; `given` are the predicates of which the program has facts.

    >>> from tidelog.plans.language.parser import parse
    >>> from tidelog.plans.language.printing import format_statement
    >>> found = by_periods(parse("p(X) :- e(X). p(X) :- diamondminus[3] p(X).").statements, ())
    >>> print(*map(format_statement, found), sep="\\n")
    'p begins'(X) :- e(X).
    p(X)@T :- 'p begins'(X)@S, S <= T, (T - S) mod 3 = 0.
    >>> mutual = parse("p(X) :- e(X). p(X) :- diamondminus[3] q(X). q(X) :- diamondminus[1] p(X).")
    >>> found = by_periods(mutual.statements, ())
    >>> print(*map(format_statement, found), sep="\\n")
    'p begins'(X) :- e(X).
    p(X)@T :- 'p begins'(X)@S, S <= T, (T - S) mod 4 = 0.
    q(X)@T+1 :- 'p begins'(X)@S, S <= T, (T - S) mod 4 = 0.
    """
    heads: dict[str, list[Rule]] = {}
    for rule in rules:
        heads.setdefault(head_predicate(rule.head) or "", []).append(rule)
    rounds: dict[str, _Round] = {}
    for name in heads:
        found = None if name in rounds else _round(name, heads)
        if found is not None and not any(each in given for each in found.names):
            rounds.update(dict.fromkeys(found.names, found))
    made: list[Rule] = []
    for rule in rules:
        name = head_predicate(rule.head) or ""
        if name not in rounds:
            made.append(rule)
        elif not _goes_round(rule, rounds[name]):
            made.append(replace(rule, head=_renamed(rule.head, name)))
        else:
            own = rounds[name]
            for first, distance in own.from_each(name):
                if any(not _goes_round(each, own) for each in heads[first]):
                    made.append(_again(rule, first, own.period, distance))
    return tuple(made)


def is_periodic(comparison: Comparison) -> bool:
    """Whether a comparison asks for what a number leaves when it is divided, as that of a period does."""
    return any(isinstance(side, Arithmetic) and side.operator == "mod" for side in (comparison.left, comparison.right))


def _round(name: str, heads: Mapping[str, Sequence[Rule]]) -> _Round | None:
    """The round of which a predicate is; None where it is of none, or of more than that, or nothing begins it."""
    names, steps = [name], list[int]()
    while True:
        rules = [rule for rule in heads.get(names[-1], ()) if name in _needed(rule, heads)]
        step = _step(rules[0]) if len(rules) == 1 else None
        if step is None:
            return None
        steps.append(step[1])
        if step[0] == name:
            break
        if step[0] in names:
            return None
        names.append(step[0])
    found = _Round(tuple(reversed(names)), tuple(reversed(steps)))
    begins = any(not _goes_round(rule, found) for each in names for rule in heads[each])
    return found if begins and found.period else None


def _needed(rule: Rule, heads: Mapping[str, Sequence[Rule]]) -> set[str]:
    """The predicates on which a rule rests."""
    seen: set[str] = set()
    waiting = [each for part in rule.body for each in predicates(part)]
    while waiting:
        read = waiting.pop()
        if read not in seen:
            seen.add(read)
            waiting += [each for rule in heads.get(read, ()) for part in rule.body for each in predicates(part)]
    return seen


def _goes_round(rule: Rule, own: _Round) -> bool:
    """Whether a rule of a predicate of a round is the one by which it goes on."""
    step = _step(rule)
    return step is not None and step[0] in own.names


def _step(rule: Rule) -> tuple[str, int] | None:
    """The predicate that a rule repeats, and how far it moves it, and changes nothing else; None for one that does more."""
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
    if head.arguments != body.arguments or not _is_plain(head):
        return None
    if (head.at is None) != (body.at is None):
        return None
    if head.at is not None and body.at is not None:
        if head.at.variable != body.at.variable or head.at.variable in head.arguments:
            return None
        moved += head.at.shift - body.at.shift
    return (body.predicate, int(moved)) if isinstance(moved, Fraction) and moved.denominator == 1 else None


def _is_plain(atom: Atom) -> bool:
    """Whether an atom has different variables alone, and so stands for all of its predicate."""
    return all(isinstance(term, Variable) for term in atom.arguments) and len({*atom.arguments}) == len(atom.arguments)


def _renamed(head: Formula, name: str) -> Formula:
    if isinstance(head, Unary):
        return replace(head, operand=_renamed(head.operand, name))
    return replace(head, predicate=f"{name} {BEGINS}") if isinstance(head, Atom) else head


def _again(rule: Rule, name: str, step: int, distance: int) -> Rule:
    """The rule of a predicate that comes again: at a distance from a time as many steps from one at which another begins."""
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
    return Rule(replace(head, at=TimePoint(now, distance)), body, rule.span)


def _free(letter: str, taken: set[str]) -> str:
    while letter in taken:
        letter += letter[0]
    return letter

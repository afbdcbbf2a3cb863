"""Pass: a rule that carries a row from each time to the next, until something else holds, becomes a `since`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import taken_names
from tidelog.plans.tree.names import FreshNames, head_predicate, predicates
from tidelog.plans.tree.syntax import EVER, Atom, Binary, Conjunction, Formula, Interval, Negation, Rule, Unary, Variable

Made = tuple[Rule, Rule]
"""A rule, and the rule of the program's text that it came from."""


def sustain(program: NormalProgram) -> NormalProgram:
    """On integers, turn a recursion from each time to the next that a negation ends into `since`, which takes no steps.

    With B for all that the other rules of `p` say, `p :- diamondminus[1,1] p, not q` has the least model in which p holds at
    t where B does at some t' ≤ t, and q at no time behind t' up to t: so p :- B, and p :- not q since[0,inf) B, not q at t.
    `p :- diamondminus[1,1] (p, not q)` wants no q from t' up to t - 1: so p :- B, and p :- not q since[0,inf) (B, not q).

    It is done where p has one rule that reads p, and that of this shape; where nothing else that p follows from reads p; and
    where nothing is given of p but by rules. Nor is it done in a program that asks: questions unfold the recursion.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> rules = "timeline integer. on(X) :- start(X). on(X) :- diamondminus[1] on(X), not stop(X)."
    >>> print(text_after("sustain", rules).partition("output on.")[2].strip())
    'on.1'(X) :- start(X).
    on(X) :- 'on.1'(X).
    on(X) :- not stop(X) since[0,inf) 'on.1'(X), not stop(X).
    """
    if program.timeline.kind != "integer" or program.asked:
        return program
    rules_of = _by_head(program)
    given = _given(program)

    @cache
    def below(name: str) -> frozenset[str]:
        return frozenset(each for rule in rules_of.get(name, ()) for each in _read_by(rule))

    found = {
        name: rule for name in rules_of if name not in given and (rule := _step_of(rules_of[name], name, below)) is not None
    }
    if not found:
        return program
    fresh = FreshNames(taken_names(program))
    made = list(_rewritten(program, found, fresh.name))
    rules, sources = (tuple(side) for side in zip(*made, strict=True))
    return replace(program, rules=rules, sources=sources, origins={**program.origins, **fresh.made})


def _by_head(program: NormalProgram) -> dict[str, list[Rule]]:
    """The rules of each predicate that rules derive."""
    rules: dict[str, list[Rule]] = {}
    for rule in program.rules:
        name = head_predicate(rule.head)
        if name is not None:
            rules.setdefault(name, []).append(rule)
    return rules


def _step_of(own: Sequence[Rule], name: str, below: Callable[[str], frozenset[str]]) -> Rule | None:
    """The one rule by which a predicate goes on, if it can be rewritten."""
    if len(own) == 1 or not any(map(_split, own)):
        return None
    reading = [rule for rule in own if name in _read_by(rule)]
    if len(reading) != 1 or _split(reading[0]) is None:
        return None
    return None if _comes_back(name, below) else reading[0]


def _given(program: NormalProgram) -> set[str]:
    """The predicates that have facts which no rule derives: of inputs, of backgrounds, of calendars, or of the program."""
    return {fact.atom.predicate for fact in program.facts} | {*program.supplied, *program.inputs}


def _read_by(rule: Rule) -> set[str]:
    return {predicate for part in rule.body for predicate in predicates(part)}


def _comes_back(name: str, below: Callable[[str], frozenset[str]]) -> bool:
    """Whether something else that a predicate follows from follows from it; `below` is what each is derived from at once."""
    found: set[str] = set()
    waiting = [below(name) - {name}]
    while waiting:
        for each in waiting.pop() - found:
            if each == name:
                return True
            found.add(each)
            waiting.append(below(each))
    return False


def _split(rule: Rule) -> tuple[Negation, bool] | None:
    """What ends a predicate that goes on by a rule, and whether that is asked where it goes on to; None for other rules."""
    match rule.body:
        case (Unary() as step, Negation() as ends) | (Negation() as ends, Unary() as step):
            operand, at_the_end = step.operand, True
        case (Unary(operand=Conjunction(parts=(Atom() as operand, Negation() as ends))) as step,):
            at_the_end = False
        case (Unary(operand=Conjunction(parts=(Negation() as ends, Atom() as operand))) as step,):
            at_the_end = False
        case _:
            return None
    if not _is_one_back(step, may_stay=at_the_end) or operand != rule.head or not isinstance(rule.head, Atom):
        return None
    arguments = rule.head.arguments
    if (
        rule.head.at is not None
        or len({*arguments}) < len(arguments)
        or not all(isinstance(each, Variable) for each in arguments)
    ):
        return None
    return ends, at_the_end


def _is_one_back(step: Unary, *, may_stay: bool) -> bool:
    """Whether an operator looks at the time before, and at no other; or also at the present one, which says nothing new."""
    if step.operator not in ("diamondminus", "boxminus"):
        return False
    first, last = _distances(step.interval)
    return last == 1 and (first == 1 or (first == 0 and may_stay and step.operator == "diamondminus"))


def _distances(interval: Interval) -> tuple[float, float]:
    """The first and the last whole distance of an interval."""
    return float(interval.low) + interval.left_open, float(interval.high) - interval.right_open


def _rewritten(program: NormalProgram, found: dict[str, Rule], fresh: Callable[[Rule], str]) -> Iterator[Made]:
    bases: dict[str, str] = {}
    for rule, source in zip(program.rules, program.sources, strict=True):
        name = head_predicate(rule.head) or ""
        step = found.get(name)
        if step is None or not isinstance(step.head, Atom):
            yield rule, source
            continue
        base = replace(step.head, predicate=bases.setdefault(name, "") or fresh(source))
        bases[name] = base.predicate
        if rule is not step and isinstance(rule.head, Atom):
            yield replace(rule, head=replace(rule.head, predicate=base.predicate)), source
        elif rule is step:
            yield replace(rule, body=(base,)), source
            yield replace(rule, body=_body(rule, base)), source


def _body(rule: Rule, base: Atom) -> tuple[Formula, ...]:
    """The body by which what began with the base goes on."""
    ends, at_the_end = _split(rule) or (Negation(base), True)
    began: Formula = base if at_the_end else Conjunction((base, ends))
    since = Binary("since", EVER, ends, began, span=rule.span)
    return (since, ends) if at_the_end else (since,)

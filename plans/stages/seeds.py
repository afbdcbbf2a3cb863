"""Seeds: the keys for which something may hold though nothing of them comes, since absence is enough.

`silent(S) :- sensor(S), not temp(S)` tells of sensors that never sent anything. Split by the sensor, it needs a session for
each that the program states, from the start. A few too many do no harm: so seeds are found without regard to time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram, as_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.partition import Key, is_fed
from tidelog.plans.tree.names import head_predicate, predicates, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Constant,
    Formula,
    Latest,
    Program,
    Rule,
    TimelineDeclaration,
    Truth,
    Unary,
    Variable,
    Visits,
)

SEED = "seed"
"""What the answers of a seeds' program are called, unless the program uses the name."""


def unfed_rules(plan: Plan, rules: Iterable[Rule]) -> Iterator[Rule]:
    """Those of a plan's normal rules that derive what streams feed, without a fact of a stream that has to be there."""
    for rule in rules:
        if isinstance(rule.body[0], Visits) or not isinstance(rule.head, Atom) or not is_fed(plan, rule.head):
            continue
        if not any(is_fed(plan, atom) for atom in _required(plan, rule) if isinstance(atom, Atom)):
            yield rule


def _required(plan: Plan, rule: Rule) -> list[Atom | Truth]:
    """What must hold at some time for the rule to derive anything: of since and until, the left side if it adds columns."""
    found: list[Formula] = []
    for part in rule.body:
        if isinstance(part, Binary):
            found.append(part.right)
            if not {*variables(rule.head)} <= {*variables(part.right)}:
                found.append(part.left)
        else:
            found.append(
                part.operand if isinstance(part, Unary | Aggregate) else part.atom if isinstance(part, Latest) else part
            )
    flat = [replace(part, at=None) if isinstance(part, Atom) else part for part in found if isinstance(part, Atom | Truth)]
    calendars = {item.predicate for item in plan.normal.calendars}  # at some time each holds
    return [part for part in flat if not isinstance(part, Atom) or part.predicate not in calendars]


def is_seedable(plan: Plan, rule: Rule, key: Key) -> bool:
    """Whether what an unfed rule requires tells the key of what it derives: not where the key is a time."""
    if not isinstance(rule.head, Atom) or rule.head.predicate not in key:
        return True
    term = rule.head.arguments[key[rule.head.predicate]]
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in variables(*_required(plan, rule)))


def seeds_program(plan: Plan, key: Key, timeline: TimelineDeclaration) -> Program | None:
    """A program whose answers to an empty stream are the keys that a stage needs from the start; None if it needs none.

    The plan is the stage's, the key has its fresh predicates, too. Each answer's only argument is a key.
    """
    named = {name for rule in plan.normal.rules for part in (rule.head, *rule.body) for name in predicates(part)}
    seed = SEED
    while seed in named:
        seed += "_"
    rules = [*_from_rules(plan, key, seed), *_from_stated(plan, key, seed)]
    if not rules:
        return None
    rules += _static_rules(plan, rules)
    read = {name for rule in rules for part in rule.body for name in predicates(part)}
    normal = NormalProgram(
        rules=tuple(rules),
        sources=tuple(rules),
        facts=tuple(replace(fact, interval=None) for fact in plan.normal.facts if fact.atom.predicate in read),
        timeline=timeline,
        outputs=(seed,),
        backgrounds=tuple(item for item in plan.normal.backgrounds if item.predicate in read),
    )
    return as_program(normal, plan.name)


def _from_rules(plan: Plan, key: Key, seed: str) -> Iterator[Rule]:
    for rule in unfed_rules(plan, plan.normal.rules):
        if isinstance(rule.head, Atom) and rule.head.predicate in key:
            yield _timeless(plan, rule, Atom(seed, (rule.head.arguments[key[rule.head.predicate]],)))


def _from_stated(plan: Plan, key: Key, seed: str) -> Iterator[Rule]:
    """Rules that make a seed of each key in the program's own facts, for predicates that streams also feed."""
    stated = dict.fromkeys([fact.atom.predicate for fact in plan.normal.facts])
    stated |= dict.fromkeys(item.predicate for item in plan.normal.backgrounds)
    for name in stated:
        if name in key and is_fed(plan, Atom(name)):
            row = tuple(Variable(f"X{place}") for place in range(plan.schema.predicates[name].arity))
            yield Rule(Atom(seed, (row[key[name]],)), (Atom(name, row),))


def _static_rules(plan: Plan, rules: Sequence[Rule]) -> list[Rule]:
    """The rules that these need, for what no stream feeds."""
    known: set[str] = set()
    waiting = [name for rule in rules for part in rule.body for name in predicates(part)]
    found: list[Rule] = []
    while waiting:
        name = waiting.pop()
        if name not in known and not is_fed(plan, Atom(name)):
            own = [_timeless(plan, rule, rule.head) for rule in plan.normal.rules if head_predicate(rule.head) == name]
            waiting += [read for rule in own for part in rule.body for read in predicates(part)]
            found += own
        known.add(name)
    return found


def _timeless(plan: Plan, rule: Rule, head: Formula) -> Rule:
    """The rule for whenever: with what it requires, and its comparisons."""
    required = _required(plan, rule) or [Truth(True)]
    return Rule(head, (*required, *(part for part in rule.body if isinstance(part, Comparison))))
